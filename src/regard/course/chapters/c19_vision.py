"""Chapter 19: channel and spatial attention."""

import torch
from torch import Tensor

from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import ChannelAttention, SpatialAttention
from regard.layers.vision.channel import Pooling


def _channel_gate(features: Tensor, first: Tensor, second: Tensor, pooling: tuple[Pooling, ...]) -> Tensor:
    layer = ChannelAttention(features.size(0), reduction=features.size(0) // len(first), pooling=pooling)
    with torch.no_grad():
        layer.squeeze.weight.copy_(first)
        layer.excite.weight.copy_(second)
        weights: Tensor = layer(features[None], return_weights=True).weights
    return weights[0]


def squeeze_and_excite(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Weigh the channels of an image by a gate that depends on all of it.

    The mean of each channel, `p` (channels,), passes `s = σ(W₂ relu(W₁ p))`, and each channel is multiplied by its `s`.
    `features` is (channels, height, width), `first` W₁ is (hidden, channels), `second` W₂ is (channels, hidden).
    """
    gate = _channel_gate(features, first, second, ("average",))
    return features * gate[:, None, None]


def _softmax_gate(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    gate = torch.softmax(second @ torch.relu(first @ features.mean((1, 2))), 0)
    return features * gate[:, None, None]


def _gate_alone(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return torch.sigmoid(second @ torch.relu(first @ features.mean((1, 2))))


def channel_gate(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Give the channel gate of CBAM, which pools twice.

    `s = σ(f(mean) + f(max))` with `f(p) = W₂ relu(W₁ p)`, where mean and max are those of each channel. Shapes are
    those of 19.1; the result is (channels,).
    """
    return _channel_gate(features, first, second, ("average", "max"))


def _sigmoid_of_each(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    pooled = features.mean((1, 2)), features.amax((1, 2))
    return sum((torch.sigmoid(second @ torch.relu(first @ one)) for one in pooled), torch.tensor(0.0))


def _mean_alone(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return _channel_gate(features, first, second, ("average",))


def _channel_cases() -> list[Case]:
    return [
        {
            "features": torch.randn(channels, 2, 3),
            "first": torch.randn(hidden, channels),
            "second": torch.randn(channels, hidden),
        }
        for channels, hidden in ((2, 1), (4, 2), (6, 3))
    ]


def spatial_gate(features: Tensor, kernel: Tensor) -> Tensor:
    """Give the spatial gate of CBAM: one number for each position.

    The mean and the max over the channels, in this order, are two pictures; `σ` of their convolution with `kernel`,
    (2, k, k) with k odd, padded with zeros so that the size stays. `features` is (channels, height, width), the result
    (height, width).
    """
    layer = SpatialAttention(kernel_size=kernel.size(-1), bias=False)
    with torch.no_grad():
        layer.convolution.weight.copy_(kernel[None])
        weights: Tensor = layer(features[None], return_weights=True).weights
    return weights[0]


def _max_first(features: Tensor, kernel: Tensor) -> Tensor:
    return spatial_gate(features, kernel.flip(0))


def _spatial_cases() -> list[Case]:
    return [
        {"features": torch.randn(channels, *shape), "kernel": torch.randn(2, size, size)}
        for channels, shape, size in ((2, (1, 2), 1), (2, (2, 2), 1), (3, (3, 4), 3))
    ]


EXERCISES = (
    Exercise(
        number="19.1",
        title="Squeeze and excite",
        reference=squeeze_and_excite,
        cases=_channel_cases,
        hints=("`features.mean((1, 2))` is (channels,).", "`gate[:, None, None]` multiplies whole channels."),
        mistakes=(
            Mistake(
                answer=_softmax_gate,
                reason="A softmax would let channels compete; a gate opens each by itself, so it is a sigmoid.",
            ),
            Mistake(answer=_gate_alone, reason="That is the gate; give the features multiplied by it."),
        ),
    ),
    Exercise(
        number="19.2",
        title="CBAM's channels",
        reference=channel_gate,
        cases=_channel_cases,
        hints=("Add before the sigmoid, not after.",),
        mistakes=(
            Mistake(answer=_sigmoid_of_each, reason="The sum must be inside the sigmoid: this gate goes up to 2."),
            Mistake(answer=_mean_alone, reason="That is the gate of 19.1: the max is left out."),
        ),
    ),
    Exercise(
        number="19.3",
        title="CBAM's positions",
        reference=spatial_gate,
        cases=_spatial_cases,
        hints=(
            "`torch.stack([features.mean(0), features.amax(0)])`, then `torch.nn.functional.conv2d` with padding k "
            "// 2.",
        ),
        mistakes=(Mistake(answer=_max_first, reason="The mean comes first, then the max."),),
    ),
)
