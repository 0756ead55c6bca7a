"""Several models that predict as one."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import ArgumentError
from regard.models.sequence.protocol import AnyModel, Stepped


class Members(NamedTuple):
    """The memories or the states of all members, row by row."""

    parts: tuple[Any, ...]

    @property
    def rows(self) -> int:
        """How many rows each has."""
        rows: int = self.parts[0].rows
        return rows

    def select(self, rows: Int[Tensor, " chosen"]) -> "Members":
        """Take these rows of each, in this order."""
        return Members(tuple(part.select(rows) for part in self.parts))


class Ensemble:
    r"""Average the probabilities of models with one vocabulary; a `GeneratingModel` itself, for every search.

    $$p(y \mid y_{<i}, x) = \frac{1}{n} \sum_m p_m(y \mid y_{<i}, x)$$

    computed from log-probabilities as $\text{logsumexp}_m \log p_m - \log n$. The models may be of different kinds:
    each reads the source and keeps a state of its own. Weights are those of all members that attend, layer after
    layer; where their numbers of heads differ, each layer is given as the mean of its heads.

    Reference: Sutskever, Vinyals and Le (2014), section 3.6, arXiv:1409.3215.
    """

    def __init__(self, models: Sequence[AnyModel]) -> None:
        if not models:
            raise ArgumentError("`models` must hold at least one model; received none.")
        self.models = tuple(models)

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None) -> Members:
        """Let every member read the source."""
        return Members(tuple(model.encode(source, lengths) for model in self.models))

    def start(self, memory: Members, *, capacity: int | None = None) -> Members:
        """Give each member's state before any token."""
        begun = zip(self.models, memory.parts, strict=True)
        return Members(tuple(model.start(part, capacity=capacity) for model, part in begun))

    def step(
        self, tokens: Int[Tensor, "rows new"], state: Members, memory: Members, *, weights: bool = False
    ) -> Stepped[Members]:
        """Read the next tokens, and give the mean probability of each word after them."""
        members = zip(self.models, state.parts, memory.parts, strict=True)
        steps = [model.step(tokens, member_state, source, weights=weights) for model, member_state, source in members]
        sizes = [item[0].size(-1) for item in steps]
        if len(set(sizes)) > 1:
            raise ArgumentError(
                f"`models` must share one vocabulary; received models of {' and '.join(map(str, sizes))} words."
            )
        total = torch.stack([item[0] for item in steps]).logsumexp(0) - math.log(len(steps))
        return total, Members(tuple(item[1] for item in steps)), _concatenate([item[2] for item in steps])


def _concatenate(weights: Sequence[Tensor | None]) -> Tensor | None:
    """Concatenate the layers of all members: (rows, layers, heads, new, source)."""
    parts = [item for item in weights if item is not None]
    if not parts:
        return None
    if len({item.size(2) for item in parts}) > 1:
        parts = [item.mean(2, keepdim=True) for item in parts]
    return torch.cat(parts, dim=1)
