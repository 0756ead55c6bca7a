"""The index of the lectures names only what exists, and leaves out no preset, command, experiment or view."""

import doctest
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import regard
import regard.layers
from regard.cli import app
from regard.data.builtin import CORPORA, corpus
from regard.experiments import EXPERIMENTS
from regard.tasks.task import TASKS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXT = (DOCS / "lectures.md").read_text(encoding="utf-8")
HEADER = ["topic", "equation", "operator", "layer, model", "preset", "command", "experiment", "view", "test"]
COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
MODELS = {
    name
    for path in (ROOT / "src/regard/models").rglob("*.py")
    for name in re.findall(r"^class ([A-Z]\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}
VIEWS = {
    title
    for path in (ROOT / "web/src/views").glob("*.ts")
    for title in re.findall(r'^  title: "([^"]+)",$', path.read_text(encoding="utf-8"), re.MULTILINE)
}


def tables(text: str) -> Iterator[list[list[str]]]:
    """Give the cells of each table, its header first."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]


def find_rows() -> list[dict[str, str]]:
    """Give the rows of the tables of topics, by column."""
    found = []
    for head, rule, *rows in tables(TEXT):
        if head == HEADER:
            assert all(set(cell) == {"-"} for cell in rule)
            assert all(len(row) == len(HEADER) for row in rows), "a row with a cell too many or too few"
            found += [dict(zip(HEADER, row, strict=True)) for row in rows]
    return found


ROWS = find_rows()
EXPERIMENT_LIST = TEXT.partition("## The experiments")[2].partition("\n## ")[0]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def links(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\[([^\]]*)\]\((?!http)([^)]+)\)", text)


def anchors(path: Path) -> set[str]:
    """Give the names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def presets(cell: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give task, names and settings of `task: name, name with key=value; task: …`."""
    for part in filter(None, (part.strip() for part in cell.split(";"))):
        task, _, rest = part.partition(": ")
        names, _, settings = rest.partition(" with ")
        yield task, code(names), code(settings)


@cache
def presets_of(task: str) -> frozenset[str]:
    """Give the presets that the command line lists."""
    result = CliRunner().invoke(app, ["train", "--task", task, "--preset", "list"])
    assert result.exit_code == 0, result.output
    return frozenset(line.split()[0] for line in result.output.splitlines())


def test_there_are_tables_for_every_part_of_the_lectures() -> None:
    assert len(ROWS) > 60
    assert all(row["topic"] for row in ROWS)
    assert all(row["equation"] and row["test"] for row in ROWS), "every topic has its equation and its test"


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    for text, target in links(TEXT):
        name, _, anchor = target.partition("#")
        path = DOCS / name if name else DOCS / "lectures.md"
        assert path.exists(), f"{text}: {target}"
        assert not anchor or anchor in anchors(path), f"{text}: {target}"


def test_every_topic_links_its_test() -> None:
    for row in ROWS:
        assert all("/tests/" in target for _, target in links(row["test"])), row["topic"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["topic"])
def test_equations_operators_and_classes_are_where_the_row_says(row: dict[str, str]) -> None:
    sources = [(DOCS / target).read_text(encoding="utf-8") for _, target in links(row["equation"])]
    assert all("$$" in source for source in sources), "the linked file has no equation"
    assert set(code(row["operator"])) <= set(regard.__all__)
    assert set(code(row["layer, model"])) <= MODELS | set(regard.layers.__all__)


@pytest.mark.usefixtures("unchecked")  # typer gives None for a flag that is left out
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["topic"])
def test_presets_commands_experiments_and_views_exist(row: dict[str, str]) -> None:
    for task, names, _ in presets(row["preset"]):
        assert names
        assert task in TASKS
        assert set(names) <= presets_of(task), f"task {task} has {sorted(presets_of(task))}"
    for words in code(row["command"]):
        if words.startswith("regard "):
            command = COMMANDS[words.split()[1]]
        else:
            assert words.split()[0] in {option for each in command.params for option in each.opts}, words
    for text, target in links(row["experiment"]):
        assert target == f"experiments.md#{text}"
        assert text in {experiment.name for experiment in EXPERIMENTS}
    assert set(filter(None, row["view"].split(", "))) <= VIEWS


def settings_of_rows() -> list[tuple[str, str, str]]:
    return sorted(
        {
            (task, names[0], setting)
            for row in ROWS
            for task, names, settings in presets(row["preset"])
            for setting in settings
        }
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("task", "name", "setting"), settings_of_rows())
def test_a_setting_that_is_named_is_taken(task: str, name: str, setting: str) -> None:
    arguments = ["train", "--task", task, "--preset", name, "--set", setting, "--print-config"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    key, value = setting.split("=")
    assert re.search(rf'^{key.split(".")[-1]} = "?{value}"?$', result.output, re.MULTILINE)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("task", TASKS)
def test_no_preset_is_left_out(task: str) -> None:
    cells = [each for row in ROWS for each in presets(row["preset"])]
    named = {name for each, names, _ in cells if each == task for name in names}
    assert presets_of(task) - named == set(), f"give them rows in docs/lectures.md, as `{task}: `name``"


def test_no_command_experiment_or_view_is_left_out() -> None:
    assert set(COMMANDS) - set(re.findall(r"`regard ([\w-]+)", TEXT)) == set()
    assert {each.name for each in EXPERIMENTS} - {text for text, _ in links(EXPERIMENT_LIST)} == set()
    assert len(VIEWS) >= 7
    assert VIEWS - {view for row in ROWS for view in row["view"].split(", ")} == set()


@pytest.mark.usefixtures("unchecked")
def test_the_settings_of_recurrent_translators_are_those_of_the_table() -> None:
    """The values of the table are those that the settings' help lists, key by key."""
    [table] = [rows for rows in tables(TEXT) if rows[0] == ["setting", "value", "meaning"]]
    name, values = "", dict[str, set[str]]()
    for key, value, meaning in table[2:]:
        name = code(key)[0] if key else name
        values.setdefault(name, set()).update(code(value))
        assert meaning
    assert values == {
        "model.wiring": {"previous", "current"},
        "model.output": {"maxout", "linear", "joined", "attentional", "state"},
        "model.attention.context": {"initial", "every-step"},
    }
    for key, choices in values.items():
        wrong = ["train", "--preset", "fixed", "--set", f"{key}=nothing", "--print-config"]
        refusal = str(CliRunner().invoke(app, wrong).exception)
        assert all(choice in refusal for choice in choices), refusal


def test_the_sentences_of_the_split_lectures_are_those_of_the_table() -> None:
    [table] = [rows for rows in tables(TEXT) if rows[0] == ["corpus", "source", "translation"]]
    held = [[f"`{name}`", pair.source, pair.target] for name in CORPORA for pair in corpus(name, split="lectures")]
    assert table[2:] == held


def test_code_on_the_page_gives_the_output_it_shows() -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, attempted = doctest.testfile(str(DOCS / "lectures.md"), module_relative=False, optionflags=flags)
    assert attempted > 0
    assert failed == 0
