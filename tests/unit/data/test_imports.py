import subprocess
import sys
from pathlib import Path

import regard.data.corpora.corpus

PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"regard.data.{name}")
print(sorted({"torch", "datasets", "pyarrow", "zstandard", "rich"} & sys.modules.keys()))
"""


#: Tensors are made here.
BATCHES = ("batches", "text_batches", "token_files")


def test_only_batches_need_torch_and_nothing_needs_an_extra_to_be_imported():
    folder = Path(regard.data.corpora.corpus.__file__).parent
    names = [path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", *BATCHES)]
    assert "tokenizer" in names
    run = subprocess.run([sys.executable, "-c", PROGRAM, *names, "formats"], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
