"""The built-in corpora, by name: for which tasks each is, what it holds, and how it is divided."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.errors import ArgumentError, join_names, near_miss

PREFIX = "builtin:"


class Builtin(NamedTuple):
    """One of them."""

    name: str
    tasks: tuple[str, ...]
    about: str
    splits: tuple[str, ...] = ("train", "valid", "test")


_PICTURES = ("questions", "captions", "images")
BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        "builtin:es-en",
        ("translate", "align"),
        "Spanish to English, with gold word links",
        ("train", "valid", "test", "long", "lectures"),
    ),
    Builtin(
        "builtin:hi-en",
        ("translate", "align"),
        "transliterated Hindi to English, with gold word links",
        ("train", "valid", "test", "long", "lectures"),
    ),
    Builtin(
        "builtin:stories",
        ("language",),
        "short stories in English, one a line, whose pronouns and endings hang on words far before them",
        ("train", "valid", "test", "lectures"),
    ),
    Builtin("builtin:topics", ("classify",), "sentences about one of five topics: their words say which"),
    Builtin("builtin:opinions", ("classify",), "for or against: the order of the words and “not” say which"),
    Builtin("builtin:shapes", _PICTURES, "pictures of one to five shapes, in five kinds and six colors"),
    Builtin("builtin:simple-shapes", _PICTURES, "pictures of one or two shapes, in three kinds and three colors"),
)
"""Generated here, any number of them, under regard's own license."""

LICENSE = "MIT, as regard itself"
UNKNOWN = "unknown"
"""The license of data where nobody has set it."""


def license_of(corpus: str, chosen: str) -> str:
    """Give the license of data for a model card: what was chosen, or that of a built-in corpus.

    >>> license_of("builtin:topics", "unknown"), license_of("a.csv", "unknown"), license_of("a.csv", "CC0")
    ('MIT, as regard itself', 'unknown', 'CC0')
    """
    return LICENSE if is_builtin(corpus) and chosen == UNKNOWN else chosen


def held_out_size(size: int) -> int:
    """Return how many are drawn to validate on, and to test with, beside so many to train on.

    >>> held_out_size(100), held_out_size(3000), held_out_size(1_000_000)
    (20, 300, 500)
    """
    return max(20, min(500, size // 10))


def is_builtin(name: str) -> bool:
    """Return whether a corpus is one of our own, or is meant to be.

    >>> is_builtin("builtin:es-em"), is_builtin("es-en.tsv")
    (True, False)
    """
    return name.startswith(PREFIX)


def check_alone(corpus: str, more: Sequence[str]) -> None:
    """Raise where a built-in corpus is named beside other data.

    >>> check_alone("a.tsv", ["b.tsv"])
    >>> check_alone("builtin:es-en", ["b.tsv"])
    Traceback (most recent call last):
    regard.errors.ArgumentError: `data` must be named once for a built-in corpus, which comes alone; received
    builtin:es-en and b.tsv. Leave one out.
    """
    if more and any(map(is_builtin, (corpus, *more))):
        raise ArgumentError(
            "`data` must be named once for a built-in corpus, which comes alone; received "
            f"{join_names([corpus, *more], between=' and ')}. Leave one out."
        )


def builtin_names(task: str) -> list[str]:
    """List the corpora of a task.

    >>> builtin_names("classify")
    ['builtin:topics', 'builtin:opinions']
    """
    return [item.name for item in BUILTINS if task in item.tasks]


def check_builtin(name: str, task: str, *, argument: str = "data") -> Builtin:
    """Give the built-in corpus of a task, or say which there are.

    >>> check_builtin("builtin:opinion", "classify")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `data` must be a built-in corpus for task classify, builtin:topics or
    builtin:opinions; received builtin:opinion. Did you mean builtin:opinions?
    """
    known = {item.name: item for item in BUILTINS}
    if name in known and task in known[name].tasks:
        return known[name]
    fitting = builtin_names(task)
    wanted = f"a built-in corpus for task {task}, {' or '.join(fitting)}" if fitting else f"data for task {task}"
    if name in known:
        hint = f", which is for task {' or '.join(known[name].tasks)}."
    else:
        hint = f".{near_miss(name, fitting) or near_miss(name, known)}"
    raise ArgumentError(f"`{argument}` must be {wanted}; received {join_names([name])}{hint}")
