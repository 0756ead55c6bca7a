"""An image as a sequence: cut into patches, each of them a word that text can attend to."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_size


class Patches(NamedTuple):
    """An image as a sequence of patches, row by row."""

    embedding: Tensor
    """(batch, rows · columns, size)."""
    grid: tuple[int, int]
    """How many rows and columns of patches; weights over the patches, reshaped so, lie on the image again."""


class PatchEmbedding(nn.Module):
    r"""Cut an image into square patches, without overlap, and project each, laid out as one vector, to `size`.

    $$z_n = E\, \text{flatten}(x_n) + b, \qquad n = 1 \dots HW / P^2$$

    where $x_n$ is a patch of $P \times P$ pixels in `channels` colors, and $E$ is the weight of `projection`.

    Reference: Dosovitskiy et al. (2021), equation 1, arXiv:2010.11929.
    Differs: positions and the class token are added by whoever wants them.

    >>> import torch
    >>> embedding, grid = PatchEmbedding(8, channels=3, size=16)(torch.randn(2, 3, 24, 32))
    >>> embedding.shape, grid
    (torch.Size([2, 12, 16]), (3, 4))
    """

    def __init__(self, patch_size: int | tuple[int, int], channels: int, size: int) -> None:
        super().__init__()
        height, width = (patch_size, patch_size) if isinstance(patch_size, int) else patch_size
        for name, number in (("patch_size", min(height, width)), ("channels", channels), ("size", size)):
            check_size(name, number)
        self.patch_size = (height, width)
        self.channels = channels
        self.projection = nn.Linear(channels * height * width, size)

    def forward(self, image: Float[Tensor, "batch channels height width"]) -> Patches:
        """Cut, lay out and project."""
        height, width = self.patch_size
        if image.ndim != 4 or image.size(1) != self.channels or image.size(2) % height or image.size(3) % width:
            raise ArgumentError(
                f"`image` must have shape (batch, {self.channels}, height, width) with a height that {height} divides "
                f"and a width that {width} divides; received {tuple(image.shape)}. Pad or resize it, or change "
                "`patch_size`."
            )
        patches = image.unflatten(3, (-1, width)).unflatten(2, (-1, height))  # batch channels row y column x
        rows, columns = patches.size(2), patches.size(4)
        patches = patches.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)  # batch patch channels·y·x
        return Patches(self.projection(patches), (rows, columns))

    def extra_repr(self) -> str:
        """Show the patch."""
        return f"patch_size={self.patch_size}, channels={self.channels}"
