"""Normalizers: from scores (e_ij) to weights (α_ij), along the keys.

A normalizer takes `(scores, mask)`. Masked scores arrive as −∞; rows with nothing to attend to arrive as zeros and
leave as zeros, whatever the normalizer makes of them: `normalize` below sees to both, for ours and for yours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.checks import check_heads, check_number, check_numbers, check_tensor, undefined
from regard.attention.tensors import Scores
from regard.errors import ArgumentError, ArgumentTypeError


class Normalizer:
    """Turns a row of scores into a row of weights."""

    #: True where adding a constant to a row changes nothing, so that scores known up to such a constant will do.
    shift_invariant: bool = True

    def __call__(
        self, scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."] | None
    ) -> Float[Tensor, "*batch query key"]:
        """Give the weights of each row."""
        raise undefined(self, "__call__(scores, mask)")

    def check(self, shape: Sequence[int]) -> None:
        """Raise if this normalizer does not suit scores of that shape, (*batch, query, key)."""

    def __str__(self) -> str:
        return type(self).__name__


NormalizeFunction = Callable[[Tensor, Tensor | None], Tensor]


def normalize(
    scores: Float[Tensor, "*batch query key"],
    mask: Bool[Tensor, "..."] | None,
    normalizer: Normalizer | NormalizeFunction,
) -> Float[Tensor, "*batch query key"]:
    """Apply `normalizer` so that a masked weight is zero and a row with nothing to attend to is all zero.

    Masks act on the scores, *before* normalizing: masking the weights afterwards would let masked scores take their
    share of the sum, and so leak.

    >>> normalize(torch.zeros(1, 4), torch.tensor([True, True, False, False]), Softmax())
    tensor([[0.5000, 0.5000, 0.0000, 0.0000]])
    """
    if scores.size(-1) == 0:
        return scores
    if mask is None:
        return _checked(normalizer(scores, None))
    empty = ~mask.any(-1, keepdim=True)
    open_scores = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0)
    return _checked(normalizer(open_scores, mask)).masked_fill(~mask, 0.0)


def softmax_and_log(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."] | None
) -> tuple[Float[Tensor, "*batch query key"], Float[Tensor, "*batch query"]]:
    r"""Give the softmax of the allowed scores and the log of each row's sum of exponentials, −∞ for an empty row.

    $$\log \sum_l \exp(e_l) = \max_l e_l - \log \max_l \alpha_l$$

    so that the exponentials are taken once.

    >>> softmax_and_log(torch.zeros(1, 4), torch.tensor([True, True, False, False]))
    (tensor([[0.5000, 0.5000, 0.0000, 0.0000]]), tensor([0.6931]))
    """
    if scores.size(-1) == 0:
        return scores, scores.new_full(scores.shape[:-1], -torch.inf)
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
        return weights, scores.amax(-1) - weights.amax(-1).log()
    forbidden, empty = ~mask, ~mask.any(-1, keepdim=True)
    open_scores = scores.masked_fill(forbidden, -torch.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(open_scores, dim=-1)
    log = open_scores.amax(-1) - weights.amax(-1).log()
    return weights.masked_fill(forbidden, 0.0), log.masked_fill(empty.squeeze(-1), -torch.inf)


def _checked(weights: Tensor) -> Tensor:
    if not isinstance(weights, Tensor) or not weights.dtype.is_floating_point:
        kind = weights.dtype if isinstance(weights, Tensor) else type(weights).__name__
        raise ArgumentTypeError(f"`normalize` must return a tensor of floating-point numbers; received {kind}.")
    return weights


@dataclass(frozen=True)
class Softmax(Normalizer):
    r"""Give every key a share that grows exponentially with its score.

    $$\alpha_{ij} = \exp(e_{ij}) / \sum_l \exp(e_{il})$$

    Reference: Bahdanau, Cho and Bengio (2015), equation 6, arXiv:1409.0473.

    >>> Softmax()(torch.tensor([[0.0, 0.0]]), None)
    tensor([[0.5000, 0.5000]])
    """

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Take the softmax over the keys."""
        return torch.softmax(scores, dim=-1)


