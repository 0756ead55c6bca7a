"""Small changes of training images that do not change their label: mirrored, moved by a few pixels."""

import numpy as np
from jaxtyping import UInt8


def augment(
    pixels: UInt8[np.ndarray, "images channels height width"],
    generator: np.random.Generator,
    *,
    flip: bool,
    shift: int,
) -> UInt8[np.ndarray, "images channels height width"]:
    """Mirror half of the images, and move each by up to `shift` pixels up, down, left or right.

    What a move uncovers is filled with the border's own pixels, mirrored, or black where the image is too small.

    Reference: Krizhevsky, Sutskever and Hinton (2012), section 4.1; He et al. (2016), section 4.2, arXiv:1512.03385.
    Differs: He et al. fill with zeros.

    >>> image = np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3)
    >>> augment(image, np.random.default_rng(0), flip=False, shift=0) is image
    True
    >>> augment(image, np.random.default_rng(0), flip=False, shift=1)[0, 0].tolist()
    [[3, 4, 5], [6, 7, 8], [3, 4, 5]]
    """
    count, _, height, width = pixels.shape
    if flip:
        mirrored = generator.random((count, 1, 1, 1)) < 0.5
        pixels = np.where(mirrored, pixels[..., ::-1], pixels)
    if not shift:
        return pixels
    margins = ((0, 0), (0, 0), (shift, shift), (shift, shift))
    padded = np.pad(pixels, margins, mode="reflect" if shift < min(height, width) else "constant")
    down, right = generator.integers(0, 2 * shift + 1, size=(2, count))
    moved = np.empty_like(pixels)
    for number in range(count):
        top, left = down[number], right[number]
        moved[number] = padded[number, :, top : top + height, left : left + width]
    return moved
