"""The command line, run as a user runs it."""

import json
import re
import subprocess
import sys

import pytest
from typer.main import get_command

import regard
from regard.cli import app, main


def run_here(monkeypatch, capsys, *arguments: str) -> tuple[object, str, str]:
    """Run a command in this process: a new one takes seconds to import what a bench compares with."""
    monkeypatch.setattr(sys, "argv", ["regard", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "regard", *arguments], capture_output=True, text=True, timeout=300)


def test_help_names_the_commands_and_does_not_import_torch() -> None:
    code = (
        "import sys; sys.argv = ['regard', '--help']; from regard.cli import main\ntry: main()\nexcept SystemExit: pass"
    )
    code += "\nassert 'torch' not in sys.modules, 'torch was imported'"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "bench" in done.stdout


def test_torch_is_imported_when_it_is_needed_and_matplotlib_when_something_is_drawn() -> None:
    code = (
        "import sys, regard; assert 'torch' not in sys.modules; assert callable(regard.attention);"
        "import regard.inspection; assert 'matplotlib' not in sys.modules;"
        "regard.inspection.heatmap; assert 'matplotlib' in sys.modules; assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_command_shows_an_example() -> None:
    commands, without = [get_command(app)], []
    while commands:
        command = commands.pop()
        inner = getattr(command, "commands", {})
        commands += inner.values()
        shown = re.sub("regard (bench|course) ", "regard ", command.help or "")
        if not inner and f"`regard {command.name}" not in shown:
            without.append(command.name)
    assert without == []


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"regard {regard.__version__}\n")


def test_every_command_has_help_with_an_example() -> None:
    done = run("bench", "attention", "--help")
    assert done.returncode == 0
    assert "regard bench attention --quick" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--dtype", "float8"],
            "regard: `--dtype` must be float32, bfloat16 or float16; received float8.\n",
        ),
        (
            ["--device", "toaster"],
            "regard: `--device` must be cpu, or cuda where torch sees one; received toaster.\n",
        ),
    ],
)
def test_bad_input_is_one_paragraph_and_exit_code_2(arguments, message, monkeypatch, capsys, unchecked) -> None:
    assert run_here(monkeypatch, capsys, "bench", "attention", *arguments) == (2, "", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "tinny"], "regard: `--case` must be short or tiny; received tinny. Did you mean tiny?\n"),
        (["--precision", "int4"], "regard: `--precision` must be float32, bfloat16 or int8; received int4.\n"),
        (
            ["--device", "toaster"],
            "regard: `--device` must be cpu, or cuda where torch sees one; received toaster.\n",
        ),
    ],
)
def test_bad_input_of_the_bench_of_decoding(arguments, message, monkeypatch, capsys, unchecked) -> None:
    assert run_here(monkeypatch, capsys, "bench", "decoding", *arguments) == (2, "", message)


@pytest.mark.slow
def test_the_bench_of_decoding_prints_a_table_for_machines() -> None:
    done = run("bench", "decoding", "--sentences", "2", "--rounds", "1", "--shortlist", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    contenders = {(row["beam"], row["contender"]) for row in report["rows"]}
    assert {(beam, name) for beam in (1, 5) for name in ("regard", "regard, shortlist")} <= contenders
    assert all(row["sentences_per_second"] > 0 and row["words_per_second"] > 0 for row in report["rows"])


def test_an_unknown_command_is_exit_code_2() -> None:
    done = run("bensh")
    assert done.returncode == 2
    assert "bench" in done.stderr


@pytest.mark.slow
def test_bench_prints_a_table_for_machines() -> None:
    done = run("bench", "attention", "--quick", "--rounds", "3", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {"device", "dtype", "threads", "torch"} == set(report["machine"])
    contenders = {(row["case"], row["contender"]) for row in report["rows"]}
    assert {
        ("scaled dot", "SDPA"),
        ("scaled dot", "regard"),
        ("additive", "eager"),
        ("additive", "regard"),
    } <= contenders
    assert all(row["forward"]["milliseconds"] > 0 for row in report["rows"])


def test_every_command_answers_to_both_spellings_of_help_and_flags_show_no_type(monkeypatch) -> None:
    from typer.main import get_command
    from typer.testing import CliRunner

    from regard.cli import app

    monkeypatch.setenv("COLUMNS", "120")
    words = [[], ["bench"], ["bench", "attention"], *([name] for name in get_command(app).commands)]  # type: ignore[attr-defined]
    for command in words:
        short, long = (CliRunner().invoke(app, [*command, flag]) for flag in ("-h", "--help"))
        assert short.exit_code == long.exit_code == 0, command
        assert short.output == long.output
        assert "<bool>" not in long.output, command
        assert "-h" in long.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_installed(shell, monkeypatch) -> None:
    # The shell is named: which one runs the tests, or whether any does, must not matter.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    done = run("--show-completion", shell)
    assert done.returncode == 0, done.stderr
    assert "REGARD" in done.stdout


def test_every_preset_has_one_line_on_what_it_is() -> None:
    from regard.tasks.task import TASKS

    presets = [task.presets for task in TASKS.values()]
    assert all(line and len(line) < 100 for lines in presets for line in lines.values())
    done = run("train", "--preset", "list")
    assert "fixed              one vector for the whole source, at every step (Cho et al. 2014)" in done.stdout
