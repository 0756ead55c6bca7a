"""Local attention: a window around a position that moves on by itself or is predicted."""

from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import GaussianWindow, Mask, Normalizer
from regard.attention.mask import as_mask
from regard.attention.normalize import NormalizeFunction
from regard.errors import ArgumentError
from regard.layers.attend import SOFTMAX
from regard.layers.attention_layer import Attentional, Interface
from regard.layers.checks import check_choice, check_positive
from regard.layers.mechanisms.luong import LuongAttention, LuongScore
from regard.layers.memory import Memory

LocalKind = Literal["monotonic", "predictive"]


class LocalAttention(LuongAttention):
    r"""Attend to the memory around one position only.

    $$\text{monotonic (local-m):} \quad p_t = t, \qquad a_{ts} = \text{align}(h_t, \bar h_s)$$

    $$\text{predictive (local-p):} \quad p_t = S\,\sigma(v_p^\top \tanh(W_p h_t)), \qquad
    a_{ts} = \text{align}(h_t, \bar h_s) \exp\left(-\frac{(s - p_t)^2}{2 (D/2)^2}\right)$$

    where align is the softmax of any of `LuongAttention`'s scores over the window $[p_t - D, p_t + D]$, $D$ is
    `half_width` and $S$ the true length of each memory, without padding. $W_p$ is `place.weight`, $v_p$ is
    `place_vector`. The Gaussian comes after the softmax and is not normalized again: weights of local-p sum to less
    than one.

    "monotonic" takes $t$ from `query_positions`, (query,) or (batch, query); several queries at once stand at 0, 1, …
    by default; for one alone it must be passed. "predictive" uses the length of the whole memory, so it attends over a
    memory that is complete, such as a source; over a sentence's own growing past it would know its future length.

    Reference: Luong, Pham and Manning (2015), section 3.2 and equations 9 and 10, arXiv:1508.04025.
    Differs: positions are counted from 0; a window that lies wholly beyond the memory gives a context of zero.

    >>> layer = LocalAttention(8, 6, kind="monotonic", half_width=1.0)
    >>> memory = layer.remember(torch.zeros(1, 5, 6))
    >>> layer(torch.zeros(1, 1, 8), memory, query_positions=torch.tensor([3]), return_weights=True).weights
    tensor([[[0.0000, 0.0000, 0.3333, 0.3333, 0.3333]]], grad_fn=...)
    """

    interface = Interface(joins=True, query_positions=True, step=True)

    def __init__(
        self,
        state_size: int,
        memory_size: int,
        *,
        kind: LocalKind = "predictive",
        half_width: float = 10.0,
        score: LuongScore = "general",
        hidden_size: int | None = None,
        max_length: int | None = None,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            state_size,
            memory_size,
            score=score,
            hidden_size=hidden_size,
            max_length=max_length,
            normalize=normalize,
            dropout=dropout,
        )
        check_choice("kind", kind, get_args(LocalKind))
        check_positive("half_width", half_width)
        self.kind: LocalKind = kind
        self.half_width = half_width
        if kind == "predictive":
            self.place = nn.Linear(state_size, state_size, bias=False)
            self.place_vector = nn.Parameter(torch.empty(state_size))
        self.reset_parameters()

    def forward(
        self,
        query: Float[Tensor, "batch query state_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        query_positions: Int[Tensor, "... query"] | None = None,
        return_weights: bool = False,
    ) -> Attentional:
        """Attend to the memory once for each state, through its window."""
        if self.kind == "predictive":
            window = GaussianWindow(
                center=self.center(query, memory),
                half_width=self.half_width,
                key_positions=None if memory.mask is None else _key_positions(memory),
            )
            return self.attend_over(query, memory, mask=mask, position=window, return_weights=return_weights)
        if query_positions is None:
            if query.size(1) == 1 and memory.capacity > 1:
                raise ArgumentError(
                    '`query_positions` must say at which step t a single query stands, for kind "monotonic"; received '
                    "None. At step t: torch.tensor([t])."
                )
            query_positions = torch.arange(query.size(1), device=query.device)
        distance = _key_positions(memory).unsqueeze(-2) - query_positions.unsqueeze(-1)  # batch query key
        inside = as_mask(distance.abs() <= self.half_width)
        return self.attend_over(
            query, memory, mask=inside if mask is None else inside & mask, return_weights=return_weights
        )

    def center(self, query: Float[Tensor, "batch query state_size"], memory: Memory) -> Float[Tensor, "batch query"]:
        """Predict the position of each state, p_t."""
        share = torch.tanh(self.place(query)) @ self.place_vector
        share = share.to(torch.promote_types(share.dtype, torch.float32))  # half precision is too coarse for positions
        return memory.true_length()[:, None] * torch.sigmoid(share)

    def extra_repr(self) -> str:
        """Show the window too."""
        return f"{super().extra_repr()}, kind={self.kind!r}, half_width={self.half_width}"


def _key_positions(memory: Memory) -> Int[Tensor, "batch key"]:
    """Number the memories that may be attended to, 0, 1, …, padding on either side left out."""
    if memory.mask is None:
        return torch.arange(memory.capacity, device=memory.key.device).expand(memory.key.size(0), -1)
    return memory.mask.long().cumsum(-1) - 1
