"""What takes long to import is imported when it is needed."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
WITHOUT_THE_COMPILER = """
import sys, torch
from regard.attention import attention
from regard.tasks.translation.presets import preset
from regard.decoding import greedy
from regard.models import build_model

attention(torch.ones(2, 3, 4), torch.ones(2, 3, 4))
source, lengths = torch.ones(2, 3, dtype=torch.long), torch.tensor([3, 3])
for name in ("bahdanau", "luong-dot", "transformer-tiny"):
    model = build_model(preset(name), source_vocabulary=9, target_vocabulary=9).eval()
    greedy(model, source, lengths, start=2, end=3, max_length=3)
assert "torch._dynamo" not in sys.modules
"""


LOADING = """
import sys, tempfile, regard
from unit.tasks.translators import make_folder

for name in ("bahdanau", "luong-local-p", "transformer-tiny"):
    from regard.tasks.translation.presets import preset
    with tempfile.TemporaryDirectory() as folder:
        import pathlib
        from dataclasses import replace
        small = {"hidden_size": 8} if name != "transformer-tiny" else {}
        regard.load(make_folder(pathlib.Path(folder), replace(preset(name), **small))).translate(["El gato duerme."])
assert "torch._dynamo" not in sys.modules
"""


def test_a_model_is_loaded_and_used_without_importing_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, timeout=120, cwd=TESTS)
    assert done.returncode == 0, done.stderr


def test_models_run_without_importing_the_compiler() -> None:
    """It takes as long as importing torch: half the time of translating one sentence."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_THE_COMPILER], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
