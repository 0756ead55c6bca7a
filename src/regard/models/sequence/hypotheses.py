"""Several hypotheses of one sentence attend to the same memory: as more queries, not as more sentences.

Their rows lie side by side (see `GeneratingModel`), so that the memory is read once for all of them and never copied.
"""

from typing import ClassVar, NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attended, Mask, Position
from regard.errors import ArgumentError
from regard.layers.attention_layer import attend_to
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory


class RowContext(NamedTuple):
    """The context of each row."""

    context: Float[Tensor, "rows new size"]
    """The weighted sum of the memory; of Luong's, the attentional vector."""
    weights: Float[Tensor, "rows heads new source"] | None
    """How much each memory counted, if asked for."""


def attend_by_row(
    attention: nn.Module,
    query: Float[Tensor, "rows new size"],
    memory: Memory,
    *,
    positions: Int[Tensor, "rows new"] | None = None,
    weights: bool = False,
) -> RowContext:
    """Let every row attend to the memory of its sentence; `positions` are for attention that needs the step."""
    folded = fold(query, memory)
    row_positions = None if positions is None else positions.reshape(folded.size(0), -1)
    context, result = attend_to(attention, folded, memory, query_positions=row_positions, return_weights=weights)
    if result is None:
        return RowContext(context.view(*query.shape[:2], -1), None)
    by_head = result if result.ndim == 4 else result.unsqueeze(1)
    return RowContext(context.view(*query.shape[:2], -1), unfold(by_head, query.size(0)))


def fold(query: Float[Tensor, "rows new size"], memory: Memory) -> Float[Tensor, "sentences queries size"]:
    """Put the queries of a sentence's hypotheses behind one another."""
    sentences, rows = memory.key.size(0), query.size(0)
    if rows == sentences:
        return query
    if not sentences or rows % sentences:
        raise ArgumentError(
            f"the state must have as many rows as the memory, {sentences}, or a multiple of it; received {rows}."
        )
    return query.reshape(sentences, -1, query.size(-1))


def unfold(
    weights: Float[Tensor, "sentences heads queries source"], rows: int
) -> Float[Tensor, "{rows} heads new source"]:
    """Give each hypothesis its own weights again."""
    sentences = weights.size(0)
    if rows == sentences:
        return weights
    by_hypothesis: Tensor = weights.unflatten(2, (rows // sentences, -1))
    return by_hypothesis.transpose(1, 2).flatten(0, 1)


class CrossAttention(MultiHeadAttention):
    """Multi-head attention whose queries may be those of several hypotheses for each sentence of the memory.

    >>> import torch
    >>> layer = CrossAttention(8, 2)
    >>> layer(torch.zeros(6, 1, 8), layer.remember(torch.zeros(2, 5, 8))).shape
    torch.Size([6, 1, 8])
    """

    fusible: ClassVar[bool] = True

    def forward(
        self,
        query: Float[Tensor, "rows new size"],
        memory: Memory | None = None,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        query_positions: Int[Tensor, "... query"] | None = None,
        position: Position | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "rows new size"] | Attended:
        """Attend to the memory; without hypotheses it is what `MultiHeadAttention` does."""
        folded = query if memory is None else fold(query, memory)
        attended = super().forward(
            folded,
            memory,
            mask=mask,
            bias=bias,
            query_positions=query_positions,
            position=position,
            return_weights=return_weights,
        )
        if folded is query:
            return attended
        rows = query.shape[:2]
        if isinstance(attended, Tensor):
            return attended.view(*rows, -1)
        return Attended(attended.context.view(*rows, -1), unfold(attended.weights, rows[0]), None)
