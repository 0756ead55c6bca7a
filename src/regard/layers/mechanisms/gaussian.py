"""Gaussian attention: kernel regression by Nadaraya and Watson, sixty years before the Transformer."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Gaussian, Normalizer
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX
from regard.layers.checks import check_positive
from regard.layers.mechanisms.single_head import SingleHeadAttention


class GaussianAttention(SingleHeadAttention):
    r"""Average the values of near keys.

    $$f(q) = \sum_j \frac{K(q - k_j)}{\sum_l K(q - k_l)} v_j, \qquad K(u) = \exp\left(-\lVert u \rVert^2 / 2\sigma^2
    \right)$$

    where $\sigma$, the `bandwidth`, says how far "near" reaches; it is learned through its logarithm, so that it stays
    positive. A wide kernel averages everything, a narrow one copies the nearest value. The quotient is a softmax of
    $-\lVert q - k_j \rVert^2 / 2\sigma^2$: attention, with nothing projected.

    Reference: Nadaraya (1964); Watson (1964).

    >>> layer = GaussianAttention(bandwidth=0.5)
    >>> x = torch.linspace(0, 3, 4).view(1, 4, 1)
    >>> layer(torch.tensor([[[1.0], [1.5]]]), layer.remember(x, x.square())).detach()
    tensor([[[1.2151], [2.5360]]])
    """

    def __init__(
        self,
        *,
        bandwidth: float = 1.0,
        learned: bool = True,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(normalize=normalize, dropout=dropout)
        check_positive("bandwidth", bandwidth)
        self.log_bandwidth = nn.Parameter(torch.tensor(math.log(bandwidth)), requires_grad=learned)

    @property
    def bandwidth(self) -> Float[Tensor, ""]:
        """How far "near" reaches: σ."""
        return self.log_bandwidth.exp()

    def build_score(self) -> Gaussian:
        """Give the score with the parameter it has now."""
        return Gaussian(self.bandwidth)

    def extra_repr(self) -> str:
        """Show the present bandwidth."""
        return f"bandwidth={float(self.bandwidth.detach()):.4g}, learned={self.log_bandwidth.requires_grad}"
