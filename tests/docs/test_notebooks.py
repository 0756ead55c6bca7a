"""The notebooks run from top to bottom, and git holds what was written, not what a run has left."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
KEYS = {"markdown": {"cell_type", "id", "metadata", "source"}}
KEYS["code"] = KEYS["markdown"] | {"execution_count", "outputs"}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def sources(path: Path, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == kind]


def run_cell(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and give the value of its last line if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def test_there_are_notebooks() -> None:
    assert {"dot_product_attention", "add_attention"} <= {path.stem for path in NOTEBOOKS}


@pytest.mark.usefixtures("unchecked")  # users do not check shapes either, and training takes half the time
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs_in_order_and_the_figures_show_something(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = [
        run_cell(source, f"{path.name}, code cell {number}", namespace)
        for number, source in enumerate(sources(path, "code"))
    ]
    figures = [value for value in shown if isinstance(value, Figure)]
    assert len(figures) >= 8
    for figure in figures:
        figure.canvas.draw()
        assert np.asarray(figure.canvas.buffer_rgba())[..., :3].std() > 10, "an empty picture"
    assert not list(tmp_path.iterdir()), "a notebook leaves no files"
    assert sum(source.count("assert") for source in sources(path, "code")) >= 10, "a notebook checks its numbers"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_of_format_4_with_a_name_for_each_cell(path: Path) -> None:
    """The fields that nbformat 4.5 asks for, and no others: what an editor adds is noise in a diff."""
    book = read(path)
    assert set(book) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    names = [cell["id"] for cell in book["cells"]]
    assert len(set(names)) == len(names)
    for cell in book["cells"]:
        assert set(cell) == KEYS[cell["cell_type"]], cell["id"]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"])
        assert cell["source"], cell["id"]
        assert all(isinstance(line, str) for line in cell["source"])


def left_by_a_run(book: dict[str, Any]) -> list[str]:
    """Name the cells with outputs or execution counts."""
    return [
        cell.get("id", str(number))
        for number, cell in enumerate(book["cells"])
        if cell.get("outputs") or cell.get("execution_count") is not None
    ]


def test_no_notebook_holds_outputs_or_execution_counts() -> None:
    books = [path for folder in ("docs", "examples", "tests", "src") for path in (ROOT / folder).rglob("*.ipynb")]
    kept = [path for path in books if ".ipynb_checkpoints" not in path.parts]
    assert kept
    ran = {str(path.relative_to(ROOT)): cells for path in kept if (cells := left_by_a_run(read(path)))}
    assert ran == {}, "Clear them: in Jupyter, Edit > Clear Outputs of All Cells, then save."


def test_outputs_and_counts_are_seen() -> None:
    output = {"cell_type": "code", "id": "a", "outputs": [{"output_type": "stream"}], "execution_count": None}
    counted = {"cell_type": "code", "id": "b", "outputs": [], "execution_count": 3}
    clean = {"cell_type": "code", "id": "c", "outputs": [], "execution_count": None}
    assert left_by_a_run({"cells": [output, counted, clean, {"cell_type": "markdown", "id": "d"}]}) == ["a", "b"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere_and_both_pages_open_the_notebook(path: Path) -> None:
    for text in sources(path, "markdown"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", text):
            assert (FOLDER / target).exists(), target
    for page, link in {"README.md": f"docs/notebooks/{path.name}", "docs/layers.md": f"notebooks/{path.name}"}.items():
        assert f"]({link})" in (ROOT / page).read_text(encoding="utf-8"), page
