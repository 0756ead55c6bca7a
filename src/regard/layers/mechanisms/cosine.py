"""Cosine attention: what points the same way belongs together, however long."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Cosine, Normalizer
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX
from regard.layers.checks import check_positive
from regard.layers.mechanisms.single_head import SingleHeadAttention


class CosineAttention(SingleHeadAttention):
    r"""Address memory by content: compare directions, sharpened by a learned temperature.

    $$e_{ij} = \cos(q_i, k_j) / \tau, \qquad \alpha_i = \text{softmax}(e_i), \qquad c_i = \sum_j \alpha_{ij} v_j$$

    where $\tau$ is `temperature`, learned through its logarithm, so that it stays positive. A cosine is at most one:
    without a small $\tau$ no weight could be much larger than another.

    Reference: Graves, Wayne and Danihelka (2014), equations 5 and 6, arXiv:1410.5401.
    Differs: there the sharpness $\beta = 1/\tau$ comes from the controller at each step; here it is one parameter.

    >>> layer = CosineAttention(temperature=0.1)
    >>> key = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]])
    >>> layer(torch.tensor([[[0.0, 7.0]]]), layer.remember(key)).detach().round(decimals=3)
    tensor([[[0., 1.]]])
    """

    def __init__(
        self,
        *,
        temperature: float = 1.0,
        learned: bool = True,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(normalize=normalize, dropout=dropout)
        check_positive("temperature", temperature)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)), requires_grad=learned)

    @property
    def temperature(self) -> Float[Tensor, ""]:
        """How even the weights are: τ."""
        return self.log_temperature.exp()

    def build_score(self) -> Cosine:
        """Give the score with the parameter it has now."""
        return Cosine(self.temperature)

    def extra_repr(self) -> str:
        """Show the present temperature."""
        return f"temperature={float(self.temperature.detach()):.4g}, learned={self.log_temperature.requires_grad}"
