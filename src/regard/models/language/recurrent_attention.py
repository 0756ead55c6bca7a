"""A recurrent language model that attends to its own past states."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attended
from regard.layers.checks import check_size
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.models.dropout import Dropout
from regard.models.embedding import TokenEmbedding
from regard.models.language.network import LanguageNetwork, Reading
from regard.models.language.recurrent import LayerStates, RecurrentStack, make_output


class AttendingState(NamedTuple):
    """The recurrence's state, and the past states it may attend to."""

    layers: LayerStates
    past: Float[Tensor, "rows span size"]
    """The last states, the newest last; zero where there were none."""
    length: Int[Tensor, " rows"]
    """How many of them are filled."""

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.layers.rows

    def select(self, rows: Int[Tensor, " chosen"]) -> "AttendingState":
        """Take these rows, in this order."""
        return AttendingState(
            self.layers.select(rows), self.past.index_select(0, rows), self.length.index_select(0, rows)
        )

    def detach(self) -> "AttendingState":
        """Cut the gradient."""
        return AttendingState(self.layers.detach(), self.past.detach(), self.length)

    @classmethod
    def join(cls, parts: Sequence["AttendingState"]) -> "AttendingState":
        """Put the rows of several one behind the other."""
        layers, past, lengths = zip(*parts, strict=True)
        return cls(LayerStates.join(layers), torch.cat(past), torch.cat(lengths))


class AttendingLanguageModel(LanguageNetwork):
    r"""Carry a state, and compare it with the `span` states before it: memory without a fixed size.

    $$c_t = \sum_{j=t-s}^{t-1} \alpha_{tj} h_j, \qquad \alpha_t = \text{softmax}_j(\text{score}(h_t, h_j)), \qquad
    f_t = \tanh(W [c_t; h_t])$$

    where $h$ are the last layer's states, $s$ is `span` and $W$ is `join`. The first word has nothing to attend to:
    its context is zero. Attention does not feed back into the recurrence, so a whole stretch is computed at once.

    Reference: Daniluk, Rocktäschel, Welbl and Riedel (2017), equations 4 to 7, arXiv:1702.04521.
    Differs: the score is the scaled dot product of projections, in `num_heads` parts, for their tanh layer.

    >>> model = AttendingLanguageModel(TokenEmbedding(10, 4), RecurrentStack("gru", (4, 4)), span=3)
    >>> model.step(torch.tensor([[1, 2]]), model.start(1), weights=True).weights[0, 0, 0]
    tensor([[0., 0., 0., 0., 0.], [0., 0., 0., 1., 0.]], grad_fn=...)
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        stack: RecurrentStack,
        *,
        span: int,
        num_heads: int = 1,
        dropout: float = 0.0,
        tie: bool = False,
    ) -> None:
        super().__init__()
        check_size("span", span)
        size = stack.sizes[-1]
        self.embedding, self.stack, self.span = embedding, stack, span
        self.attention = MultiHeadAttention(size, num_heads)
        self.join = nn.Linear(2 * size, size, bias=False)
        self.dropout = Dropout(dropout, shared=True)
        self.output = make_output(embedding, size, tie=tie)

    def start(self, rows: int, *, capacity: int | None = None) -> AttendingState:
        """Give the state before any token."""
        del capacity
        like = self.join.weight
        nothing = like.new_zeros(rows, self.span, self.stack.sizes[-1])
        return AttendingState(self.stack.start(rows), nothing, torch.zeros(rows, dtype=torch.long, device=like.device))

    def read(
        self, tokens: Int[Tensor, "rows new"], state: AttendingState | None = None, *, weights: bool = False
    ) -> Reading:
        """Read a stretch of text, from `state` on, and attend to the past."""
        state = self.start(tokens.size(0)) if state is None else state
        features, layers = self.stack(self.embedding(tokens), state.layers)
        past = torch.cat([state.past, features], dim=1)  # rows (span new) size
        mask = self._mask(state.length, tokens.size(1))
        result = self.attention(features, self.attention.remember(past), mask=mask, return_weights=weights)
        context, attended = (result.context, result.weights) if isinstance(result, Attended) else (result, None)
        joined = torch.tanh(self.join(torch.cat([context, features], dim=-1)))
        length = (state.length + tokens.size(1)).clamp_max(self.span)
        after = AttendingState(layers, past[:, tokens.size(1) :], length)
        return Reading(self.dropout(joined), after, None if attended is None else attended[:, None])

    def _mask(self, length: Int[Tensor, " rows"], new: int) -> Bool[Tensor, "rows 1 new positions"]:
        """Allow the `span` positions before each, as far as they are filled."""
        positions = torch.arange(self.span + new, device=length.device)
        query = positions[self.span :, None]
        before = (positions < query) & (positions >= query - self.span)
        filled = positions >= self.span - length[:, None]  # rows positions
        return (before & filled[:, None, :]).unsqueeze(1)
