"""Additive attention: the first, by Bahdanau, Cho and Bengio."""

from typing import ClassVar, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Additive, Normalizer, Padding
from regard.attention.normalize import NormalizeFunction
from regard.attention.score import Activation
from regard.layers.attend import SOFTMAX
from regard.layers.checks import check_choice, check_size, check_width
from regard.layers.mechanisms.single_head import SingleHeadAttention
from regard.layers.memory import Memory, blank_padding


class AdditiveAttention(SingleHeadAttention):
    r"""Compare a state with every memory through one hidden layer.

    $$e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j), \qquad \alpha_i = \text{softmax}(e_i), \qquad
    c_i = \sum_j \alpha_{ij} h_j$$

    where $s$ is `query`, $h$ the memory, $W_a$ is `query.weight`, $U_a$ is `key.weight` and $v_a$ is `vector`.
    $U_a h_j$ does not depend on $i$: `remember` computes it once per source.

    With `activation="identity"` the tanh is left out, as some lectures print the score: then
    $e_{ij} = v_a^\top W_a s_{i-1} + v_a^\top U_a h_j$, whose first term is the same for every $j$. The softmax drops
    it, so the weights are the same for every query, and $W_a$ gets no gradient. It is here to be compared with.

    Reference: Bahdanau, Cho and Bengio (2015), section 3.1 and appendix A.1.2, arXiv:1409.0473.
    Differs: parameters are drawn as Glorot and Bengio (2010) do; `reset_as_printed` draws them as appendix B.1 does.

    >>> layer = AdditiveAttention(query_size=4, key_size=6, hidden_size=8)
    >>> memory = layer.remember(torch.zeros(2, 5, 6), mask=Padding(torch.tensor([5, 3])))
    >>> context, weights, _ = layer(torch.zeros(2, 1, 4), memory, return_weights=True)
    >>> context.shape
    torch.Size([2, 1, 6])
    >>> weights[1]
    tensor([[0.3333, 0.3333, 0.3333, 0.0000, 0.0000]], grad_fn=...)
    >>> linear = AdditiveAttention(4, 6, 8, activation="identity")
    >>> weights = linear(torch.randn(1, 2, 4), linear.remember(torch.randn(1, 5, 6)), return_weights=True).weights
    >>> torch.allclose(weights[0, 0], weights[0, 1])
    True
    """

    fusible: ClassVar[bool] = True

    def __init__(
        self,
        query_size: int,
        key_size: int,
        hidden_size: int,
        *,
        activation: Activation = "tanh",
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(query_size, key_size, normalize=normalize, dropout=dropout)
        check_size("hidden_size", hidden_size)
        check_choice("activation", activation, get_args(Activation))
        self.activation: Activation = activation
        self.query = nn.Linear(query_size, hidden_size, bias=False)
        self.key = nn.Linear(key_size, hidden_size, bias=False)
        self.vector = nn.Parameter(torch.empty(hidden_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw every parameter so that scores start near one in size."""
        nn.init.xavier_uniform_(self.query.weight)
        nn.init.xavier_uniform_(self.key.weight)
        nn.init.uniform_(self.vector, -(self.vector.numel() ** -0.5), self.vector.numel() ** -0.5)

    def reset_as_printed(self) -> None:
        """Draw W_a and U_a from N(0, 0.001²) and set v_a to zero, as appendix B.1 does: all weights start equal."""
        nn.init.normal_(self.query.weight, std=0.001)
        nn.init.normal_(self.key.weight, std=0.001)
        nn.init.zeros_(self.vector)

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Project the keys once. The values, by default the keys as they were, are mixed unprojected."""
        check_width("key", key, self.key.in_features)
        key, value = blank_padding(mask, key, value)
        return Memory.of(self.key(key), value, mask, clean=True)

    def project_query(self, query: Float[Tensor, "batch query query_size"]) -> Float[Tensor, "batch query hidden_size"]:
        """Give W_a s for every query."""
        return self.query(query)  # type: ignore[no-any-return]

    def build_score(self) -> Additive:
        """Give the score with the vector it has now."""
        return Additive(self.vector, self.activation)

    def extra_repr(self) -> str:
        """Show that the tanh is left out, where it is."""
        return "" if self.activation == "tanh" else f"activation={self.activation!r}"
