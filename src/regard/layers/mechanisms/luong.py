"""Global attention as Luong, Pham and Manning have it: five scores, and the attentional vector."""

from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import (
    Additive,
    Attended,
    Bilinear,
    Dot,
    Location,
    Mask,
    Normalizer,
    Padding,
    Position,
    ScaledDot,
    Score,
)
from regard.attention.normalize import NormalizeFunction
from regard.errors import ArgumentError
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.attention_layer import Attentional, Interface
from regard.layers.checks import check_choice, check_size, check_width
from regard.layers.memory import Memory, blank_padding, check_memory

LuongScore = Literal["dot", "scaled-dot", "general", "concat", "location"]


class LuongAttention(nn.Module):
    r"""Attend to the whole memory, then join the context with the state.

    $$a_t = \text{softmax}(e_t), \qquad e_{ts} = \begin{cases} h_t^\top \bar h_s & \text{dot} \\
    h_t^\top \bar h_s / \sqrt d & \text{scaled-dot} \\ h_t^\top W_a \bar h_s & \text{general} \\
    v_a^\top \tanh(W_a [h_t; \bar h_s]) & \text{concat} \\ (W_a h_t)_s & \text{location} \end{cases}$$

    $$c_t = \sum_s a_{ts} \bar h_s, \qquad \tilde h_t = \tanh(W_c [c_t; h_t])$$

    where $h$ is `query`, $\bar h$ the memory, $d$ the width of both and $W_c$ is `output.weight`. $W_a$ is `matrix`,
    (state_size, memory_size) for "general" and (state_size, max_length) for "location"; for "concat" its halves are
    `query.weight` and `key.weight`, so that the memory's half is applied once, and $v_a$ is `vector`, of `hidden_size`.

    Reference: Luong, Pham and Manning (2015), section 3.1 and equations 5, 7 and 8, arXiv:1508.04025.
    Differs: "scaled-dot" is not the paper's, but Vaswani et al.'s (2017, equation 1); lectures list it beside the
    others. "location" needs the longest source as `max_length`; its softmax runs over the real memory only.

    >>> layer = LuongAttention(state_size=8, memory_size=6, score="general")
    >>> vector, context, _ = layer(torch.zeros(2, 3, 8), layer.remember(torch.zeros(2, 5, 6)))
    >>> vector.shape, context.shape
    (torch.Size([2, 3, 8]), torch.Size([2, 3, 6]))
    """

    interface = Interface(joins=True)

    def __init__(
        self,
        state_size: int,
        memory_size: int,
        *,
        score: LuongScore = "general",
        hidden_size: int | None = None,
        max_length: int | None = None,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("state_size", state_size)
        check_size("memory_size", memory_size)
        check_choice("score", score, get_args(LuongScore))
        self.score: LuongScore = score
        self.state_size, self.memory_size = state_size, memory_size
        self.query: nn.Module = nn.Identity()
        self.key: nn.Module = nn.Identity()
        match score:
            case "dot" | "scaled-dot":
                _check_equal(score, state_size, memory_size)
            case "general":
                self.matrix = nn.Parameter(torch.empty(state_size, memory_size))
            case "concat":
                hidden_size = state_size if hidden_size is None else hidden_size
                check_size("hidden_size", hidden_size)
                self.query = nn.Linear(state_size, hidden_size, bias=False)
                self.key = nn.Linear(memory_size, hidden_size, bias=False)
                self.vector = nn.Parameter(torch.empty(hidden_size))
            case "location":
                self.matrix = nn.Parameter(torch.empty(state_size, _known(max_length)))
        self.output = nn.Linear(memory_size + state_size, state_size, bias=False)
        self.attend = Attend(normalize=normalize, dropout=dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw every parameter from U(−0.1, 0.1), as section 4.1 does."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def remember(
        self,
        key: Float[Tensor, "batch key memory_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Do once what does not depend on the state: for "concat", the memory's half of W_a."""
        value = key if value is None else value
        check_width("key", key, self.memory_size)
        check_width("value", value, self.memory_size)
        key, value = blank_padding(mask, key, value)
        return Memory.of(self.key(key), value, mask, clean=True)

    def forward(
        self,
        query: Float[Tensor, "batch query state_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Attentional:
        """Attend to the memory once for each state."""
        return self.attend_over(query, memory, mask=mask, return_weights=return_weights)

    def attend_over(
        self,
        query: Float[Tensor, "batch query state_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        position: Position | None = None,
        return_weights: bool = False,
    ) -> Attentional:
        """Attend, then join context and state; a `position` narrows the window."""
        check_width("query", query, self.state_size)
        check_memory(memory)
        attended: Tensor | Attended = self.attend(
            self.query(query),
            memory.key,
            memory.value,
            score=self.build_score(),
            mask=memory.allowed(mask, query.size(1)),
            position=position,
            return_weights=return_weights,
        )
        context, weights = (attended.context, attended.weights) if isinstance(attended, Attended) else (attended, None)
        vector = torch.tanh(self.output(torch.cat([context, query], dim=-1)))
        return Attentional(vector, context, weights)

    def build_score(self) -> Score:
        """Give the score with the parameters it has now."""
        match self.score:
            case "dot":
                return Dot()
            case "scaled-dot":
                return ScaledDot()
            case "general":
                return Bilinear(self.matrix)
            case "concat":
                return Additive(self.vector)
            case "location":
                return Location(self.matrix)

    def extra_repr(self) -> str:
        """Show sizes and score."""
        return f"state_size={self.state_size}, memory_size={self.memory_size}, score={self.score!r}"


def _check_equal(score: LuongScore, state_size: int, memory_size: int) -> None:
    if state_size != memory_size:
        raise ArgumentError(
            f'`memory_size` must equal `state_size`, {state_size}, for score "{score}"; received {memory_size}. '
            'Score "general" or "concat" takes unequal widths.'
        )


def _known(max_length: int | None) -> int:
    if max_length is None or max_length < 1:
        raise ArgumentError(f'`max_length` must be the longest source, for score "location"; received {max_length}.')
    return max_length
