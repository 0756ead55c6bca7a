"""The chapters of the course: each has all its parts, its links and tests are there, and the site lists it."""

import re
from pathlib import Path

import code_blocks
import errata
import exercise_text
import pytest
import yaml

from regard.course import CHAPTERS, EXERCISES
from regard.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = code_blocks.chapters(DOCS)
SECTIONS = [
    "The idea",
    "The equation",
    "In code",
    "Predict",
    "Experiment",
    "See for yourself",
    "Often taught wrongly",
    "Exercises",
    "Papers",
]
each = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def links(text: str) -> list[tuple[str, str]]:
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\[([^\]]*)\]\((?!http)([^)#]*)(?:#[^)]*)?\)", prose)


def test_there_is_a_chapter_for_every_number() -> None:
    assert [exercise_text.chapter_of(page.name) for page in PAGES] == [number for number in CHAPTERS if number != "p"]


@each
def test_a_chapter_has_all_its_parts_in_order(page: Path) -> None:
    text = read(page)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert text.startswith(f"# {int(page.name[:2])}. ")
    assert exercise_text.MARKER in text
    assert "$$" in text or "| multiplications |" in text
    assert '!!! question "Before you run it"' in text
    assert '??? success "What came out"' in text


@each
def test_a_chapter_runs_code_checks_it_draws_it_and_shows_a_page(page: Path) -> None:
    blocks = code_blocks.runnable(read(page))
    marks = [mark for block in blocks for mark in block.marks]
    assert marks.count("view") == 1
    assert "figure" in marks
    assert sum(block.code.count("assert") for block in blocks) >= 1
    assert all(block.marks[name] for block in blocks for name in ("figure", "view") if name in block.marks), "a text"


@each
def test_links_lead_to_files(page: Path) -> None:
    found = links(read(page))
    assert found
    assert [target for _, target in found if target and not (page.parent / target).exists()] == []


@each
def test_every_test_that_is_named_is_in_the_file_it_links(page: Path) -> None:
    for name, target in links(read(page)):
        if name.startswith("`test_"):
            assert f"def {name.strip('`')}(" in read((page.parent / target).resolve()), f"{target} has no {name}"


def test_errata_name_tests_and_are_collected_from_every_chapter() -> None:
    text = errata.collect(PAGES)
    assert text.count("\n## [") + 1 == len(PAGES)
    assert len(re.findall(r"\[`test_", text)) > 12
    assert text.count("\n- *") > 45


def test_every_experiment_is_run_or_linked_by_a_chapter() -> None:
    text = "".join(map(read, PAGES))
    unnamed = [one.name for one in EXPERIMENTS if f'find("{one.name}")' not in text and f"#{one.name})" not in text]
    assert unnamed == []


def test_exercises_are_written_with_hints_and_a_way_to_check() -> None:
    text = exercise_text.on_the_site("07-luong.md")
    assert re.findall(r"^### (\S+)", text, re.MULTILINE) == ["7.1", "7.2", "7.3"]
    assert "{ #7-3 }" in text
    assert '??? tip "Hint 2"' in text
    assert "regard course check 7.1 answer.py" in text
    puzzles = exercise_text.on_the_site("puzzles.md")
    assert puzzles.count("### p.") == 21
    assert "One line, from operators, indices and `arange` alone." in puzzles
    assert "One line, from operators, indices alone." in puzzles


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags of Python are of no interest here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def addresses(entry: object) -> list[str]:
    match entry:
        case str():
            return [entry]
        case dict():
            return [address for part in entry.values() for address in addresses(part)]
        case list():
            return [address for part in entry for address in addresses(part)]
    return []


def test_every_page_is_in_the_contents() -> None:
    nav = addresses(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)["nav"])
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert pages - set(nav) == set()
    assert len(nav) == len(set(nav))


def test_numbers_of_exercises_on_the_pages_are_those_there_are() -> None:
    chapters = [one for one in EXERCISES if not one.one_line]
    for page in ("course/index.md", "index.md"):
        assert f"{len(chapters)} exercises and 21 puzzles" in read(DOCS / page)
