"""Check an answer: a function, in this process; or a file, in a process of its own with a limit on its time."""

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from regard.course.catalogue import find
from regard.course.exercise import Exercise
from regard.course.one_line import check_line
from regard.course.verdict import Verdict, judge
from regard.errors import ArgumentError, ArgumentTypeError, DataError, describe
from regard.files import read_text

SECONDS = 20
"""Time that an answer may take, on all cases together."""


def check(number: str, answer: Callable[..., Any], *, seconds: float = SECONDS) -> Verdict:
    """Check a function as the answer to an exercise, in a notebook for instance.

    The time limit holds in the main thread of systems that have signals.

    >>> check("13.1", lambda query, key: query @ key.T / key.size(-1) ** 0.5)
    13.1 is right: 6 cases.
    """
    exercise = find(number)
    if not callable(answer):
        raise ArgumentTypeError(f"`answer` must be a function; received {type(answer).__name__}.")
    if exercise.one_line:
        wrong = check_line(_source_of(answer), getattr(answer, "__name__", ""), exercise.allowed)
        if wrong is not None:
            return Verdict(number=exercise.number, right=False, message=wrong)
    try:
        with _limited(seconds):
            return judge(exercise, answer, explain=_explain)
    except _TooLongError:
        return _too_long(exercise, seconds)


def check_file(number: str, path: str | Path, *, seconds: float = SECONDS) -> Verdict:
    """Check the function in a file; it runs in a process of its own, which is ended after `seconds`."""
    exercise, file = find(number), Path(path)
    if not file.is_file():
        raise DataError(
            f"`file` must be a Python file with the function {exercise.name}; received {file}, which is not there. "
            f"`regard course show {exercise.number} --out {file}` writes one to begin with."
        )
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "verdict.json"
        words = (exercise.number, str(file.resolve()), str(result), str(seconds))
        command = [sys.executable, "-m", "regard.course.run_answer", *words]
        try:
            done = subprocess.run(command, check=False, timeout=seconds + _STARTING, env=_environment())
        except subprocess.TimeoutExpired:
            return _too_long(exercise, seconds)
        if not result.is_file():
            ended = (
                f"{file.name} must let the check go on to its end; the process ended before (code {done.returncode})."
            )
            return Verdict(number=exercise.number, right=False, message=ended)
        return Verdict(**json.loads(result.read_text(encoding="utf-8")))


_STARTING = 60
"""Seconds beside those of the answer, in which Python and torch start; then the process is ended from outside."""


def judge_file(number: str, path: Path, *, seconds: float = SECONDS) -> Verdict:
    """Run a file in this process and judge the function in it."""
    exercise = find(number)
    try:
        with _limited(seconds):
            return _judge_source(exercise, path, read_text(path))
    except _TooLongError:
        return _too_long(exercise, seconds)


def _judge_source(exercise: Exercise, path: Path, source: str) -> Verdict:
    if exercise.one_line:
        wrong = check_line(source, exercise.name, exercise.allowed)
        if wrong is not None:
            return Verdict(number=exercise.number, right=False, message=wrong)
    namespace: dict[str, Any] = {"__name__": "answer", "__file__": str(path)}
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(source, str(path), "exec"), namespace)
    except SyntaxError as error:
        text = f"{path.name} must be Python; line {error.lineno} is not: {error.msg}."
        return Verdict(number=exercise.number, right=False, message=text)
    except Exception as error:
        text = f"{path.name} must run to its end; it raised {_explain(error, path)}."
        return Verdict(number=exercise.number, right=False, message=text)
    finally:
        sys.path.remove(str(path.parent))
    answer = namespace.get(exercise.name)
    if not callable(answer):
        text = f"{path.name} must define the function {exercise.name}; it does not. `{exercise.signature}`"
        return Verdict(number=exercise.number, right=False, message=text)
    return judge(exercise, answer, explain=lambda error: _explain(error, path))


def _explain(error: Exception, path: Path | None = None) -> str:
    """Write an exception in a line, with the line of the answer that raised it."""
    if isinstance(error, NotImplementedError) and not str(error):
        return "NotImplementedError: nothing is written yet"
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if path is not None and step.filename == str(path)]
    where = f" in line {own[-1].lineno}" if own else ""
    return f"{type(error).__name__}{where}: {describe(error)}"


def _source_of(answer: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(answer))
    except (OSError, TypeError) as error:
        raise ArgumentError(
            "`answer` must be a function whose source can be read, such as one of a notebook or a file; received one "
            "without. Write it to a file and use `regard course check`."
        ) from error


class _TooLongError(BaseException):
    """Passes through whatever an answer catches."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise within the block when the time is over, where signals can do that."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _too_long(exercise: Exercise, seconds: float) -> Verdict:
    text = f"{exercise.number} must be answered within {seconds:g} seconds; it was not. Is there a loop without an end?"
    return Verdict(number=exercise.number, right=False, message=text)


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
