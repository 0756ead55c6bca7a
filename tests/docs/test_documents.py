"""The documents say what is so."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize(
    "name", ["README.md", "docs/operator.md", "docs/training.md"]
)  # the latter trains three models, for ten seconds
def test_code_in_documents_gives_the_output_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, attempted = doctest.testfile(str(ROOT / name), module_relative=False, optionflags=FLAGS)
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_inside_the_project_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", (ROOT / name).read_text()):
        assert (ROOT / target).exists(), f"{name} links to {target}"


def test_every_part_of_the_tree_is_explained() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    parts = {path.name for path in (ROOT / "src/regard").iterdir() if (path / "__init__.py").exists()}
    assert not {part for part in parts if f"{part}/" not in text}


def test_make_help_names_every_target_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text()
    verbs = re.findall(r"(?:^|`)make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert verbs
    for verb in verbs:
        assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb
