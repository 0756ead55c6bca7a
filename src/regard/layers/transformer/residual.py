"""What the two Transformer blocks share: the residual around each sublayer, and copies of torch's layers."""

from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError
from regard.layers.checks import check_choice
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.transformer.feed_forward import FeedForward

Norm = Literal["pre", "post"]
TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


class Residual(nn.Module):
    r"""Add the output of a sublayer to its input.

    $$\text{pre:}\ x + f(\text{norm}(x)) \qquad\qquad \text{post:}\ \text{norm}(x + f(x))$$

    The sublayer $f$ is called between `enter` and `leave`; dropout acts on its output.

    Reference: Vaswani et al. (2017), section 3.1, arXiv:1706.03762 (post); Xiong et al. (2020), table 1,
    arXiv:2002.04745 (pre, which trains without a warm-up).

    >>> residual = Residual(4, norm="pre")
    >>> x = torch.randn(2, 4)
    >>> torch.equal(residual.leave(x, torch.zeros(2, 4)), x)
    True
    """

    fusible: ClassVar[bool] = True

    def __init__(
        self, size: int, *, norm: Norm = "pre", dropout: float = 0.0, epsilon: float = 1e-5, bias: bool = True
    ) -> None:
        super().__init__()
        check_choice("norm", norm, get_args(Norm))
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout}.")
        self.kind: Norm = norm
        self.norm = nn.LayerNorm(size, eps=epsilon, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def enter(self, states: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch size"]:
        """Give the input of the sublayer."""
        inner: Tensor = self.norm(states) if self.kind == "pre" else states
        return inner

    def leave(self, states: Float[Tensor, "*batch size"], output: Float[Tensor, "..."]) -> Float[Tensor, "*batch size"]:
        """Add the output of the sublayer."""
        if output.shape != states.shape:
            raise ArgumentError(
                f"a sublayer must give back the shape of its input, {tuple(states.shape)}; received "
                f"{tuple(output.shape)}. Attention must mix values as wide as the block."
            )
        total: Tensor = states + self.dropout(output)
        return total if self.kind == "pre" else self.norm(total)

    def extra_repr(self) -> str:
        """Show where the norm is."""
        return repr(self.kind)


def width_of(feed_forward: nn.Module) -> int:
    """Give the width that a feed-forward layer states."""
    size = getattr(feed_forward, "size", None)
    if not isinstance(size, int):
        raise ArgumentError(
            f"`feed_forward` must say its width as an integer attribute `size`; received "
            f"{type(feed_forward).__name__} with {size}."
        )
    return size


def read_feed_forward(layer: TorchLayer) -> FeedForward:
    """Copy the feed-forward half of a torch layer."""
    activation = layer.activation
    relu = activation in (F.relu, torch.relu) or isinstance(activation, nn.ReLU)
    gelu = activation is F.gelu or (isinstance(activation, nn.GELU) and activation.approximate == "none")
    if not relu and not gelu:
        raise ArgumentError(f"`layer` must have the activation relu or gelu; received {activation}.")
    sizes = layer.linear1.in_features, layer.linear1.out_features
    feed_forward = FeedForward(*sizes, activation="relu" if relu else "gelu", dropout=layer.dropout.p)
    feed_forward.expand, feed_forward.contract = deepcopy(layer.linear1), deepcopy(layer.linear2)
    return feed_forward


def read_residuals(layer: TorchLayer, residuals: Sequence[Residual]) -> None:
    """Copy the norms of a torch layer."""
    for number, residual in enumerate(residuals, start=1):
        residual.norm = deepcopy(getattr(layer, f"norm{number}"))
        residual.dropout.p = getattr(layer, f"dropout{number}").p


def write_torch(layer: TorchLayer, feed_forward: FeedForward, residuals: Sequence[Residual]) -> None:
    """Copy our feed-forward half, norms and dropouts into a torch layer."""
    layer.linear1, layer.linear2 = deepcopy(feed_forward.expand), deepcopy(feed_forward.contract)
    layer.dropout.p = feed_forward.dropout.p
    for number, residual in enumerate(residuals, start=1):
        setattr(layer, f"norm{number}", deepcopy(residual.norm))
        getattr(layer, f"dropout{number}").p = residual.dropout.p


def torch_parts(attention: nn.Module, feed_forward: nn.Module) -> tuple[MultiHeadAttention, FeedForward]:
    """Give both as what torch's layers have, or raise."""
    if not isinstance(attention, MultiHeadAttention):
        raise ArgumentError(
            f"the attention of the block must be a MultiHeadAttention to become torch's; received "
            f"{type(attention).__name__}."
        )
    if not isinstance(feed_forward, FeedForward) or feed_forward.activation in ("swish", "swiglu"):
        result = feed_forward.activation if isinstance(feed_forward, FeedForward) else type(feed_forward).__name__
        raise ArgumentError(
            f'the feed-forward layer of the block must be a FeedForward with "relu" or "gelu" to become torch\'s; '
            f"received {result}."
        )
    return attention, feed_forward
