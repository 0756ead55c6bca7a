"""The notebooks run from top to bottom, and git holds what was written, not what a run has left."""

import ast
import json
import linecache
import re
import tempfile
from pathlib import Path
from typing import Any

import exercise_text
import matplotlib
import notebooks
import numpy as np
import pytest
from matplotlib.figure import Figure

from regard.course import Verdict
from regard.course.catalogue import of_chapter

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
#: Those that go from loops to one call; the others are chapters of the course.
STEP_BY_STEP = [path for path in NOTEBOOKS if path.stem in ("add_attention", "dot_product_attention")]
CHAPTERS = [path for path in NOTEBOOKS if path not in STEP_BY_STEP]
QUICK = ("01-counting", "05-lookup", "puzzles")
"""Chapters that take a few seconds; the others are run by `make test-long`."""
KEYS = {"markdown": {"cell_type", "id", "metadata", "source"}}
KEYS["code"] = KEYS["markdown"] | {"execution_count", "outputs"}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def sources(path: Path, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == kind]


def run_cell(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and give the value of its last line if that is an expression."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # as a notebook's kernel does
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def test_there_are_notebooks() -> None:
    assert {"dot_product_attention", "add_attention"} <= {path.stem for path in NOTEBOOKS}


@pytest.mark.usefixtures("unchecked")  # users do not check shapes either, and training takes half the time
@pytest.mark.parametrize("path", STEP_BY_STEP, ids=lambda path: path.stem)
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


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.stem in QUICK else pytest.mark.slow) for path in CHAPTERS],
    ids=lambda path: path.stem,
)
def test_a_chapter_runs_from_top_to_bottom_and_shows_something(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "mkdtemp", lambda: str(tmp_path))
    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = [
        run_cell(source, f"{path.name}, code cell {number}", namespace)
        for number, source in enumerate(sources(path, "code"))
    ]
    verdicts = [value for value in shown if isinstance(value, Verdict)]
    assert len(verdicts) == len(of_chapter(exercise_text.chapter_of(path.name)))
    assert not any(verdict.right for verdict in verdicts), "nothing is answered yet"
    assert all("nothing is written yet" in one.message or "must be one `return`" in one.message for one in verdicts)
    if path.stem != "puzzles":
        assert any(hasattr(value, "to_html") for value in shown), "a page to play with"


@pytest.mark.parametrize("page", notebooks.pages(), ids=lambda page: page.stem)
def test_a_notebook_is_that_of_its_page(page: Path) -> None:
    path = FOLDER / f"{page.stem}.ipynb"
    assert path.read_text(encoding="utf-8") == notebooks.written(page), (
        "run `make notebooks`, and commit what it writes"
    )


def test_a_notebook_opens_on_colab_and_installs_what_it_needs() -> None:
    first, install = read(FOLDER / "07-luong.ipynb")["cells"][:2]
    address = notebooks.repository().replace("https://github.com/", "https://colab.research.google.com/github/")
    assert f"({address}/blob/main/docs/notebooks/07-luong.ipynb)" in "".join(first["source"])
    assert '"install", "--quiet", "regard"' in "".join(install["source"])


def test_what_the_site_folds_is_written_so_that_notebooks_read_it() -> None:
    text = '!!! question "Ask"\n    One.\n\n    Two.\n\nText [a](13-scaling.md) [b](../notebooks/x.ipynb).\n'
    plain = notebooks.plain_markdown(text + '\n??? success "Out"\n    Three.\n')
    assert plain.startswith("> **Ask**\n>\n> One.\n>\n> Two.\n")
    assert "[a](../course/13-scaling.md) [b](x.ipynb)" in plain
    assert "<details><summary>Out</summary>\n\nThree.\n\n</details>" in plain


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
def test_links_lead_somewhere(path: Path) -> None:
    for text in sources(path, "markdown"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", text):
            assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("path", STEP_BY_STEP, ids=lambda path: path.stem)
def test_both_pages_open_the_notebook(path: Path) -> None:
    for page, link in {"README.md": f"docs/notebooks/{path.name}", "docs/layers.md": f"notebooks/{path.name}"}.items():
        assert f"]({link})" in (ROOT / page).read_text(encoding="utf-8"), page
