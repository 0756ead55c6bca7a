"""Dot attention as the lectures have it first: nothing is learned, nothing is joined."""

from regard.attention import Dot
from regard.layers.mechanisms.single_head import SingleHeadAttention

DOT = Dot()


class DotAttention(SingleHeadAttention):
    r"""Compare a state with every memory as they are.

    $$e_{ij} = s_i^\top h_j, \qquad \alpha_i = \text{softmax}(e_i), \qquad a_i = \sum_j \alpha_{ij} h_j$$

    Reference: Luong, Pham and Manning (2015), equation 8, "dot", arXiv:1508.04025.
    Differs: gives the context alone; `LuongAttention` adds the attentional vector.

    >>> import torch
    >>> layer = DotAttention()
    >>> layer(torch.zeros(1, 1, 2), layer.remember(torch.eye(2)[None]))
    tensor([[[0.5000, 0.5000]]])
    """

    def build_score(self) -> Dot:
        """Give the inner product: there is nothing to learn."""
        return DOT