@dataclass(frozen=True, eq=False)
class Sink(Normalizer):
    r"""Let a query spend part of its weight on nothing: softmax beside one more score, whose value is zero.

    $$\alpha_{ij} = \exp(e_{ij}) / (\exp(s) + \sum_l \exp(e_{il}))$$

    where $s$ is `score`, one number or one per head, often learned. Rows sum to less than one.

    Reference: Xiao et al. (2024), section 3.3 (the "learnable sink token"), arXiv:2309.17453; OpenAI (2025), section
    2.1, arXiv:2508.10925, for a learned score per head.

    >>> Sink(torch.tensor(0.0))(torch.tensor([[0.0, 0.0]]), None)
    tensor([[0.3333, 0.3333]])
    """

    score: Float[Tensor, " heads"] | Float[Tensor, ""]
    shift_invariant = False

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Take the softmax beside the sink's score, then leave that out."""
        sink = self.over_rows(scores).expand(*scores.shape[:-1], 1)
        return torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[..., :-1]

    def over_rows(self, scores: Float[Tensor, "*batch query width"]) -> Float[Tensor, "... one one"]:
        """Lay the sink's score along the heads, in the precision and on the device of `scores`."""
        sink = self.score.to(scores)
        return sink.view(-1, 1, 1) if sink.ndim else sink.view(1, 1)

    def check(self, shape: Sequence[int]) -> None:
        """Raise unless there is one score, or one per head."""
        check_tensor("score", self.score)
        check_numbers("score", self.score)
        if self.score.ndim > 1:
            raise ArgumentError(
                f"`score` of Sink must be one number or one per head; received shape {tuple(self.score.shape)}."
            )
        if self.score.ndim:
            check_heads("score", self.score.size(0), shape)


@dataclass(frozen=True)
class Sparsemax(Normalizer):
    r"""Project the scores onto the simplex: weak keys get exactly zero.

    $$\alpha_i = \arg\min_{p \in \Delta} \lVert p - e_i \rVert^2, \qquad \alpha_{ij} = [e_{ij} - \tau(e_i)]_+$$

    Reference: Martins and Astudillo (2016), algorithm 1, arXiv:1602.02068.

    >>> Sparsemax()(torch.tensor([[1.0, 0.8, -1.0]]), None)
    tensor([[0.6000, 0.4000, 0.0000]])
    """

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Find the support by sorting; inside it the weights are linear in the scores."""
        scores = scores - scores.detach().amax(-1, keepdim=True)
        ordered = scores.detach().sort(-1, descending=True).values
        rank = torch.arange(1, scores.size(-1) + 1, device=scores.device, dtype=scores.dtype)
        size = (1 + rank * ordered > ordered.cumsum(-1)).sum(-1, keepdim=True)
        support = ~(scores < ordered.gather(-1, (size - 1).clamp_min(0)))  # NaN counts, and so spoils its row
        inside = scores.masked_fill(~support, 0.0)
        threshold = (inside.sum(-1, keepdim=True) - 1) / support.sum(-1, keepdim=True)
        return (inside - threshold).masked_fill(~support, 0.0)


@dataclass(frozen=True)
class Entmax(Normalizer):
    r"""Interpolate between softmax (alpha 1) and sparsemax (alpha 2).

    $$\alpha_{ij} = [(\alpha - 1) e_{ij} - \tau(e_i)]_+^{1/(\alpha - 1)}$$

    where $\tau$ makes the row sum to one.

    Reference: Peters, Niculae and Martins (2019), equation 3 and algorithm 1, arXiv:1905.05702.
    Differs: $\tau$ is found by bisection; its derivatives are those of two Newton steps, which leave its value.

    >>> Entmax(1.5)(torch.tensor([[1.0, 0.8, -2.0]]), None)
    tensor([[0.5705, 0.4295, 0.0000]])
    """

    alpha: float = 1.5

    def __post_init__(self) -> None:
        if not 1 < self.alpha <= 2:
            raise ArgumentError(
                f"`alpha` of Entmax must be in (1, 2]; received {self.alpha}. Alpha 1 is Softmax(), "
                "alpha 2 Sparsemax()."
            )

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Find the threshold, then raise what is above it to the power 1/(α − 1)."""
        if self.alpha == 2:
            return Sparsemax()(scores, mask)
        power = 1 / (self.alpha - 1)
        scaled = (scores - scores.detach().amax(-1, keepdim=True)) * (self.alpha - 1)
        threshold = _bisect(scaled.detach(), power)
        support = scaled.detach() > threshold
        # A Newton step for F(τ) = Σ [x − τ]^p − 1 gives τ the derivative −F_x / F_τ of the implicit function, a second
        # one the second derivative. F counts as zero, which it is but for rounding: so τ keeps its value, and a score
        # within rounding of it stays in the support, where its powers are finite.
        for _ in range(2):
            above = torch.where(support, scaled - threshold, 1.0)
            total = torch.where(support, above.pow(power), 0.0).sum(-1, keepdim=True)
            slope = torch.where(support, above.pow(power - 1), 0.0).sum(-1, keepdim=True) * power
            threshold = threshold + (total - total.detach()) / slope
        above = torch.where(support, scaled - threshold, 1.0)
        weights = torch.where(support, above.pow(power), 0.0)
        return weights / weights.detach().sum(-1, keepdim=True)  # one already but for the rounding of τ


