"""What a run shows on the terminal."""

import io
import sys

import pytest
from rich.console import Console

from regard.cli import progress as module
from regard.cli.progress import Progress
from regard.cli.sample_attention import draw_attention
from regard.cli.terminal import is_live
from regard.cli.training_run import TaskProgress
from regard.tasks.task import TASKS
from regard.training.watch import Measured, Sample, SampleWeights, Validated


def measured(step: int) -> Measured:
    return Measured(
        step=step,
        loss=2.0,
        cross_entropy=2.0,
        rate=0.1,
        gradient_norm=1.0,
        tokens=100,
        tokens_per_second=100.0,
        epoch=0,
        seconds=1.0,
        memory=2**20,
    )


LOOKS = SampleWeights(
    ("▁Yo", "▁soy", "</s>"), ("▁I", "▁am", "</s>"), ((0.9, 0.1, 0.0), (0.3, 0.4, 0.3), (0.0, 0.0, 0.0))
)


def test_each_word_stands_above_the_one_with_most_weight():
    said, seen = draw_attention(LOOKS, width=80, indent="")
    assert said.plain == "I   am     </s>"
    assert seen.plain == "Yo  (soy)  (·)"


def test_a_line_that_is_too_long_is_cut():
    said, seen = draw_attention(LOOKS, width=12, indent="")
    assert (said.plain, seen.plain) == ("I   …", "Yo")


def test_samples_are_drawn_on_stderr(capsys):
    progress = Progress()
    progress._console = Console(stderr=True, force_terminal=True, color_system=None)
    progress.validated(Validated(loss=1.0, samples=(Sample("Yo soy", "I am", "I am", LOOKS),), step=1), best=False)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "  → I am\n  = I am\n    I   am     </s>\n    Yo  (soy)  (·)\n" in shown.err


@pytest.mark.parametrize(("progress", "unit"), [(Progress(), "tokens"), (TaskProgress(TASKS["classify"]), "texts")])
def test_a_log_gets_a_line_for_each_validation_and_none_for_a_step(progress, unit, monkeypatch, capsys):
    clock = {"now": 0.0}
    monkeypatch.setattr(module.time, "monotonic", lambda: clock["now"])
    progress.started(0, 40)
    for step in range(1, 41):
        clock["now"] += 11.0  # seconds a step
        progress.stepped(step)
        progress.measured(measured(step))
        if step % 10 == 0:
            figures = {"accuracy": 0.5, "macro_f1": 0.5}
            sample = Sample("Yo soy", "I am", "I am", LOOKS)
            progress.validated(Validated(loss=1.0, figures=figures, samples=(sample,), step=step), best=step == 10)
    progress.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["step 10", "step 20", "step 30", "step 40"]
    assert "(best)  loss 2.000" in lines[0]
    assert f"100 {unit}/s" in lines[0]
    assert "5:30 left" in lines[0]


def test_a_log_without_validations_gets_a_line_now_and_then(monkeypatch, capsys):
    clock = {"now": 0.0}
    monkeypatch.setattr(module.time, "monotonic", lambda: clock["now"])
    progress = Progress()
    progress.started(0, 1000)
    for step in range(1, 101):
        clock["now"] += 11.0
        progress.measured(measured(step))
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        "step 28/1,000",
        "step 56/1,000",
        "step 84/1,000",
    ]


def test_a_notebook_is_no_terminal_to_draw_over(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    assert is_live(console)
    monkeypatch.setenv("JPY_PARENT_PID", "17")
    assert not is_live(console)


def test_long_work_before_training_is_shown(monkeypatch, capsys):
    clock = {"now": 0.0}
    monkeypatch.setattr(module.time, "monotonic", lambda: clock["now"])
    progress = Progress()
    for pairs in (1000, 2000, 3000):
        clock["now"] += 6.0
        progress.count("reading the data", pairs)
    lines = capsys.readouterr().err.splitlines()
    assert "reading the data: 2,000 pairs" in lines
    assert len(lines) < 3


def test_work_of_a_known_length_is_shown_with_it(monkeypatch, capsys):
    clock = {"now": 0.0}
    monkeypatch.setattr(module.time, "monotonic", lambda: clock["now"])
    progress = Progress()
    for done in (1000, 2000, 3000):
        clock["now"] += 6.0
        progress.count("drawing pictures", done, unit="pictures", total=12_000)
    assert "drawing pictures: 2,000 of 12,000 pictures" in capsys.readouterr().err.splitlines()


def test_a_terminal_gets_a_live_line(monkeypatch):
    progress = Progress()
    progress._console = Console(file=io.StringIO(), force_terminal=True)
    progress._begun -= 60
    progress.count("encoding the data", 5000)
    assert progress._status is not None
    progress.close()
    assert progress._status is None


def test_what_is_printed_to_a_file_does_not_go_to_the_terminal_of_the_bar(monkeypatch):
    terminal, file = io.StringIO(), io.StringIO()
    monkeypatch.setattr(module, "Console", lambda **_: Console(force_terminal=True, file=terminal))
    monkeypatch.setattr(sys, "stdout", file)
    with module.Watching() as bar:
        bar("classifying", 1, 2)
        print("a result")
    assert file.getvalue() == "a result\n"
    assert "classifying" in terminal.getvalue()
    assert "a result" not in terminal.getvalue()


@pytest.mark.parametrize(("minutes", "shown"), [(0.0, "5:30 left"), (2.0, "0:10 left"), (60.0, "5:30 left")])
def test_what_is_left_follows_the_limit_that_comes_first(minutes, shown, monkeypatch, capsys):
    clock = {"now": 0.0}
    monkeypatch.setattr("time.monotonic", lambda: clock["now"])
    progress = Progress()
    progress.limit(minutes)
    progress.started(0, 40)
    clock["now"] = 110.0
    progress.measured(measured(10))
    progress.validated(Validated(loss=1.0, step=10), best=True)
    assert shown in capsys.readouterr().err


def test_a_bar_shows_the_share_of_the_time_where_that_ends_the_run(monkeypatch):
    clock = {"now": 0.0}
    monkeypatch.setattr("time.monotonic", lambda: clock["now"])
    terminal = io.StringIO()
    monkeypatch.setattr(module, "Console", lambda **_: Console(force_terminal=True, file=terminal, width=120))
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    progress = Progress()
    progress.limit(1.0)
    progress.started(0, 40_000)
    clock["now"] = 45.0
    progress.stepped(100)
    task = progress._bar.tasks[0]
    progress.close()
    assert (task.completed, task.total) == (0.75, 1.0)
    assert "0:45/1:00, step 100" in task.description
