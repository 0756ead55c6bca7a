"""What the weights of a call amount to, for any number of queries and keys: they are never held all at once."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.inputs import read_inputs
from regard.attention.kernels import reference, rows
from regard.attention.mask import Mask
from regard.attention.normalize import NormalizeFunction, Normalizer, Softmax
from regard.attention.position import Position
from regard.attention.score import ScaledDot, Score, ScoreFunction

_SCALED_DOT = ScaledDot()
_SOFTMAX = Softmax()


class WeightSummary(NamedTuple):
    """What `summarize_weights` gives."""

    received: Float[Tensor, "*batch key"]
    """The weights that each key received, summed over the queries."""
    largest: Float[Tensor, "*batch query"]
    """The largest weight of each query."""
    log_normalizer: Float[Tensor, "*batch query"] | None
    """The log of the sum of exponentials of each row's scores, −∞ for an empty row; None but for Softmax."""


def summarize_weights(
    query: Float[Tensor, "*batch query query_size"],
    key: Float[Tensor, "*keys key key_size"],
    *,
    score: Score | ScoreFunction = _SCALED_DOT,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    position: Position | None = None,
    normalize: Normalizer | NormalizeFunction = _SOFTMAX,
    grouped: bool = False,
) -> WeightSummary:
    r"""Give what the weights of `attention` amount to, without holding them.

    $$r_j = \sum_i \alpha_{ij}, \qquad m_i = \max_j \alpha_{ij}, \qquad \log Z_i = \log \sum_j \exp(e_{ij})$$

    where $r$ is `received`, $m$ is `largest` and $\log Z$ is `log_normalizer`; arguments are those of `attention`. The
    weights are computed a few queries at a time, and again in the backward pass. A score that is a plain function, and
    a position that changes weights, are given all queries at once.

    >>> import torch
    >>> query, key = torch.zeros(1, 2, 4), torch.zeros(1, 3, 4)
    >>> from regard import Causal
    >>> summarize_weights(query, key, mask=Causal()).received
    tensor([[0.8333, 0.8333, 0.3333]])
    """
    inputs = read_inputs(
        query,
        key,
        None,
        score=score,
        mask=mask,
        bias=bias,
        position=position,
        normalize=normalize,
        dropout=0.0,
        generator=None,
        grouped=grouped,
    )
    received, largest, log = rows.summarize(inputs, reference.operands(inputs, mask=inputs.dense_mask()))
    return WeightSummary(received, largest, log if type(normalize) is Softmax else None)
