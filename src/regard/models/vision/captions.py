"""Captions: a Transformer's decoder that attends to the positions of a picture, one map for each word."""

from collections.abc import Iterable

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.prediction import Read
from regard.models.sequence.transformer import TransformerDecoder
from regard.models.sequence.transformer_state import TransformerMemory
from regard.models.vision.image_positions import ImagePositions


class CaptionModel(TransformerDecoder):
    r"""Read a picture once, then describe it word by word.

    $$p(y_i \mid y_{<i}, x) = \text{softmax}(W_o\, \text{decoder}(y_{<i}, m(x)))$$

    where $m(x)$ are the positions of the picture. Follows `GeneratingModel`, so that every search serves it: there, a
    source is a row of integers, and here those are the picture's bytes, as `as_source` lays them out. The weights of a
    step are (rows, layers, heads, new, positions).

    Reference: Xu et al. (2015), section 3, arXiv:1502.03044 (a map for each word); Vaswani et al. (2017), section 3.1,
    arXiv:1706.03762 (the decoder).
    Differs: Xu et al. generate words with an LSTM.
    """

    def __init__(
        self,
        *,
        positions: ImagePositions,
        target: TokenEmbedding,
        decoder: Iterable[TransformerDecoderBlock],
        vocabulary_size: int,
        image_size: int,
    ) -> None:
        super().__init__()
        size = target.table.embedding_dim
        self.places = positions  # under this name in saved models
        self.target = target
        self.decoder = nn.ModuleList(decoder)
        self.decoder_norm = nn.LayerNorm(size)
        self.output = nn.Linear(size, vocabulary_size)
        self.image_size = image_size

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None
    ) -> TransformerMemory:
        """Read pictures that `as_source` laid out; all of them count, whatever `lengths` says."""
        expected = 3 * self.image_size**2
        if source.ndim != 2 or source.size(1) != expected:
            raise ArgumentError(
                f"`source` must have a row of 3 × {self.image_size} × {self.image_size} = {expected} bytes for each "
                f"picture; received shape {tuple(source.shape)}. Resize the pictures."
            )
        return self.see(source.unflatten(1, (3, self.image_size, self.image_size)).float() / 255)

    def see(self, image: Float[Tensor, "batch channels height width"]) -> TransformerMemory:
        """Read pictures with colors from 0 to 1, and project their positions for each block."""
        features = self.places(image).features
        return TransformerMemory(tuple(block.remember(features) for block in self._decoder()))

    def read(
        self,
        image: Float[Tensor, "batch channels height width"],
        target: Int[Tensor, "batch target"],
        *,
        weights: bool = False,
    ) -> Read:
        """Read whole captions along their pictures, up to the output matrix: `target` starts with `<s>`."""
        return self.read_along(self.see(image), target, weights=weights)

    def forward(
        self, image: Float[Tensor, "batch channels height width"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Give the logits of the word after each target token, for training."""
        logits: Tensor = self.output(self.read(image, target).features)
        return logits


def as_source(pixels: UInt8[Tensor, "batch channels height width"]) -> Int[Tensor, "batch source"]:
    """Lay pictures out as search wants its sources: a row of integers each.

    >>> as_source(torch.zeros(2, 3, 4, 4, dtype=torch.uint8)).shape
    torch.Size([2, 48])
    """
    return pixels.flatten(1).to(torch.int16)
