"""Cosine attention: what points the same way belongs together, however long."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Cosine, Mask, Normalizer, Padding
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.checks import check_positive
from regard.layers.memory import Memory, check_memory


class CosineAttention(nn.Module):
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
        super().__init__()
        check_positive("temperature", temperature)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)), requires_grad=learned)
        self.attend = Attend(normalize=normalize, dropout=dropout)

    @property
    def temperature(self) -> Float[Tensor, ""]:
        """How even the weights are: τ."""
        return self.log_temperature.exp()

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Keep keys and values as they are."""
        return Memory.of(key, key if value is None else value, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query key_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Look at the memory once for each query."""
        check_memory(memory)
        attended: Tensor | Attended = self.attend(
            query,
            memory.key,
            memory.value,
            score=Cosine(self.temperature),
            mask=memory.allowed(mask, query.size(1)),
            return_weights=return_weights,
        )
        return attended

    def extra_repr(self) -> str:
        """Show the present temperature."""
        return f"temperature={float(self.temperature.detach()):.4g}, learned={self.log_temperature.requires_grad}"
