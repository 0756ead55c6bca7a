"""Every error regard raises on purpose.

RegardError
├── ArgumentError (ValueError)      a value or shape is wrong
│   ├── BackendError                the backend that was asked for cannot compute this
│   └── DataError                   a file or corpus is not what it should be
├── ArgumentTypeError (TypeError)   a type or dtype is wrong
├── MissingExtraError (ImportError) an optional package is not installed
├── NotFiniteError (ArithmeticError) a model's numbers are none
├── TrainingError (RuntimeError)    training cannot go on; the last checkpoint is good
├── ServerError (RuntimeError)      a server refused a request, failed or did not answer
└── Interrupted                     training was asked to stop, and saved a checkpoint

Messages read: `<argument>` must <expected>; received <it>. <What to do.>
"""

import difflib
from collections.abc import Iterable

_COMPARED = 200
"""Letters of a name that is compared with others."""


class RegardError(Exception):
    """The root: `except RegardError` catches whatever regard raises on purpose."""


class ArgumentError(RegardError, ValueError):
    """A value or shape is wrong."""


class BackendError(ArgumentError):
    """The backend that was asked for cannot compute this call."""


class DataError(ArgumentError):
    """A file or corpus is not what it should be."""


class ArgumentTypeError(RegardError, TypeError):
    """A type or dtype is wrong."""


class MissingExtraError(RegardError, ImportError):
    """An optional package is not installed."""


class NotFiniteError(RegardError, ArithmeticError):
    """The numbers of a model are NaN, in its parameters or in its output."""


class TrainingError(RegardError, RuntimeError):
    """Training cannot go on; what was learned so far is in the last checkpoint."""


class ServerError(RegardError, RuntimeError):
    """A server refused a request, failed, or did not answer; `status` is None where no answer came."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


class Interrupted(RegardError):  # noqa: N818 (nobody did anything wrong)
    """Training was asked to stop, and has saved a checkpoint."""

    def __init__(self, message: str, *, signal: int) -> None:
        super().__init__(message)
        self.signal = signal


def with_article(name: str) -> str:
    """Put "a" or "an" before the name of a kind.

    >>> with_article("bag"), with_article("attentive-pooling"), with_article("ngram")
    ('a bag', 'an attentive-pooling', 'an ngram')
    """
    return f"{'an' if name.lower().startswith(('a', 'e', 'i', 'o', 'u', 'ngram')) else 'a'} {name}"


def plural(count: int, name: str) -> str:
    """Count things in words.

    >>> plural(1, "text"), plural(1200, "text")
    ('1 text', '1,200 texts')
    """
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def brief(value: object, *, letters: int = 60) -> str:
    """Show a value of any size in a few letters.

    >>> brief("a" * 100, letters=5), brief(10**5000), brief([1])
    ('aaaa…', 'an enormous number', '[1]')
    """
    if isinstance(value, int) and value.bit_length() > 4 * letters:
        return "an enormous number"
    text = str(value)
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return which of `choices` was probably meant, or list them.

    >>> nearest("sofmax", ["softmax", "sparsemax"])
    'Did you mean softmax?'
    >>> nearest("x", ["softmax", "sparsemax"])
    'Choose one of softmax, sparsemax.'
    """
    known = list(choices)
    return near_miss(name, known).strip() or f"Choose one of {join_names(known)}."


def near_miss(name: str, choices: Iterable[str]) -> str:
    """Return which of `choices`, listed already, was probably meant, after a space; nothing where none is near.

    >>> near_miss("sofmax", ["softmax", "sparsemax"]), near_miss("x", ["softmax", "sparsemax"])
    (' Did you mean softmax?', '')
    """
    if len(name) > _COMPARED:  # names that data brings may be of any length, and comparing takes its square
        return ""
    close = difflib.get_close_matches(name, [choice for choice in choices if len(choice) <= _COMPARED], n=1)
    return f" Did you mean {join_names(close)}?" if close else ""


def join_names(names: Iterable[str], *, letters: int = 600, between: str = ", ") -> str:
    r"""Write names that data brings in a row: each short and on one line, and no more than a message can hold.

    >>> join_names(["a\nb", "c" * 99], letters=20)
    'a b, cccccccccccccc…'
    """
    return brief(between.join(" ".join(brief(name).split()) for name in names), letters=letters)


def describe(error: BaseException) -> str:
    r"""Give what an exception says, on one line and of a length to read: those of packages span lines and quote input.

    >>> describe(ValueError("no\n  good")), describe(KeyError())
    ('no good', 'KeyError')
    """
    return brief(" ".join(str(error).split()), letters=200) or type(error).__name__
