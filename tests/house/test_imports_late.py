"""What takes long to import is imported when it is needed."""

import subprocess
import sys

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


def test_models_run_without_importing_the_compiler() -> None:
    """It takes as long as importing torch: half the time of translating one sentence."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_THE_COMPILER], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
