import subprocess
import sys
from pathlib import Path

import regard.data

PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"regard.data.{name}")
print(sorted({"torch", "datasets", "pyarrow", "zstandard", "rich"} & sys.modules.keys()))
"""


#: Tensors are made here.
BATCHES = ("batches.pairs", "batches.text", "corpora.token_files")


def test_only_batches_need_torch_and_nothing_needs_an_extra_to_be_imported():
    folder = Path(regard.data.__file__).parent
    paths = [path for part in ("text", "corpora", "batches", "formats") for path in (folder / part).glob("*.py")]
    names = {f"{path.parent.name}.{path.stem}" for path in paths if path.stem != "__init__"} - {*BATCHES}
    assert "text.tokenizer" in names
    run = subprocess.run([sys.executable, "-c", PROGRAM, *sorted(names)], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
