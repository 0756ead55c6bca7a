"""From plain values to an aligner."""

from regard.config.align import MaskAlignSpec
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.transformer.memory_block import TransformerMemoryBlock
from regard.models.alignment.mask_align import MaskAligner, MaskedPredictor
from regard.models.dropout import quicken
from regard.models.embedding import TokenEmbedding
from regard.models.initialize import initialize_transformer


def build_aligner(spec: MaskAlignSpec, *, source_vocabulary: int, target_vocabulary: int) -> MaskAligner:
    """Build what `spec` describes, for so many tokens of each side, with parameters drawn from torch's generator.

    >>> model = build_aligner(MaskAlignSpec(size=16, num_heads=2), source_vocabulary=50, target_vocabulary=60)
    >>> model.to_target.output.out_features, model.to_source.output.out_features
    (60, 50)
    """
    source, target = (_embedding(spec, size) for size in (source_vocabulary, target_vocabulary))
    model = MaskAligner(_predictor(spec, source, target), _predictor(spec, target, source))
    for part in (model.to_target, model.to_source):
        initialize_transformer(part)
        part.output.weight = part.target.table.weight
    quicken(model)
    return model


def _embedding(spec: MaskAlignSpec, vocabulary: int) -> TokenEmbedding:
    return TokenEmbedding(
        vocabulary, spec.size, scaled=True, positions=SinusoidalPositions(spec.size), dropout=spec.dropout
    )


def _predictor(spec: MaskAlignSpec, source: TokenEmbedding, target: TokenEmbedding) -> MaskedPredictor:
    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(spec.size, spec.num_heads)

    def feed_forward() -> FeedForward:
        return FeedForward(spec.size, spec.feed_forward_size, activation=spec.activation)

    encoder = [
        TransformerEncoderBlock(attention(), feed_forward(), norm=spec.norm, dropout=spec.dropout)
        for _ in range(spec.num_encoder_layers)
    ]
    decoder = [
        TransformerMemoryBlock(
            [attention() for _ in range(attentions)], feed_forward(), norm=spec.norm, dropout=spec.dropout
        )
        for attentions in (*(1,) * (spec.num_decoder_layers - 1), 2)
    ]
    return MaskedPredictor(
        source=source, encoder=encoder, target=target, decoder=decoder, final_norm=spec.norm == "pre"
    )
