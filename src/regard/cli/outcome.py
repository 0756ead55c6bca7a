"""How a command ends: what is raised becomes one paragraph and an exit code, here and nowhere else.

| what | exit code | |
| --- | --- | --- |
| bad input: any `RegardError` but those below | 2 | what was expected, what was received, what to do |
| a file or stream that the system refuses (`OSError`) | 2 | its name, and what the system reports |
| training cannot go on, a model of NaN, a full disk, no memory | 1 | what to do |
| `regard doctor` with findings | 1 | the findings, as output |
| Ctrl-C | 130 | |
| the reader of our output has closed the pipe | 0 | |
| anything else is a bug in regard | 1 | Python's traceback, to be reported |
"""

import errno
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from regard.cli.flags import Group, spell_flags
from regard.cli.terminal import discard_output, paragraph
from regard.errors import Interrupted, NotFiniteError, RegardError, TrainingError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Commands(Group):
    """All commands. A closed pipe and Ctrl-C are left to `ending`, before click acts on them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _intercepting():
            return super().invoke(ctx)


class _PipeClosedError(Exception):
    """The reader of our output has closed the pipe."""


@contextmanager
def _intercepting() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _PipeClosedError from error
    except KeyboardInterrupt:
        sys.exit(130)


@contextmanager
def ending(command: Any, words: Sequence[str]) -> Iterator[None]:
    """End the process by the table above; `command` is that of all commands, `words` what was typed."""
    try:
        try:
            yield
        except SystemExit as ended:
            if isinstance(ended.__context__, BrokenPipeError):  # rich ends the process itself
                raise _PipeClosedError from ended
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except (_PipeClosedError, BrokenPipeError):
        discard_output()
        sys.exit(0)
    except (RegardError, OSError, MemoryError, RuntimeError) as error:
        explained = explain(error)
        if explained is None:
            raise
        code, message = explained
        _flush()
        print(f"regard: {paragraph(spell_flags(message, command, words))}", file=sys.stderr)
        sys.exit(code)


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """End without a traceback on SIGTERM, and with what `finally` does, such as ending other processes."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def explain(error: BaseException) -> tuple[int, str] | None:
    """Give the exit code and the message of an exception; None for a bug in regard itself."""
    match error:
        case Interrupted():
            return 128 + error.signal, str(error)
        case TrainingError() | NotFiniteError():
            return 1, str(error)
        case RegardError():
            return 2, str(error)
        case OSError() if error.errno in _FULL:
            name = _names(error) or "The output"
            return 1, f"{name} must have room for what is written; there is none ({error.strerror}). Make room."
        case OSError() if error.errno is not None:
            name = _names(error)
            what = f"{name} must be one that can be read and written" if name else "Input and output must be open"
            return 2, f"{what}; the system reports: {error.strerror}."
        case _ if _is_out_of_memory(error):
            first = next(iter(str(error).strip().splitlines()), "none is left").rstrip(".")
            return 1, f"The work must fit into memory; received: {first}. Ask for less at once, or a smaller model."
    return None


def _names(error: OSError) -> str:
    """Name the file or files of an error; nothing where it is of a stream."""
    return " or ".join(str(name) for name in (error.filename, error.filename2) if name is not None)


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or "torch" not in sys.modules:
        return isinstance(error, MemoryError)
    from regard.training.failure import is_out_of_memory

    return is_out_of_memory(error)


def _flush() -> None:
    """Write what was computed before; where that fails, too, it goes nowhere."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        discard_output()
