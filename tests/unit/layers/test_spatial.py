import re

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers.vision.spatial import SpatialAttention


@pytest.mark.parametrize("kernel_size", [1, 3, 7])
def test_it_is_the_papers_gate_place_by_place(kernel_size):
    """Woo et al., equation 3, the convolution written out."""
    layer = SpatialAttention(kernel_size=kernel_size).double()
    image = torch.randn(2, 3, 4, 5).double()
    features, weights = layer(image, return_weights=True)
    kernel, reach = layer.convolution.weight[0], kernel_size // 2
    for b in range(2):
        for y in range(4):
            for x in range(5):
                score = torch.zeros(()).double()
                for v in range(max(0, y - reach), min(4, y + reach + 1)):
                    for u in range(max(0, x - reach), min(5, x + reach + 1)):
                        pixel = image[b, :, v, u]
                        at = (v - y + reach, u - x + reach)
                        score = score + kernel[0][at] * pixel.mean() + kernel[1][at] * pixel.max()
                torch.testing.assert_close(weights[b, y, x], torch.sigmoid(score))
                torch.testing.assert_close(features[b, :, y, x], image[b, :, y, x] * weights[b, y, x])
    assert torch.equal(layer(image), features)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SpatialAttention(kernel_size=4), "`kernel_size` must be odd, so that it has a center; received 4."),
        (
            lambda: SpatialAttention()(torch.zeros(2, 6, 3)),
            "`features` must have four axes, (batch, channels, height, width); received (2, 6, 3).",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
