"""The names regard offers: loaded late, documented, listed once."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from house.source import PACKAGE, parsed


def typed_homes() -> list[tuple[str, str]]:
    """Give the names that type checkers are told of, and where they come from."""
    for node in parsed(PACKAGE / "__init__.py").body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts = [part for part in node.body if isinstance(part, ast.ImportFrom)]
            return [(alias.asname or alias.name, part.module or "") for part in parts for alias in part.names]
    return []


def test_what_type_checkers_see_is_what_there_is() -> None:
    homes = dict(typed_homes())
    assert len(homes) == len(typed_homes())
    assert homes == regard._HOME
    assert {*homes, "__version__"} == set(regard.__all__)


@pytest.mark.parametrize("name", sorted(set(regard.__all__) - {"__version__"}))
def test_every_name_is_there_and_documented(name: str) -> None:
    thing = getattr(regard, name)
    assert inspect.getdoc(thing)
    assert thing.__name__ == name
    assert name in dir(regard)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError) as caught:
        regard.atention  # noqa: B018
    assert str(caught.value) == "module 'regard' has no attribute 'atention'"


def run(program: str) -> str:
    """Run a program in a fresh interpreter, without the tests' import hook."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_regard_does_not_import_torch() -> None:
    heavy = "[name for name in ('torch', 'numpy', 'typer', 'rich', 'jaxtyping') if name in sys.modules]"
    assert run(f"import sys, regard; regard.__version__, dir(regard); print({heavy})") == "[]"
    assert run("import sys, regard; regard.Causal; print('torch' in sys.modules)") == "True"


#: Each leaves `regard.attention` the function and `regard.attention.…` the folder, in whatever order they are loaded.
ORDERS = [
    "import regard.attention.score; import regard; assert callable(regard.attention)",
    "import regard; import regard.attention.score; assert callable(regard.attention)",
    "from regard import attention; import regard.attention.mask, regard; assert regard.attention is attention",
    "from regard.attention import attention; import regard; assert regard.attention is attention",
    "import regard; regard.attention; from regard.attention.kernels import sdpa; assert callable(regard.attention)",
    "from regard.attention.lookup import LookupResult; from regard import lookup; assert callable(lookup)",
    "import regard.attention; from regard.attention import lookup; assert callable(lookup)",
    "import importlib, regard; m = importlib.import_module('regard.attention'); assert m.Causal is regard.Causal",
    "import pickle, regard, torch; pickle.loads(pickle.dumps(regard.Additive(torch.ones(3))))",
    "import copy, regard; copy.deepcopy(regard.Causal() & regard.Window(1, 0))",
]


def test_the_function_and_the_folder_of_one_name_do_not_collide() -> None:
    run(
        "import sys\n"
        f"for program in {ORDERS!r}:\n"
        "    for name in [name for name in sys.modules if name.split('.')[0] == 'regard']:\n"
        "        del sys.modules[name]\n"
        "    exec(program, {})\n"
    )


def test_every_name_of_the_operator_is_offered() -> None:
    """What `regard.attention` lists and a user may pass in is importable from regard; the rest are types."""
    import importlib

    folder = importlib.import_module("regard.attention")
    types = {"Backend", "BackendReport", "LookupResult", "Inner", "Mask", "Normalizer", "Position", "Score"}
    assert set(folder.__all__) - types <= set(regard.__all__)
    assert sorted(folder.__all__) == folder.__all__
    assert all(hasattr(folder, name) for name in folder.__all__)


def test_the_version_is_that_of_the_package() -> None:
    text = (Path(PACKAGE).parents[1] / "pyproject.toml").read_text()
    assert f'version = "{regard.__version__}"' in text
