"""Check an answer: a function, in this process; or a file, in a process of its own with a limit on its time."""

import inspect
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, ModuleType
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
    _check_seconds(seconds)
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
    """Check the function in a file; it runs in a process of its own, which is ended after `seconds`.

    Processes that the file starts are ended with it, on systems that have process groups.
    """
    exercise, file = find(number), Path(path)
    _check_seconds(seconds)
    if not file.is_file():
        raise DataError(
            f"`file` must be a Python file with the function {exercise.name}; received {file}, which is not there. "
            f"`regard course show {exercise.number} --out {file}` writes one to begin with."
        )
    read_text(file)  # what cannot be read is an error here, before a process is started
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "verdict.json"
        words = (exercise.number, str(file.resolve()), str(result), str(seconds))
        command = [sys.executable, "-m", "regard.course.run_answer", *words]
        code = _run(command, seconds + _STARTING)
        if code is None:
            return _too_long(exercise, seconds)
        if not result.is_file():
            ended = f"{file.name} must let the check go on to its end; the process ended before (code {code})."
            return Verdict(number=exercise.number, right=False, message=ended)
        return Verdict(**json.loads(result.read_text(encoding="utf-8")))


_STARTING = 60
"""Seconds beside those of the answer, in which Python and torch start; then the process is ended from outside."""


def _run(command: list[str], seconds: float) -> int | None:
    """Run a command in a session of its own and give its exit code, None after `seconds`; end all that it started."""
    process = subprocess.Popen(command, env=_environment(), start_new_session=True)  # Windows has no sessions
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # nobody is left, or (macOS) only processes that ended
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()


def judge_file(number: str, path: Path, *, seconds: float = SECONDS) -> Verdict:
    """Run a file in this process and judge the function in it."""
    exercise = find(number)
    _check_seconds(seconds)
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
    with _module(path) as module:
        wrong = _execute(path, source, module)
        answer: Any = getattr(module, exercise.name, None)
        if wrong is None and not callable(answer):
            wrong = f"{path.name} must define the function {exercise.name}; it does not. `{exercise.signature}`"
        if wrong is not None:
            return Verdict(number=exercise.number, right=False, message=wrong)
        return judge(exercise, answer, explain=lambda error: _explain(error, path))


@contextmanager
def _module(path: Path) -> Iterator[ModuleType]:
    """Make the module of an answer, which can be imported within the block: dataclasses and pickle find it by name."""
    module = ModuleType("regard_answer")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        sys.modules.pop(module.__name__, None)


def _execute(path: Path, source: str, module: ModuleType) -> str | None:
    """Run the lines of a file, with the files beside it to import; give what is wrong with them."""
    paths, before = sys.path, list(sys.path)
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        return f"{path.name} must be Python; line {error.lineno} is not: {error.msg}."
    except Exception as error:
        return f"{path.name} must run to its end; it raised {_explain(error, path)}."
    finally:
        sys.path = paths  # the file may have put another list there, or changed this one
        sys.path[:] = before
    return None


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
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _check_seconds(seconds: float) -> None:
    if not 0 < seconds < math.inf:
        raise ArgumentError(
            f"`seconds` must be a finite number above 0; received {seconds:g}. Without it, {SECONDS} hold."
        )


def _too_long(exercise: Exercise, seconds: float) -> Verdict:
    text = f"{exercise.number} must be answered within {seconds:g} seconds; it was not. Is there a loop without an end?"
    return Verdict(number=exercise.number, right=False, message=text)


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