def _bisect(scaled: Float[Tensor, "*batch query key"], power: float) -> Float[Tensor, "*batch query one"]:
    """Find the largest τ, to the last bit, at which the weights of scores with maximum 0 still sum to one or more."""
    low, width = torch.full_like(scaled[..., :1], -1.0), 1.0  # at −1 the largest alone weighs one
    for _ in range(53 if scaled.dtype == torch.float64 else 27):
        width /= 2
        middle = low + width
        enough = (scaled - middle).clamp_min(0).pow(power).sum(-1, keepdim=True) >= 1
        low = torch.where(enough, middle, low)
    return low


@dataclass(frozen=True)
class Sigmoid(Normalizer):
    r"""Gate every key by itself; a row need not sum to one.

    $$\alpha_{ij} = \sigma(e_{ij} + b)$$

    Reference: Ramapuram et al. (2024), equation 3, arXiv:2409.04431, where $b = -\log n$ is advised.

    >>> Sigmoid()(torch.tensor([[0.0, 100.0]]), None)
    tensor([[0.5000, 1.0000]])
    """

    bias: float = 0.0
    shift_invariant = False

    def __post_init__(self) -> None:
        check_number("bias", self.bias)

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Take the sigmoid of each score."""
        return torch.sigmoid(scores + self.bias)


@dataclass(frozen=True)
class Hard(Normalizer):
    r"""Attend to the best key only, the first of equals: one-hot weights, with no gradient to the scores.

    $$\alpha_{ij} = [j = \arg\max_l e_{il}]$$

    Reference: Xu et al. (2015), section 4.1, arXiv:1502.03044.
    Differs: the paper draws the key from the softmax; here it is the best one.

    >>> Hard()(torch.tensor([[1.0, 3.0, 3.0]]), None)
    tensor([[0., 1., 0.]])
    """

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Mark the largest score."""
        best = scores.detach().argmax(-1, keepdim=True)
        return torch.zeros_like(scores).scatter(-1, best, 1.0)


@dataclass(frozen=True)
class Mean(Normalizer):
    r"""Attend to every allowed key alike, whatever the scores: average pooling.

    $$\alpha_{ij} = 1 / n_i$$

    where $n_i$ is the number of keys that query $i$ may attend to.

    Reference: Wiegreffe and Pinter (2019), arXiv:1908.04626, where uniform weights are the baseline.

    >>> Mean()(torch.tensor([[1.0, 3.0]]), None)
    tensor([[0.5000, 0.5000]])
    """

    def __call__(self, scores: Scores, mask: Bool[Tensor, "..."] | None) -> Scores:
        """Share one among the allowed keys."""
        if mask is None:
            return torch.full_like(scores, 1 / scores.size(-1))
        allowed = mask.expand_as(scores).to(scores.dtype)
        return allowed / allowed.sum(-1, keepdim=True).clamp_min(1)
