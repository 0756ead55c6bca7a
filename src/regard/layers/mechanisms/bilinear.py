"""Bilinear attention: a matrix compares vectors of unequal width."""

import torch
from torch import nn

from regard.attention import Bilinear, Normalizer
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX
from regard.layers.mechanisms.single_head import SingleHeadAttention


class BilinearAttention(SingleHeadAttention):
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
        super().__init__(query_size, key_size, normalize=normalize, dropout=dropout)
        self.matrix = nn.Parameter(torch.empty(query_size, key_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the matrix as Glorot and Bengio (2010) do."""
        nn.init.xavier_uniform_(self.matrix)

    def build_score(self) -> Bilinear:
        """Give the score with the matrix it has now: it is applied to the queries, which are fewer."""
        return Bilinear(self.matrix)

    def extra_repr(self) -> str:
        """Show the widths."""
        return f"query_size={self.matrix.size(0)}, key_size={self.matrix.size(1)}"
