"""Scores with parameters of their own, one set per head: what `MultiHeadAttention` compares by.

Called without arguments, each gives the operator's score with the parameters it has now.
"""

import math
from abc import ABC, abstractmethod

import torch
from torch import nn

from regard.attention import Additive, Bilinear, Cosine, Gaussian, Score
from regard.layers.checks import check_positive, check_size


class LearnedScore(nn.Module, ABC):
    """Owns the parameters of a score."""

    @abstractmethod
    def forward(self) -> Score:
        """Give the score."""


class LearnedAdditive(LearnedScore):
    r"""Compare through a tanh layer, with a vector per head.

    $$e_{hij} = v_h^\top \tanh(q_{hi} + k_{hj})$$

    where $v_h$ is a row of `vector`, (num_heads, size).

    Reference: Bahdanau, Cho and Bengio (2015), appendix A.1.2, arXiv:1409.0473.
    Differs: $W_a$ and $U_a$ are the query and key maps of the layer that uses it.

    >>> LearnedAdditive(4, num_heads=2)().vector.shape
    torch.Size([2, 4])
    """

    def __init__(self, size: int, *, num_heads: int) -> None:
        super().__init__()
        check_size("size", size)
        check_size("num_heads", num_heads)
        self.vector = nn.Parameter(torch.empty(num_heads, size))
        nn.init.uniform_(self.vector, -(size**-0.5), size**-0.5)

    def forward(self) -> Additive:
        """Give the score."""
        return Additive(self.vector)


class LearnedBilinear(LearnedScore):
    r"""Compare through a matrix per head.

    $$e_{hij} = q_{hi}^\top M_h k_{hj}$$

    where $M_h$ is `matrix[h]`, (query_size, key_size).

    Reference: Luong, Pham and Manning (2015), section 3.1, "general", arXiv:1508.04025.

    >>> LearnedBilinear(4, 4, num_heads=2)().matrix.shape
    torch.Size([2, 4, 4])
    """

    def __init__(self, query_size: int, key_size: int, *, num_heads: int) -> None:
        super().__init__()
        for name, size in (("query_size", query_size), ("key_size", key_size), ("num_heads", num_heads)):
            check_size(name, size)
        self.matrix = nn.Parameter(torch.empty(num_heads, query_size, key_size))
        for matrix in self.matrix:
            nn.init.xavier_uniform_(matrix)

    def forward(self) -> Bilinear:
        """Give the score."""
        return Bilinear(self.matrix)


class LearnedGaussian(LearnedScore):
    r"""Prefer near keys, each head with a bandwidth of its own.

    $$e_{hij} = -\lVert q_{hi} - k_{hj} \rVert^2 / 2\sigma_h^2$$

    where $\log \sigma_h$ is `log_bandwidth[h]`.

    Reference: Nadaraya (1964); Watson (1964).

    >>> LearnedGaussian(num_heads=2)().bandwidth.shape
    torch.Size([2, 1, 1])
    """

    def __init__(self, *, num_heads: int, bandwidth: float = 1.0) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        check_positive("bandwidth", bandwidth)
        self.log_bandwidth = nn.Parameter(torch.full((num_heads, 1, 1), math.log(bandwidth)))

    def forward(self) -> Gaussian:
        """Give the score."""
        return Gaussian(self.log_bandwidth.exp())


class LearnedCosine(LearnedScore):
    r"""Compare directions, each head with a temperature of its own.

    $$e_{hij} = \cos(q_{hi}, k_{hj}) / \tau_h$$

    where $\log \tau_h$ is `log_temperature[h]`.

    Reference: Liu et al. (2022), equation 2, arXiv:2111.09883; Henry et al. (2020), section 3, arXiv:2010.04245, where
    $1/\tau$ is called $g$ and shared by the heads.

    >>> LearnedCosine(num_heads=2)().temperature.shape
    torch.Size([2, 1, 1])
    """

    def __init__(self, *, num_heads: int, temperature: float = 0.1) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        check_positive("temperature", temperature)
        self.log_temperature = nn.Parameter(torch.full((num_heads, 1, 1), math.log(temperature)))

    def forward(self) -> Cosine:
        """Give the score."""
        return Cosine(self.log_temperature.exp())
