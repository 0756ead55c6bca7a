"""The other half of a Transformer block: each position by itself, through a wider hidden layer."""

from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError
from regard.layers.checks import check_choice, check_size

Activation = Literal["relu", "gelu", "swish", "swiglu"]


class FeedForward(nn.Module):
    r"""Expand each position, bend it, and contract it again.

    $$\text{relu, gelu, swish:}\ W_2\, \phi(W_1 x + b_1) + b_2, \qquad
    \text{swiglu:}\ W_2 (\text{swish}(W_1 x) \circ V x)$$

    where $W_1$ is `expand`, $V$ is `gate` and $W_2$ is `contract`. Biases are there or not as the paper has them,
    unless `bias` says otherwise. Dropout acts on the hidden layer.

    Reference: Vaswani et al. (2017), equation 2, arXiv:1706.03762 (relu); Hendrycks and Gimpel (2016), section 2,
    arXiv:1606.08415 (gelu, by the error function); Ramachandran, Zoph and Le (2017), equation 1, arXiv:1710.05941
    (swish); Shazeer (2020), equation 6, arXiv:2002.05202 (swiglu).

    >>> FeedForward(8, 32, activation="swiglu")(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    fusible: ClassVar[bool] = True

    def __init__(
        self,
        size: int,
        hidden_size: int,
        *,
        activation: Activation = "relu",
        dropout: float = 0.0,
        bias: bool | None = None,
    ) -> None:
        super().__init__()
        check_size("size", size)
        check_size("hidden_size", hidden_size)
        check_choice("activation", activation, get_args(Activation))
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout}.")
        bias = activation != "swiglu" if bias is None else bias
        self.size = size
        self.activation: Activation = activation
        self.expand = nn.Linear(size, hidden_size, bias=bias)
        self.gate = nn.Linear(size, hidden_size, bias=bias) if activation == "swiglu" else None
        self.contract = nn.Linear(hidden_size, size, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch size"]:
        """Map each position by itself."""
        if states.size(-1) != self.size:
            raise ArgumentError(f"`states` must be {self.size} wide; received {states.size(-1)}.")
        hidden = self.expand(states)
        if self.gate is not None:
            hidden = F.silu(hidden) * self.gate(states)
        else:
            hidden = {"relu": torch.relu, "gelu": F.gelu, "swish": F.silu}[self.activation](hidden)
        return self.contract(self.dropout(hidden))  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """Show the activation."""
        return f"activation={self.activation!r}"
