"""Every command that a page shows is one that the command line takes, and is run."""

import io
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

import click
import pytest
import reference_pages
from typer.main import get_command

from docs.page_files import (
    PAGES,
    ROOT,
    commands_of,
    inline_commands,
    make_others,
    make_transformer,
    read,
    small,
    write_questions,
)
from regard.cli import app, main
from regard.export.folder import export
from regard.serving import connections as model_server
from regard.studio import connections as studio_server  # `regard.studio` itself is a function
from regard.tasks.task import DEFAULT, TASKS
from regard.tasks.translation.model import load
from unit.inspection.hugging_face_models import make_model, make_tokenizer
from unit.pretrained.marian_folders import make_marian

CHAPTERS = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/course").glob("[0-9]*.md"))]
WITH_COMMANDS = [page for page in PAGES if commands_of(page)]
#: Pages whose commands are run by `make test`; the others by `make test-long`.
QUICK = ("docs/start.md", "docs/howto/train-a-translator.md")
#: What only its own tests run: it needs a network, several processes, files that are not ours, or minutes.
ELSEWHERE = re.compile(
    r"hf:|regard push|torchrun|--engine ray|recipes/|regard demo|--all --quick|regard bench| … |--develop|bert-base"
)
FINDS = re.compile(r"course check|regard doctor")
"""What ends in 1 where there are findings: no exercise is answered yet, and no model has learned."""
FILE = re.compile(r"\.(md|py|pt|tsv|json|jsonl|safetensors|en|es|builtin|corpora\.\S+)$")
"""What is a file or a module, and no setting."""


def parse(words: list[str]) -> click.Context:
    """Read a command as the command line does, without running it."""
    command, at = get_command(app), 0
    while at < len(words) and words[at] in getattr(command, "commands", {}):
        command, at = command.commands[words[at]], at + 1
    assert not hasattr(command, "commands"), f"{words} names no command"
    return command.make_context(words[at - 1], list(words[at:]))


def words_of(line: str) -> list[str]:
    """Give the words behind `regard` of a line of a shell, without what the shell itself reads."""
    line = line.partition("-m regard ")[2] or line.partition("regard ")[2]
    return [word for word in shlex.split(line.partition(" > ")[0]) if word != "…"]


@pytest.mark.usefixtures("unchecked")  # typer gives None for a flag that is left out
@pytest.mark.parametrize("page", [*WITH_COMMANDS, *CHAPTERS])
def test_every_command_is_one_that_there_is(page):
    for line in commands_of(page):
        parse(words_of(line))
    for line in inline_commands(page):
        words = words_of(line)
        if words and "COMMAND" not in words and not {"RUN", "MODEL"} & set(words):
            _check_start(words)


def _check_start(words: list[str]) -> None:
    """Check what a sentence shows of a command, which may be its beginning alone."""
    command = get_command(app)
    for at, word in enumerate(words):
        if not hasattr(command, "commands"):
            flags = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)} | {"--help"}
            assert {word for word in words[at:] if word.startswith("--")} <= flags, words
            return
        assert word in command.commands or word.startswith("--"), words
        command = command.commands.get(word, command)


@cache
def known_keys() -> frozenset[str]:
    """Give all keys of all tasks."""
    return frozenset(re.findall(r"^\| `([^`]+)`", reference_pages.settings_page(), re.MULTILINE))


@pytest.mark.parametrize("page", [*PAGES, *CHAPTERS])
def test_every_setting_of_a_page_exists(page):
    keys = re.findall(r"(?<![\w./])((?:train|data|model|tokenizer)\.[a-z_]+(?:\.[a-z_]+)*)(?==|`)", read(page))
    unknown = {key for key in keys if not FILE.search(key) and not any(_begins(known, key) for known in known_keys())}
    assert unknown == set()


def _begins(known: str, key: str) -> bool:
    return known == key or known.startswith(f"{key}.")


def test_presets_of_commands_exist():
    for page in WITH_COMMANDS:
        for line in commands_of(page):
            given = parse(words_of(line)).params
            if line.startswith("regard train") and given["preset"] and not given["recipe"]:
                assert given["preset"] in TASKS[given["task"] or DEFAULT].presets, line


@pytest.fixture(scope="module")
def world(prepared):
    make_others(prepared)
    make_model("bart").save_pretrained(prepared / "my-model")
    make_tokenizer().save_pretrained(prepared / "my-model")
    return prepared


def quickly(line: str) -> list[str]:
    """Give the words of a command; a training takes two steps of a small model, a test set ten pairs."""
    words = words_of(line)
    if words[0] in ("evaluate", "compare"):
        few = ["data.size=10", "search.max_length=10"] if "test,long" in words else []
        return [*words, *(word for one in few for word in ("--set", one)), "--trust"]  # the runs are copies
    if words[0] != "train":
        return words
    given = parse(words).params
    task = given["task"] or DEFAULT
    data = str((given["data"] or [""])[0])
    chosen = {**small(task, given["preset"], data), "train.steps": 2, "train.validate_every": 2}
    for at in reversed(range(len(words) - 1)):
        if words[at] == "--set" and words[at + 1].partition("=")[0] in chosen:
            del words[at : at + 2]
    if "--data" not in words and "--source" not in words:  # it goes on with a run
        chosen = {"train.steps": 3}
        words = [word for word in words if not word.startswith("train.steps") and word != "--set"]
    return [*words, *(word for key, value in chosen.items() for word in ("--set", f"{key}={value}".replace(" ", "")))]


class Served:
    """A server that ends as soon as it is started."""

    def __init__(self, app, *others, **more):
        self.app, self.should_exit = app, False

    def run(self, sockets):
        assert self.app.routes


def write_exports(path: Path) -> None:
    """Write the run of export.md, and as `models/es-en` an export of a small model in the form of the hub's."""
    make_transformer(path)
    make_marian(path / "marian")
    export(load(path / "marian"), path / "models/es-en", to="regard")


#: Files that a page alone reads.
PREPARE = {"docs/export.md": write_exports, "docs/questions.md": write_questions}


@pytest.mark.filterwarnings("ignore")  # as at a command line, where they are shown
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[] if page in QUICK else pytest.mark.slow) for page in WITH_COMMANDS]
)
def test_the_commands_of_a_page_run(page, request, tmp_path, monkeypatch, capsys):
    prepared = request.getfixturevalue("prepared" if page in QUICK else "world")
    monkeypatch.chdir(shutil.copytree(prepared, tmp_path / "here"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(studio_server, "make_server", Served)
    monkeypatch.setattr(model_server, "make_server", Served)
    Path("keys.txt").write_text("0123456789abcdef\n")
    PREPARE.get(page, lambda path: None)(Path())
    for line in commands_of(page):
        if ELSEWHERE.search(line):
            continue
        words = quickly(line)
        if words[0] == "train" and {"--data", "--source"} & {*words}:
            shutil.rmtree(parse(words).params["out"], ignore_errors=True)  # it begins anew
        if "--output" in words:
            Path(words[words.index("--output") + 1]).unlink(missing_ok=True)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"El gato duerme.\n")))
        monkeypatch.setattr(sys, "argv", ["regard", *words])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        expected = {0, 1} if FINDS.search(line) else {0}
        assert code in expected, f"{line}\n{capsys.readouterr().err}"
        if " > " in line:
            Path(line.rpartition(" > ")[2].strip()).write_text(capsys.readouterr().out)
