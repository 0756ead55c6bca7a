"""The attention layer: the one module through which every layer calls the operator, where hooks see each call."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Mask, Normalizer, Position, Score, Softmax, attention
from regard.attention.normalize import NormalizeFunction
from regard.attention.score import ScoreFunction
from regard.errors import ArgumentError
from regard.layers.mechanisms.sink import LearnedSink

SOFTMAX = Softmax()


class Attend(nn.Module):
    """Compare, weigh and mix, where `inspection.record` sees each call and `inspection.intervene` can change it.

    A layer owns parameters and calls `self.attend(query, key, value, score=…)`, never the operator itself. This module
    has no parameters of its own and keeps nothing between calls; `dropout` acts in training mode only.

    >>> import torch
    >>> from regard import ScaledDot
    >>> attend = Attend(dropout=0.1).eval()
    >>> attend(torch.zeros(1, 2, 4), torch.zeros(1, 3, 4), score=ScaledDot()).shape
    torch.Size([1, 2, 4])
    """

    def __init__(
        self, *, normalize: Normalizer | NormalizeFunction | LearnedSink = SOFTMAX, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout}.")
        self.normalize = normalize
        self.dropout = dropout

    def forward(
        self,
        query: Float[Tensor, "*batch query query_size"],
        key: Float[Tensor, "*keys key key_size"],
        value: Float[Tensor, "*values key value_size"] | None = None,
        *,
        score: Score | ScoreFunction,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        position: Position | None = None,
        grouped: bool = False,
        return_weights: bool = False,
    ) -> Float[Tensor, "*context query value_size"] | Attended:
        """Call `attention` with this layer's normalizer and dropout."""
        return attention(
            query,
            key,
            value,
            score=score,
            mask=mask,
            bias=bias,
            position=position,
            normalize=self.normalize() if isinstance(self.normalize, LearnedSink) else self.normalize,
            dropout=self.dropout if self.training else 0.0,
            grouped=grouped,
            return_weights=return_weights,
        )

    def extra_repr(self) -> str:
        """Show what it does beyond the plain softmax."""
        return f"normalize={self.normalize}, dropout={self.dropout}"
