"""One query of one head of one example, and what lies there in the tensors of a call."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from regard.attention import Score
from regard.attention.score import ScoreFunction
from regard.inspection.drawing.map import check_index
from regard.inspection.trace.attention_layers import four_axes

#: Axes that a score's parameter has for one head.
_AXES = {"matrix": 2, "vector": 1}


class QueryIndex:
    """One query of one head of one example, in tensors that may share heads or examples; all it gives are copies."""

    def __init__(self, shape: Sequence[int], example: int, head: int, query: int) -> None:
        self.shape, self.lead = tuple(shape), tuple(shape[:-2])
        counts = four_axes(torch.empty(self.shape, device="meta")).shape
        for name, number, count in zip(("example", "head", "query"), (example, head, query), counts, strict=False):
            check_index(name, number, count)
        self.example, self.head, self.query = example, head, query

    def row(self, tensor: Tensor) -> Tensor:
        """Take the query's row of (*batch, query, anything)."""
        return self.table(tensor)[self.query]

    def table(self, tensor: Tensor) -> Tensor:
        """Take what the head sees of (*batch, anything, anything)."""
        return four_axes(tensor.detach().expand(*self.lead, -1, -1))[self.example, self.head].cpu().clone()

    def score(self, score: Score | ScoreFunction) -> Score | ScoreFunction:
        """Give the score with the parameters of this head alone."""
        if not isinstance(score, Score):
            return score
        changed: dict[str, Any] = {}
        for item in fields(score):  # type: ignore[arg-type]
            parameter = getattr(score, item.name)
            if not isinstance(parameter, Tensor):
                continue
            if item.name in _AXES:
                own = parameter[self.head] if parameter.ndim > _AXES[item.name] else parameter
                changed[item.name] = own.detach().cpu().clone()
            else:  # a factor: a number, or one per row
                changed[item.name] = float(self.row(parameter.detach().expand(*self.shape[:-1], 1)))
        return replace(score, **changed) if changed else score  # type: ignore[type-var]
