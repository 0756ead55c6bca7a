"""From a spec to a network that answers questions about pictures."""

from typing import assert_never

import torch
from torch import nn

from regard.config.vision import ImageEncoderSpec, QuestionSpec
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.hypotheses import CrossAttention
from regard.models.vision.build import build_image_encoder
from regard.models.vision.image_positions import ImagePositions, MemoryKind
from regard.models.vision.questions import AttentiveWords, QuestionNetwork, RecurrentWords


def build_question_network(
    spec: QuestionSpec, *, vocabulary_size: int, num_answers: int, image_size: int
) -> QuestionNetwork:
    """Make a network with fresh parameters, for square pictures in three colors.

    >>> network = build_question_network(QuestionSpec(), vocabulary_size=20, num_answers=5, image_size=64)
    >>> network(torch.rand(2, 3, 64, 64), torch.ones(2, 4, dtype=torch.long), torch.tensor([4, 3])).logits.shape
    torch.Size([2, 5])
    """
    positions = SinusoidalPositions(spec.size) if spec.reader == "transformer" else None
    embedding = TokenEmbedding(vocabulary_size, spec.size, positions=positions, dropout=spec.dropout)
    nn.init.normal_(embedding.table.weight, std=0.5)
    return QuestionNetwork(
        positions=build_image_positions(spec.image, size=spec.size, image_size=image_size, kind=spec.attention),
        embedding=embedding,
        words=_reader(spec),
        blocks=[
            build_attending_block(spec.size, spec.num_heads, spec.feed_forward_size, dropout=spec.dropout)
            for _ in range(spec.num_layers)
        ],
        num_answers=num_answers,
        dropout=spec.dropout,
    )


def build_image_positions(
    spec: ImageEncoderSpec, *, size: int, image_size: int, kind: MemoryKind = "positions"
) -> ImagePositions:
    """Make the encoder of a picture into positions; their number comes from encoding an empty one."""
    encoder = build_image_encoder(spec, image_size=image_size, channels=3).eval()
    with torch.no_grad():
        grid = encoder.features(torch.zeros(1, 3, image_size, image_size)).grid
    image_positions = ImagePositions(encoder.train(), size=size, grid=grid, kind=kind)
    for vectors in (
        image_positions.rows,
        image_positions.columns,
    ):  # beside features of unit variance, smaller ones have no effect
        nn.init.normal_(vectors.table, std=0.5)
    return image_positions


def build_attending_block(size: int, num_heads: int, hidden_size: int, *, dropout: float) -> TransformerDecoderBlock:
    """Make a block of self-attention over words, attention over a picture, and feed-forward."""
    return TransformerDecoderBlock(
        MultiHeadAttention(size, num_heads),
        CrossAttention(size, num_heads),
        FeedForward(size, hidden_size, activation="gelu", dropout=dropout),
        dropout=dropout,
    )


def _reader(spec: QuestionSpec) -> RecurrentWords | AttentiveWords:
    match spec.reader:
        case "gru":
            return RecurrentWords(spec.size)
        case "transformer":
            feed_forward = FeedForward(spec.size, spec.feed_forward_size, activation="gelu", dropout=spec.dropout)
            attention = MultiHeadAttention(spec.size, spec.num_heads)
            return AttentiveWords([TransformerEncoderBlock(attention, feed_forward, dropout=spec.dropout)])
        case _:
            assert_never(spec.reader)
