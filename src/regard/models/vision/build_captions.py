"""From a spec to a model that describes pictures."""

from torch import nn

from regard.config.vision import CaptionSpec
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.models.embedding import TokenEmbedding
from regard.models.vision.build_questions import build_attending_block, build_image_positions
from regard.models.vision.captions import CaptionModel


def build_caption_model(spec: CaptionSpec, *, vocabulary_size: int, image_size: int) -> CaptionModel:
    """Make a model with fresh parameters, for square pictures in three colors.

    >>> import torch
    >>> model = build_caption_model(CaptionSpec(), vocabulary_size=20, image_size=64)
    >>> model(torch.rand(2, 3, 64, 64), torch.ones(2, 5, dtype=torch.long)).shape
    torch.Size([2, 5, 20])
    """
    target = TokenEmbedding(
        vocabulary_size, spec.size, scaled=True, positions=SinusoidalPositions(spec.size), dropout=spec.dropout
    )
    nn.init.normal_(target.table.weight, std=spec.size**-0.5)
    model = CaptionModel(
        positions=build_image_positions(spec.image, size=spec.size, image_size=image_size),
        target=target,
        decoder=[
            build_attending_block(spec.size, spec.num_heads, spec.feed_forward_size, dropout=spec.dropout)
            for _ in range(spec.num_layers)
        ],
        vocabulary_size=vocabulary_size,
        image_size=image_size,
    )
    nn.init.xavier_uniform_(model.output.weight)
    nn.init.zeros_(model.output.bias)
    return model
