"""Gaussian attention: kernel regression by Nadaraya and Watson, sixty years before the Transformer."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Gaussian, Mask, Normalizer, Padding
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.checks import check_positive
from regard.layers.memory import Memory, check_memory


class GaussianAttention(nn.Module):
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
        super().__init__()
        check_positive("bandwidth", bandwidth)
        self.log_bandwidth = nn.Parameter(torch.tensor(math.log(bandwidth)), requires_grad=learned)
        self.attend = Attend(normalize=normalize, dropout=dropout)

    @property
    def bandwidth(self) -> Float[Tensor, ""]:
        """How far "near" reaches: σ."""
        return self.log_bandwidth.exp()

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Keep keys and values as they are: distances are taken where they stand."""
        return Memory.of(key, key if value is None else value, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query key_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Average the memory's values around each query."""
        check_memory(memory)
        attended: Tensor | Attended = self.attend(
            query,
            memory.key,
            memory.value,
            score=Gaussian(self.bandwidth),
            mask=memory.allowed(mask, query.size(1)),
            return_weights=return_weights,
        )
        return attended

    def extra_repr(self) -> str:
        """Show the present bandwidth."""
        return f"bandwidth={float(self.bandwidth.detach()):.4g}, learned={self.log_bandwidth.requires_grad}"
