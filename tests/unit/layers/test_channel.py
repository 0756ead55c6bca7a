import re

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers.vision.channel import ChannelAttention


def excite(layer, vector):
    hidden = torch.relu(layer.squeeze.weight @ vector)
    return layer.excite.weight @ hidden


@pytest.mark.parametrize("pooling", [("average",), ("average", "max"), ("max",)])
def test_it_is_the_papers_gate_channel_by_channel(pooling):
    """Hu et al., equations 2 to 4, and Woo et al., equation 2."""
    layer = ChannelAttention(6, reduction=2, pooling=pooling).double()
    image = torch.randn(3, 6, 4, 5).double()
    features, weights = layer(image, return_weights=True)
    for b in range(3):
        score = torch.zeros(6).double()
        if "average" in pooling:
            score = score + excite(layer, torch.stack([image[b, c].sum() / 20 for c in range(6)]))
        if "max" in pooling:
            score = score + excite(layer, torch.stack([image[b, c].max() for c in range(6)]))
        torch.testing.assert_close(weights[b], 1 / (1 + torch.exp(-score)))
        for c in range(6):
            torch.testing.assert_close(features[b, c], image[b, c] * weights[b, c])
    assert torch.equal(layer(image), features)


def test_the_average_is_squeeze_and_excitation_as_convolutions_write_it():
    layer = ChannelAttention(8, reduction=4, bias=True)
    image = torch.randn(2, 8, 5, 5)
    pooled = torch.nn.functional.adaptive_avg_pool2d(image, 1)
    hidden = torch.conv2d(pooled, layer.squeeze.weight[..., None, None], layer.squeeze.bias).relu()
    gate = torch.conv2d(hidden, layer.excite.weight[..., None, None], layer.excite.bias).sigmoid()
    torch.testing.assert_close(layer(image), image * gate)


def test_any_grid_will_do():
    layer = ChannelAttention(4, reduction=2)
    sound = torch.randn(2, 4, 9)
    torch.testing.assert_close(layer(sound), layer(sound.unsqueeze(-1)).squeeze(-1))


def test_parameter_names():
    assert list(ChannelAttention(4, reduction=2).state_dict()) == ["squeeze.weight", "excite.weight"]
    assert ChannelAttention(64).squeeze.out_features == 4


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ChannelAttention(8), "`reduction` must be from 1 to the number of channels, 8; received 16."),
        (lambda: ChannelAttention(8, reduction=0), "channels, 8; received 0."),
        (
            lambda: ChannelAttention(8, reduction=2, pooling=("mean",)),
            '`pooling` must be one of average, max; received "mean". Choose one of average, max.',
        ),
        (lambda: ChannelAttention(8, reduction=2, pooling=()), "`pooling` must name at least one"),
        (
            lambda: ChannelAttention(8, reduction=2)(torch.zeros(2, 6, 3, 3)),
            "`features` must have shape (batch, channels, height, width) with 8 channels; received (2, 6, 3, 3).",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
