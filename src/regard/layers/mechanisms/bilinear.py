"""Bilinear attention: a matrix compares vectors of unequal width."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Bilinear, Mask, Normalizer, Padding
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.checks import check_size, check_width
from regard.layers.memory import Memory, check_memory


class BilinearAttention(nn.Module):
    r"""Compare a state with every memory through a matrix.

    $$e_{ij} = q_i^\top W_a k_j, \qquad \alpha_i = \text{softmax}(e_i), \qquad c_i = \sum_j \alpha_{ij} v_j$$

    where $W_a$ is `matrix`, (query_size, key_size). With the identity it would be the inner product.

    Reference: Luong, Pham and Manning (2015), section 3.1, "general", arXiv:1508.04025.
    Differs: gives the context alone; `LuongAttention` adds the attentional vector.

    >>> layer = BilinearAttention(query_size=4, key_size=6)
    >>> layer(torch.zeros(2, 3, 4), layer.remember(torch.zeros(2, 5, 6))).shape
    torch.Size([2, 3, 6])
    """

    def __init__(
        self,
        query_size: int,
        key_size: int,
        *,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("query_size", query_size)
        check_size("key_size", key_size)
        self.matrix = nn.Parameter(torch.empty(query_size, key_size))
        self.attend = Attend(normalize=normalize, dropout=dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the matrix as Glorot and Bengio (2010) do."""
        nn.init.xavier_uniform_(self.matrix)

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Keep keys and values as they are: the matrix is applied to the fewer queries."""
        check_width("key", key, self.matrix.size(1))
        return Memory.of(key, key if value is None else value, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query query_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Look at the memory once for each query."""
        check_width("query", query, self.matrix.size(0))
        check_memory(memory)
        attended: Tensor | Attended = self.attend(
            query,
            memory.key,
            memory.value,
            score=Bilinear(self.matrix),
            mask=memory.allowed(mask, query.size(1)),
            return_weights=return_weights,
        )
        return attended

    def extra_repr(self) -> str:
        """Show the widths."""
        return f"query_size={self.matrix.size(0)}, key_size={self.matrix.size(1)}"
