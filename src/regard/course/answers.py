"""The answers, as text: what `regard course solution` prints."""

import ast
from importlib.resources import files

from regard.course.exercise import Exercise

_FILES = {
    **dict.fromkeys(("1", "2", "3", "4"), "language"),
    **dict.fromkeys(("5", "6", "7", "8", "9", "10"), "recurrent_attention"),
    **dict.fromkeys(("11", "12", "13", "14", "15"), "self_attention"),
    **dict.fromkeys(("16", "17", "18", "19", "20", "21"), "transformer"),
    "p": "one_liners",
}
"""Which file of `solutions/` answers which chapter."""


def solution(exercise: Exercise) -> str:
    """Give an answer to an exercise: a whole file, as `regard course check` takes it.

    >>> from regard.course.catalogue import find
    >>> print(solution(find("p.5")))
    from torch import Tensor
    from regard.course.operations import *
    <BLANKLINE>
    <BLANKLINE>
    def causal_mask(n: int) -> Tensor:
        return arange(n)[:, None] >= arange(n)
    """
    source = (files("regard.course") / "solutions" / f"{_FILES[exercise.chapter]}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    [definition] = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == exercise.name]
    lines = source.splitlines()[definition.lineno - 1 : definition.end_lineno]
    text = [line.split("  # type:")[0] for line in lines if line.strip() != f'"""Answer {exercise.number}."""']
    if text[1] == "":  # behind the docstring, where a function is defined within
        del text[1]
    if exercise.one_line:
        return "\n".join([_PUZZLE, *text])
    names = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
    return "\n".join([*(line for name, line in _IMPORTS.items() if name in names), "", "", *text])


_PUZZLE = "from torch import Tensor\nfrom regard.course.operations import *\n\n"
_IMPORTS = {
    "math": "import math",
    "pairwise": "from itertools import pairwise",
    "Counter": "from collections import Counter",
    "torch": "import torch",
    "Tensor": "from torch import Tensor",
}
