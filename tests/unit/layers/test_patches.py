import re

import pytest
import torch

from regard import attention
from regard.errors import ArgumentError
from regard.layers.vision.patches import PatchEmbedding


@pytest.mark.parametrize("patch_size", [2, (2, 3)])
def test_it_projects_each_patch_row_by_row(patch_size):
    """Dosovitskiy et al., equation 1, one patch at a time."""
    layer = PatchEmbedding(patch_size, channels=3, size=5).double()
    image = torch.randn(2, 3, 4, 6).double()
    height, width = layer.patch_size
    embedding, grid = layer(image)
    assert grid == (4 // height, 6 // width)
    for row in range(grid[0]):
        for column in range(grid[1]):
            patch = image[:, :, row * height : (row + 1) * height, column * width : (column + 1) * width]
            expected = patch.reshape(2, -1) @ layer.projection.weight.mT + layer.projection.bias
            torch.testing.assert_close(embedding[:, row * grid[1] + column], expected)


def test_it_is_a_convolution_with_stride():
    layer = PatchEmbedding(4, channels=3, size=8)
    image = torch.randn(2, 3, 8, 12)
    kernel = layer.projection.weight.view(8, 3, 4, 4)
    maps = torch.conv2d(image, kernel, layer.projection.bias, stride=4)
    torch.testing.assert_close(layer(image).embedding, maps.flatten(2).mT)


def test_text_attends_to_an_image_and_the_weights_lie_on_it():
    embedding, grid = PatchEmbedding(4, channels=3, size=8)(torch.randn(2, 3, 8, 12))
    attended = attention(torch.randn(2, 5, 8), embedding, return_weights=True)
    assert attended.weights.unflatten(-1, grid).shape == (2, 5, 2, 3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PatchEmbedding(0, 3, 8), "`patch_size` must be at least 1; received 0."),
        (lambda: PatchEmbedding(4, 0, 8), "`channels` must be at least 1; received 0."),
        (
            lambda: PatchEmbedding((4, 5), 3, 8)(torch.zeros(1, 3, 8, 12)),
            "`image` must have shape (batch, 3, height, width) with a height that 4 divides and a width that 5 "
            "divides; received (1, 3, 8, 12). Pad or resize it, or change `patch_size`.",
        ),
        (lambda: PatchEmbedding(4, 3, 8)(torch.zeros(3, 8, 12)), "received (3, 8, 12)."),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
