"""Answers are run with a limit, and whatever they do is answered in a few plain lines."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from regard.course import check, check_file
from regard.course.checking import judge_file
from regard.errors import ArgumentError, ArgumentTypeError, DataError


def right(query, key):
    return query @ key.T / query.size(-1) ** 0.5


def test_a_right_function():
    verdict = check("13.1", right)
    assert verdict
    assert repr(verdict) == "13.1 is right: 6 cases."


def test_a_wrong_function_gets_the_smallest_case_with_both_results():
    verdict = check("13.1", lambda query, key: query @ key.T / query.size(-1))
    assert not verdict
    lines = verdict.message.splitlines()
    assert lines[0] == "13.1 is not right yet. Case 1 of 6:"
    assert lines[1].startswith("  query = tensor([[")
    assert lines[3].startswith("expected: tensor([[")
    assert lines[4].startswith("received: tensor([[")
    assert lines[5].startswith("That divides by d")
    assert lines[-1] == "For a hint: regard course hint 13.1"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda query, key: None, "The function gives None: is the `return` missing?"),
        (lambda query, key: right(query, key).T.contiguous().view(-1), "The shape must be"),
        (lambda query, key: right(query, key) > 0, "The result must be of torch.float32; it is of torch.bool."),
        (lambda query, key: right(query, key) * torch.nan, "The result holds NaN."),
        (lambda query, key: "text", "The result must be a tensor; it is of type str."),
        (lambda query, key: torch.ones(2, 3) @ torch.ones(2, 3), "raised RuntimeError: "),
        (lambda query: query, "raised TypeError: "),
    ],
)
def test_each_way_to_be_wrong_has_its_words(answer, message):
    assert message in check("13.1", answer).message


def test_arguments_that_an_answer_writes_into_spoil_no_other_call():
    def answer(query, key):
        result = right(query, key)
        query.zero_()
        key.zero_()
        return result

    assert check("13.1", answer)


def test_a_loop_without_an_end_is_ended():
    def forever(query, key):
        while True:
            pass

    begun = time.monotonic()
    verdict = check("13.1", forever, seconds=0.2)
    assert time.monotonic() - begun < 5
    assert verdict.message == ("13.1 must be answered within 0.2 seconds; it was not. Is there a loop without an end?")


def test_an_answer_that_catches_everything_is_ended_too():
    def stubborn(query, key):
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass

    assert "must be answered within 0.2 seconds" in check("13.1", stubborn, seconds=0.2).message


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentTypeError, match=r"`answer` must be a function; received int\."):
        check("13.1", 3)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_not_above_0_is_refused(answer, seconds):
    for call in (
        lambda: check("13.1", right, seconds=seconds),
        lambda: check_file("13.1", answer(RIGHT), seconds=seconds),
        lambda: judge_file("13.1", answer(RIGHT), seconds=seconds),
    ):
        with pytest.raises(ArgumentError, match=rf"`seconds` must be a finite number above 0; received {seconds:g}\."):
            call()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_the_shortest_limit_leaves_no_handler_behind():
    before = signal.getsignal(signal.SIGALRM)
    assert "must be answered within 1e-09 seconds" in check("13.1", right, seconds=1e-9).message
    assert signal.getsignal(signal.SIGALRM) is before


def causal_mask(n):
    return torch.ones(n, n).tril().bool()


def test_a_puzzle_in_a_notebook_is_read_off_its_source():
    verdict = check("p.5", causal_mask)
    assert verdict.message == "The line must use arange, operators and indices alone; it uses the attribute .bool."


@pytest.fixture
def answer(tmp_path):
    def write(text):
        path = tmp_path / "answer.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


RIGHT = "def scaled_scores(query, key):\n    return query @ key.T / query.size(-1) ** 0.5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "answer.py must define the function scaled_scores; it does not."),
        ("def scaled_scores(query, key)\n    pass", "answer.py must be Python; line 1 is not: expected ':'."),
        ("1 / 0", "answer.py must run to its end; it raised ZeroDivisionError in line 1: division by zero."),
        ("import nothing_of_the_kind", "it raised ModuleNotFoundError in line 1"),
        ("def scaled_scores(query, key):\n    raise NotImplementedError\n", "nothing is written yet"),
        ("def scaled_scores(query, key):\n    x = 1\n    return x.size\n", "raised AttributeError in line 3: 'int'"),
    ],
)
def test_a_file_that_cannot_be_judged_is_answered_with_its_line(answer, text, message):
    assert message in judge_file("13.1", answer(text)).message


def test_a_file_may_use_others_beside_it(answer, tmp_path):
    (tmp_path / "beside.py").write_text("def root(x):\n    return x ** 0.5\n")
    text = "from beside import root\ndef scaled_scores(query, key):\n    return query @ key.T / root(query.size(-1))\n"
    assert judge_file("13.1", answer(text))


def test_a_file_may_define_dataclasses_whose_annotations_are_text(answer):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Root:\n    size: int\n"
        "def scaled_scores(query, key):\n    @dataclass\n    class Inner:\n        root: Root\n"
        "    return query @ key.T / Inner(Root(query.size(-1))).root.size ** 0.5\n"
    )
    assert judge_file("13.1", answer(text))
    assert "regard_answer" not in sys.modules


@pytest.mark.parametrize(
    "line", ["sys.path.clear()", "sys.path = ['elsewhere']", "sys.path = None", "sys.path.insert(0, 'elsewhere')"]
)
def test_a_file_may_change_the_path(answer, line):
    paths, before = sys.path, list(sys.path)
    assert judge_file("13.1", answer(f"import sys\n{line}\n{RIGHT}")).message == "13.1 is right: 6 cases."
    assert sys.path is paths
    assert sys.path == before


def test_a_file_that_is_not_utf_8_is_refused_in_a_paragraph(tmp_path):
    path = tmp_path / "answer.py"
    path.write_bytes(b"# caf\xe9\n" + RIGHT.encode())
    with pytest.raises(DataError, match=r"answer\.py must be text in UTF-8; received: "):
        check_file("13.1", path)


@pytest.mark.slow
def test_a_file_runs_in_a_process_of_its_own(answer, capfd):
    verdict = check_file("13.1", answer("print('hello')\n" + RIGHT))
    assert verdict.message == "13.1 is right: 6 cases."
    assert "hello" in capfd.readouterr().out


@pytest.mark.slow
def test_a_process_that_ends_itself_is_told_apart(answer):
    verdict = check_file("13.1", answer("import os\nos._exit(3)\n"))
    assert verdict.message.endswith("the process ended before (code 3).")


@pytest.mark.slow
def test_a_file_that_never_ends_is_ended(answer):
    verdict = check_file("13.1", answer("while True:\n    pass\n"), seconds=1)
    assert "must be answered within 1 seconds" in verdict.message


@pytest.mark.slow
def test_a_file_that_does_not_end_itself_is_ended_from_outside(answer, monkeypatch):
    monkeypatch.setattr("regard.course.checking._STARTING", 2)
    text = "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass\n"
    assert "must be answered within 1 seconds" in check_file("13.1", answer(text), seconds=1).message


STARTS = (
    "import pathlib, subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "pathlib.Path(__file__).with_name('child').write_text(str(child.pid))\n"
)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
@pytest.mark.parametrize(
    ("further", "seconds", "message"),
    [
        (RIGHT, 20, "13.1 is right: 6 cases."),
        ("while True:\n    pass\n", 1, "must be answered within 1 seconds"),
        (
            "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass\n",
            2,
            "within 2 seconds",
        ),
    ],
)
def test_processes_that_a_file_started_end_with_it(answer, monkeypatch, tmp_path, further, seconds, message):
    if "SIG_IGN" in further:
        monkeypatch.setattr("regard.course.checking._STARTING", 5)
    assert message in check_file("13.1", answer(STARTS + further), seconds=seconds).message
    assert ended(int((tmp_path / "child").read_text()))


def ended(process):
    """Tell whether a process is gone, or waits for a parent to take its exit code."""
    for _ in range(100):
        shown = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], check=False, capture_output=True, text=True)
        if not shown.stdout.strip() or shown.stdout.startswith("Z"):
            return True
        time.sleep(0.05)
    return False


def test_a_system_without_process_groups_ends_the_process_alone(answer, monkeypatch):
    monkeypatch.setattr("regard.course.checking._STARTING", 0)
    monkeypatch.delattr(os, "killpg", raising=False)
    assert "must be answered within 0.1 seconds" in check_file("13.1", answer(RIGHT), seconds=0.1).message


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"received .*answer\.py, which is not there\. `regard course show 13\.1 --out"):
        check_file("13.1", tmp_path / "answer.py")


def test_the_package_is_light_until_it_is_used():
    """`regard --help` lists the command and loads neither torch nor an exercise."""
    program = "import sys, regard.cli; print([n for n in ('torch', 'regard.course') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
