"""The site: built without warnings, readable without a network, equations drawn by the browser alone."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import atlas
import code_blocks
import links
import maths
import pytest
import reference_pages
import run_page

from regard.tasks.task import TASKS

ROOT = Path(__file__).parents[2]
NOT_MECHANISMS: set[str] = set()
"""Offered classes that only join or wrap others."""


@pytest.mark.parametrize("module", [code_blocks, maths], ids=lambda module: module.__name__)
def test_the_examples_of_the_builders_are_true(module):
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0


def test_blocks_carry_marks_and_lines():
    text = '# T\n\n```sh\nls\n```\n\n```python folded figure="a map"\nx\n```\n\n    ```python skip\n    y\n    ```\n'
    shell, code, skipped = code_blocks.find_blocks(text)
    assert (shell.language, shell.runs) == ("sh", False)
    assert (code.marks, code.line, code.runs) == ({"folded": "", "figure": "a map"}, 7, True)
    assert (skipped.code, skipped.runs) == ("y\n", False)
    assert text[code.start : code.end].startswith("```python folded")


def test_a_session_of_the_interpreter_is_not_run_as_a_script():
    [block] = code_blocks.find_blocks("```python\n>>> 1 + 1\n2\n```\n")
    assert not block.runs


def test_equations_become_mathml_and_keep_what_was_written():
    page = maths.render(
        r'<p><span class="arithmatex">\(a &lt; b\)</span></p><div class="arithmatex">\[\tfrac12 \lVert x \rVert\]</div>'
    )
    assert page.count("<math ") == 2
    assert page.count('<div class="equation">') == 1, "a wide one scrolls"
    assert 'display="block"' in page
    assert 'alttext="a &lt; b"' in page
    assert "arithmatex" not in page


def test_an_unknown_command_of_latex_is_an_error():
    with pytest.raises(ValueError, match=r"not known: \\nonsense x"):
        maths.to_mathml(r"\nonsense x", display="inline")


@pytest.fixture
def site_links():
    return links.Links(ROOT, repository="https://example.org/r")


@pytest.mark.parametrize(
    ("written", "page", "expected"),
    [
        ("../README.md", "operator.md", "project/readme.md"),
        ("../benchmarks/attention-cpu.md", "operator.md", "benchmarks/attention-cpu.md"),
        ("../src/regard/errors.py", "operator.md", "source/src/regard/errors.py.html"),
        ("../../src/regard/errors.py", "course/01-x.md", "../source/src/regard/errors.py.html"),
        ("layers.md#positions", "operator.md", "layers.md#positions"),
        ("../examples", "operator.md", "https://example.org/r/tree/main/examples"),
        ("https://a.b/c", "operator.md", "https://a.b/c"),
    ],
)
def test_links_that_leave_the_folder_lead_to_pages_of_the_site(site_links, written, page, expected):
    folder = str(Path("docs", page).parent)
    assert site_links.rewrite(f"[t]({written})", page=page, written_in=folder) == f"[t]({expected})"


def test_linked_source_is_kept_and_becomes_a_page(site_links):
    site_links.rewrite("[e](../src/regard/errors.py)", page="operator.md", written_in="docs")
    assert site_links.sources == {"src/regard/errors.py"}
    assert "RegardError" in site_links.source_page("src/regard/errors.py")


def write_page(folder, code):
    page = folder / "01-page.md"
    page.write_text(f"# Page\n\n{code}\n", encoding="utf-8")
    return page


def test_a_page_is_run_once_for_each_state_of_its_code(tmp_path):
    page = write_page(
        tmp_path, '```python figure="A line"\nprint(6 * 7)\nfrom matplotlib.figure import Figure\nFigure()\n```'
    )
    run_page.make_all([page], tmp_path / "cache")
    first = run_page.results_folder(page, tmp_path / "cache")
    assert '"printed": "42\\n"' in (first / "outputs.json").read_text()
    assert (first / "01-page-1.svg").exists()
    (first / "outputs.json").write_text("[]")  # which a second run would write over
    page.write_text(page.read_text() + "\nProse may change.\n")
    run_page.make_all([page], tmp_path / "cache")
    assert run_page.results_folder(page, tmp_path / "cache") == first
    assert (first / "outputs.json").read_text() == "[]"
    page.write_text(page.read_text().replace("6 * 7", "6 * 8"))
    assert run_page.results_folder(page, tmp_path / "cache") != first


def test_code_that_fails_names_its_page_and_line(tmp_path):
    page = write_page(tmp_path, "```python\n1 / 0\n```")
    with pytest.raises(RuntimeError, match=r"01-page\.md, the block in line 3: ZeroDivisionError"):
        run_page.run_page(page, tmp_path)


def test_the_reference_has_every_task_command_and_error():
    pages = reference_pages.pages()
    settings = re.findall(r"^## (\S+)$", pages["reference/settings.md"], re.MULTILINE)
    assert settings == list(TASKS)
    for name in ("train", "translate", "course check", "bench attention"):
        assert f"\n## {name}\n" in pages["reference/commands.md"]
    assert "`model.cell`" in pages["reference/settings.md"]
    assert "must broadcast" in reference_pages.error_list()
    for page in reference_pages.API:
        assert pages[page].count(":::") > 3


def test_the_atlas_has_every_mechanism_with_its_equation():
    text = atlas.table()
    public = {*atlas.SCORES, *atlas.POSITIONS, *atlas.NORMALIZERS, *atlas.MASKS, *atlas.LAYERS}
    assert {name for name in public if f"[`{name}`]" not in text} == set()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| [`")]
    with_equation = sum("$" in row[1] for row in rows)
    assert with_equation > 0.8 * len(rows)
    assert all(row[4] for row in rows), "a cost"


def test_atlas_leaves_out_no_score_position_or_normalizer():
    kinds = {atlas.operator.Score: atlas.SCORES, atlas.operator.Position: atlas.POSITIONS}
    kinds |= {atlas.operator.Normalizer: atlas.NORMALIZERS, atlas.operator.Mask: atlas.MASKS}
    for kind, rows in kinds.items():
        offered = [getattr(atlas.operator, name) for name in atlas.operator.__all__]
        derived = {one.__name__ for one in offered if isinstance(one, type) and issubclass(one, kind) and one != kind}
        assert {name for name in derived if not name.startswith("_")} - {*rows} <= NOT_MECHANISMS, kind


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the whole site, as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(
        r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(https?:)?//|<link\b[^>]*\bhref="(https?:)?//[^>]*stylesheet'
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    assert [str(page.relative_to(site)) for page in pages if loads.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.slow
def test_every_equation_was_rendered(site):
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html") if "source" not in page.parts}
    assert sum("<math " in text for text in pages.values()) > 0
    assert [page.name for page, text in pages.items() if "arithmatex" in text] == []
