"""The attention layer: the one module through which every layer calls the operator, where hooks see each call."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from regard.attention import Attended, Mask, Normalizer, Position, Score, Softmax, attention
from regard.attention.kernels import few_queries
from regard.attention.kernels.transforms import traced
from regard.attention.normalize import NormalizeFunction
from regard.attention.observe import OBSERVERS
from regard.attention.score import ScoreFunction
from regard.errors import ArgumentError
from regard.layers.fused.choose import unwatched
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

    fusible: ClassVar[bool] = True

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

    def by_table(
        self,
        query: Float[Tensor, "batch heads query size"],
        key: Float[Tensor, "rows heads key size"],
        value: Float[Tensor, "rows heads key size"],
        mask: Bool[Tensor, "1 key"],
        table: Int[Tensor, "batch key"],
    ) -> Float[Tensor, "batch heads query size"] | None:
        """Give the scaled dot product's context over keys in the rows that a table names, or None: gather them.

        The kernel that reads them so is one for few queries; hooks would not see the keys as they are attended to.
        """
        watched = OBSERVERS or not unwatched(self) or torch_module._has_any_global_hook()
        plain = type(self) is Attend and type(self.normalize) is Softmax and not (self.training and self.dropout)
        if watched or not plain or torch.is_grad_enabled() or traced() or not query.dtype == key.dtype == value.dtype:
            return None
        if few_queries.refusal(query, key) is not None or key.shape != value.shape:
            return None
        return few_queries.attend(query, key, value, mask[:, None, None], table)

    def extra_repr(self) -> str:
        """Show what it does beyond the plain softmax."""
        return f"normalize={self.normalize}, dropout={self.dropout}"
