"""Scores by functions of yours that know which query and which key they compare, and soft capping."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.checks import check_callable, check_count, check_number, undefined
from regard.attention.score import ScaledDot, Score
from regard.attention.tensors import Keys, Queries
from regard.errors import ArgumentTypeError

#: (score, batch, head, query index, key index) → score, as FlexAttention's `score_mod`.
ScoreChange = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
#: (query rows, key, query index, key index) → scores.
RowsFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

_SCALED_DOT = ScaledDot()


@dataclass(frozen=True, eq=False)
class ScoreRows(Score):
    """Compare by a function that is given some of the queries, all keys, and the indices of both.

    `function(query, key, query_index, key_index)` takes query rows (*batch, rows, query width), keys (*batch, key,
    key width) and integers of shape (rows, 1) and (1, key), and gives scores (*batch, rows, key). It must score each
    pair by itself. Large calls give it a few rows at a time, and again in the backward pass, so memory grows with the
    number of pairs. `numbers_per_pair` says how many numbers it holds for each; None assumes the wider width.

    >>> near = ScoreRows(lambda query, key, i, j: query @ key.mT - (i - j).abs())
    >>> near.dense(torch.zeros(2, 4), torch.zeros(3, 4))
    tensor([[ 0., -1., -2.],
            [-1.,  0., -1.]])
    """

    function: RowsFunction
    numbers_per_pair: int | None = field(default=None, kw_only=True)
    first: int = field(default=0, kw_only=True, repr=False)

    widens = False

    def __post_init__(self) -> None:
        check_callable("function", self.function, "a function (query, key, query_index, key_index) -> scores")
        if self.numbers_per_pair is not None:
            check_count("numbers_per_pair", self.numbers_per_pair)

    def dense(self, query: Queries, key: Keys) -> Tensor:
        """Call the function with the rows that are there and their indices."""
        rows, keys = _indices(query, self.first), torch.arange(key.size(-2), device=key.device)
        return self.function(query, key, rows, keys.unsqueeze(0))

    def hidden_size(self, query: Queries, key: Keys) -> int:
        """Assume as many numbers per pair as the vectors are wide, unless `numbers_per_pair` says."""
        return max(query.size(-1), key.size(-1)) if self.numbers_per_pair is None else self.numbers_per_pair

    def of_rows(self, first: int, count: int) -> "ScoreRows":
        """Count from the first of the rows."""
        return replace(self, first=self.first + first)

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Leave the widths to the function."""


class ChangedScore(Score):
    """Another score, changed pair by pair."""

    score: Score
    first: int
    """The index of the first query row, where the score was cut into rows."""

    def modify(self, score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """Change one score, or many at once, whose indices broadcast with them."""
        raise undefined(self, "modify(score, batch, head, query, key)")

    def dense(self, query: Queries, key: Keys) -> Tensor:
        """Score, then change."""
        return self.change(self.score.dense(query, key))

    def change(self, scores: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
        """Change scores that are there, telling `modify` the indices of every pair."""
        axes, device = scores.ndim, scores.device
        batch = head = torch.zeros((), dtype=torch.long, device=device)
        if axes > 2:
            batch = torch.arange(scores.size(0), device=device).view(-1, *[1] * (axes - 1))
        if axes > 3:
            head = torch.arange(scores.size(-3), device=device).view(-1, 1, 1)
        keys = torch.arange(scores.size(-1), device=device)
        return self.modify(scores, batch, head, _indices(scores, self.first), keys.unsqueeze(0))

    def hidden_size(self, query: Queries, key: Keys) -> int:
        """Hold what the score holds."""
        return self.score.hidden_size(query, key)

    def of_rows(self, first: int, count: int) -> "ChangedScore":
        """Count from the first of the rows."""
        return replace(self, score=self.score.of_rows(first, count), first=self.first + first)  # type: ignore[type-var]

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise where the score would."""
        self.score.check(query, key, shape)

    def __str__(self) -> str:
        return f"{type(self).__name__} of {self.score}"


@dataclass(frozen=True, eq=False)
class ScoreMod(ChangedScore):
    r"""Change each score by a function that knows the pair: FlexAttention's `score_mod`, on every backend.

    $$e'_{ij} = f(e_{ij}, b, h, i, j)$$

    where $e$ is `score`, and $b$, $h$, $i$, $j$ are the indices of batch, head, query and key: integers that broadcast
    with the scores, or scalars on CUDA's fused kernel. Axis 0 is the batch; the heads are the third axis from the end
    where there are four. The function must treat every pair by itself.

    Reference: Dong et al. (2024), section 3.1, arXiv:2412.05496.

    >>> alibi = ScoreMod(lambda score, batch, head, query, key: score - 0.5 * (query - key).abs())
    >>> alibi.dense(torch.zeros(2, 4), torch.zeros(3, 4))
    tensor([[ 0.0000, -0.5000, -1.0000],
            [-0.5000,  0.0000, -0.5000]])
    """

    function: ScoreChange
    score: Score = _SCALED_DOT
    first: int = field(default=0, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        check_callable("function", self.function, "a function (score, batch, head, query, key) -> score")
        _check_score(self.score)

    def modify(self, score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """Call the function."""
        return self.function(score, batch, head, query, key)


@dataclass(frozen=True, eq=False)
class Softcap(ChangedScore):
    r"""Keep the scores of another between −cap and cap, smoothly.

    $$e'_{ij} = c \tanh(e_{ij} / c)$$

    where $c$ is `cap` and $e$ is `score`.

    Reference: Gemma Team (2024), section 2, arXiv:2408.00118.

    >>> Softcap(2.0).dense(torch.full((1, 4), 3.0), torch.full((1, 4), 3.0))
    tensor([[2.0000]])
    """

    cap: float
    score: Score = _SCALED_DOT
    first: int = field(default=0, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        check_number("cap", self.cap, positive=True)
        _check_score(self.score)

    def modify(self, score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """Give c·tanh(e/c)."""
        return torch.tanh(score / self.cap) * self.cap


def _indices(rows: Tensor, first: int) -> Tensor:
    """Number the rows of a tensor, (rows, 1), from `first` on."""
    return torch.arange(first, first + rows.size(-2), device=rows.device).unsqueeze(-1)


def _check_score(score: object) -> None:
    if not isinstance(score, Score):
        raise ArgumentTypeError(
            f"`score` must be a score such as ScaledDot(); received {type(score).__name__}. A function of query and "
            "key goes into ScoreRows(function)."
        )
