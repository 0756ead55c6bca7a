"""From a spec to a network that reads images: one `match` over the kinds."""

from typing import TypeAlias, assert_never

from regard.config.vision import ImageEncoderSpec, ResidualSpec, VisionTransformerSpec
from regard.models.vision.patch_transformer import VisionTransformer
from regard.models.vision.residual import ResidualNetwork

ImageEncoder: TypeAlias = ResidualNetwork | VisionTransformer


def build_image_encoder(
    spec: ImageEncoderSpec, *, image_size: int | tuple[int, int], channels: int = 3, num_labels: int = 0
) -> ImageEncoder:
    """Make a network with fresh parameters for images of that height and width.

    It has `features(image)`, `size`, their width, and, with `num_labels`, gives logits when called.

    >>> import torch
    >>> encoder = build_image_encoder(ResidualSpec(widths=(4, 8), reduction=2), image_size=16, channels=1)
    >>> encoder.features(torch.rand(1, 1, 16, 16)).grid, encoder.size
    ((8, 8), 8)
    """
    match spec:
        case ResidualSpec():
            return ResidualNetwork(
                spec.widths,
                num_blocks=spec.num_blocks,
                channels=channels,
                num_labels=num_labels,
                attention=spec.attention,
                reduction=spec.reduction,
                dropout=spec.dropout,
            )
        case VisionTransformerSpec():
            return VisionTransformer(
                (image_size, image_size) if isinstance(image_size, int) else image_size,
                patch_size=spec.patch_size,
                channels=channels,
                size=spec.size,
                num_layers=spec.num_layers,
                num_heads=spec.num_heads,
                feed_forward_size=spec.feed_forward_size,
                dropout=spec.dropout,
                num_labels=num_labels,
            )
        case _:
            assert_never(spec)
