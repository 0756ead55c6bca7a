"""Dot attention as the lectures have it first: nothing is learned, nothing is joined."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Dot, Mask, Normalizer, Padding
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.memory import Memory

DOT = Dot()


class DotAttention(nn.Module):
    r"""Compare a state with every memory as they are.

    $$e_{ij} = s_i^\top h_j, \qquad \alpha_i = \text{softmax}(e_i), \qquad a_i = \sum_j \alpha_{ij} h_j$$

    Reference: Luong, Pham and Manning (2015), equation 8, "dot", arXiv:1508.04025.
    Differs: gives the context alone; `LuongAttention` adds the attentional vector.

    >>> import torch
    >>> layer = DotAttention()
    >>> layer(torch.zeros(1, 1, 2), layer.remember(torch.eye(2)[None]))
    tensor([[[0.5000, 0.5000]]])
    """

    def __init__(self, *, normalize: Normalizer | NormalizeFunction = SOFTMAX, dropout: float = 0.0) -> None:
        super().__init__()
        self.attend = Attend(normalize=normalize, dropout=dropout)

    def remember(
        self,
        key: Float[Tensor, "batch key size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Keep keys and values as they are."""
        return Memory.of(key, key if value is None else value, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Look at the memory once for each query."""
        attended: Tensor | Attended = self.attend(
            query,
            memory.key,
            memory.value,
            score=DOT,
            mask=memory.allowed(mask, query.size(1)),
            return_weights=return_weights,
        )
        return attended
