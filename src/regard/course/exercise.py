"""What an exercise is: a task, a reference that computes what is expected, cases to try, hints, and common mistakes.

The reference's name, signature and docstring are the task; its body is never shown. `solutions/` holds an answer
written as a learner would write it, and a test compares the two on every case.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Case = dict[str, Any]
"""The arguments of one call, by name."""


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """An answer that is often given, and why it is wrong."""

    answer: Callable[..., Any]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One exercise of the course."""

    number: str
    """Chapter and number, such as 7.3; puzzles are p.1 to p.21."""
    title: str
    reference: Callable[..., Any]
    cases: Callable[[], Iterable[Case]]
    """Gives the cases; they are tried from the smallest to the largest."""
    hints: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    tolerance: float = 1e-4
    accept: Callable[[Any, Case], str | None] | None = None
    """Where many answers are right: gives what is wrong with one, or None; the reference is then one of them."""
    allowed: tuple[str, ...] = ()
    """Of a puzzle: the names that its one line may use, beside the parameters."""

    @property
    def chapter(self) -> str:
        """The chapter it belongs to; p for the puzzles."""
        return self.number.split(".")[0]

    @property
    def one_line(self) -> bool:
        """Whether it is a puzzle, to be answered in one line of `allowed` operations."""
        return self.chapter == "p"

    @property
    def name(self) -> str:
        """The function that an answer defines."""
        return self.reference.__name__

    @property
    def task(self) -> str:
        """What is to be written, in Markdown."""
        return inspect.getdoc(self.reference) or ""

    @property
    def signature(self) -> str:
        """The first line of the function.

        >>> from regard.course.catalogue import find
        >>> find("13.1").signature
        'def scaled_scores(query: Tensor, key: Tensor) -> Tensor:'
        """
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.reference)))
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        definition.body = [ast.Pass()]
        return ast.unparse(definition).splitlines()[0]

    @property
    def template(self) -> str:
        """A file to begin with: what to import, the signature and the task."""
        imports = (
            "from regard.course.operations import *\n" if self.one_line else "import torch\nfrom torch import Tensor\n"
        )
        task = textwrap.indent(self.task.replace("\\", "\\\\"), "    ").strip()
        return f'{imports}\n\n{self.signature}\n    """{task}\n    """\n    raise NotImplementedError\n'

    def ordered_cases(self) -> list[Case]:
        """Give the cases, those of the fewest numbers first, the same each time."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return sorted(self.cases(), key=lambda case: sum(count_numbers(value) for value in case.values()))


def count_numbers(value: Any) -> int:
    """Count the numbers in a value.

    >>> count_numbers([torch.ones(2, 3), "word", 4])
    8
    """
    match value:
        case Tensor():
            return value.numel()
        case list() | tuple() | set():
            return sum(count_numbers(item) for item in value)
        case dict():
            return sum(count_numbers(item) for item in value.values())
        case _:
            return 1


def copied(value: Any) -> Any:
    """Copy a value, so that an answer that writes into its arguments spoils no other call."""
    match value:
        case Tensor():
            return value.clone()
        case list():
            return [copied(item) for item in value]
        case tuple():
            return tuple(copied(item) for item in value)
        case dict():
            return {key: copied(item) for key, item in value.items()}
        case _:
            return value
