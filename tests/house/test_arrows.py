"""Imports run one way: attention ← layers ← models ← (data … inspection) ← tasks ← (cli, serving, studio)."""

import ast
from pathlib import Path

from house.source import PACKAGE, everywhere, imports, parsed, part
from regard import _HOME

CORE = {"attention"}
MODEL = CORE | {"layers", "models"}
#: What each part may import besides itself, `errors` and `files`.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "files": set(),
    "attention": set(),
    "layers": CORE,
    "models": CORE | {"layers", "config"},  # build.py and folder.py turn plain values into modules and back
    "data": set(),
    "decoding": MODEL,
    "evaluation": MODEL | {"decoding", "data"},
    "inspection": MODEL | {"decoding", "data"},
    "training": MODEL | {"data", "decoding", "evaluation", "config"},
    "config": {"data"},  # whose settings are part of a run's
    "pretrained": MODEL | {"data", "config"},  # models from elsewhere, read into ours
    "client": set(),  # the standard library alone
}
MAY_IMPORT["tasks"] = set(MAY_IMPORT) - {"tasks"}
MAY_IMPORT["scale"] = set(MAY_IMPORT)
MAY_IMPORT["export"] = set(MAY_IMPORT) - {"scale"}
MAY_IMPORT["experiments"] = set(MAY_IMPORT) - {"scale", "export"}
MAY_IMPORT["bench"] = set(MAY_IMPORT) - {"scale", "export"}
MAY_IMPORT["course"] = MAY_IMPORT["tasks"]
#: The edges may use everything, each other too: `regard serve` starts the server, `regard bench` the benchmarks.
EDGES = {"cli", "serving", "studio", "__main__", "__init__"}
LIGHT = {"errors", "files", "config", "client"}  # plain values: no tensor library


def imported_part(name: str) -> str | None:
    """Say which part of regard an import reaches into, if any."""
    first, _, rest = name.partition(".")
    if first != "regard" or not rest:
        return None
    own = rest.split(".")[0]
    if (PACKAGE / own).is_dir() or (PACKAGE / f"{own}.py").is_file():
        return own
    return _HOME[own].split(".")[1] if own in _HOME else None


def wrong_imports(path: Path) -> list[str]:
    """List the imports that run against the arrows."""
    own = part(path)
    if own in EDGES:
        return []
    if own not in MAY_IMPORT:
        return [f"{own} is no part of the design: say in ARCHITECTURE.md and here what it may import"]
    allowed = MAY_IMPORT[own] | {own, "errors", "files"}
    return [
        f"line {line}: {own} may not import {name}"
        for line, name in imports(parsed(path))
        if (reached := imported_part(name)) is not None and reached not in allowed
    ]


def test_imports_run_one_way() -> None:
    assert everywhere(wrong_imports) == ""


def heavy_imports(path: Path) -> list[str]:
    """List tensor libraries where plain values live."""
    names = [name for _, name in imports(parsed(path))] if part(path) in LIGHT else []
    return [name for name in names if name.split(".")[0] in ("torch", "numpy")]


def test_plain_values_need_no_tensors() -> None:
    assert everywhere(heavy_imports) == ""


def test_the_check_sees_every_form_of_import() -> None:
    source = "import regard.tasks.x\nfrom regard.models import y\nfrom regard import training, Dot\nimport torch\n"
    found = [imported_part(name) for _, name in imports(ast.parse(source))]
    assert found[0] in ("tasks", None)
    assert found[-1] is None
    assert "attention" in found
