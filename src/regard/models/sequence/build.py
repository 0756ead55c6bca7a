"""From plain values to a model: the only module where a config becomes modules."""

from typing import assert_never

from torch import nn

from regard.attention import Dot, Entmax, Normalizer, ScaledDot, Score, Sigmoid, Softmax, Sparsemax
from regard.config.attention import (
    AdditiveSpec,
    BilinearSpec,
    CosineSpec,
    DotSpec,
    FixedVectorSpec,
    GaussianSpec,
    LocalSpec,
    LuongSpec,
    MultiHeadSpec,
)
from regard.config.model import NetworkSpec, Normalize, RecurrentSpec, Tie, TransformerSpec
from regard.errors import ArgumentError
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.bilinear import BilinearAttention
from regard.layers.mechanisms.cosine import CosineAttention
from regard.layers.mechanisms.dot import DotAttention
from regard.layers.mechanisms.gaussian import GaussianAttention
from regard.layers.mechanisms.learned_score import (
    LearnedAdditive,
    LearnedBilinear,
    LearnedCosine,
    LearnedGaussian,
    LearnedScore,
)
from regard.layers.mechanisms.local import LocalAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.alibi import AlibiBias
from regard.layers.position.learned import LearnedPositions
from regard.layers.position.relative import RelativePositions
from regard.layers.position.rotary import RotaryPositions
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.recurrent.encoder import RecurrentEncoder
from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.models.dropout import quicken
from regard.models.embedding import TokenEmbedding
from regard.models.initialize import initialize_recurrent, initialize_transformer
from regard.models.sequence.current_state import CurrentStateDecoder
from regard.models.sequence.fixed_vector import FixedVectorDecoder
from regard.models.sequence.hypotheses import CrossAttention
from regard.models.sequence.input_feeding import InputFeedingDecoder
from regard.models.sequence.previous_state import PreviousStateDecoder
from regard.models.sequence.recurrent import RecurrentModel
from regard.models.sequence.recurrent_decoder import RecurrentDecoder
from regard.models.sequence.transformer import TransformerModel
from regard.models.statistical.translator import StatisticalModel

Model = RecurrentModel | TransformerModel
TranslationModel = Model | StatisticalModel


def build_model(spec: NetworkSpec, *, source_vocabulary: int, target_vocabulary: int) -> Model:
    """Build what `spec` describes, for so many source and target tokens, with parameters drawn from torch's generator.

    >>> model = build_model(TransformerSpec(size=128), source_vocabulary=50, target_vocabulary=60)
    >>> model.output.out_features
    60
    """
    model: Model
    match spec:
        case RecurrentSpec():
            model = _recurrent(spec, source_vocabulary, target_vocabulary)
            initialize_recurrent(model, spec.initialize)
        case TransformerSpec():
            model = _transformer(spec, source_vocabulary, target_vocabulary)
            initialize_transformer(model)
        case _:
            assert_never(spec)
    _tie(model, spec.tie)
    quicken(model)
    return model


def count_parameters(model: nn.Module) -> int:
    """Count the numbers that are trained, shared ones once; of a model that counts, what it has counted."""
    if isinstance(model, StatisticalModel):
        return model.num_counts
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def _tie(model: Model, tie: Tie) -> None:
    """Make several matrices one."""
    if tie in ("embeddings", "all"):
        source, target = model.source.table.num_embeddings, model.target.table.num_embeddings
        if source != target:
            raise ArgumentError(
                f"`tie` must be none or output where source and target have vocabularies of their own; received "
                f'"{tie}" with {source} and {target} tokens. A joint tokenizer gives both sides one vocabulary.'
            )
        model.source.table.weight = model.target.table.weight
    if tie in ("output", "all"):
        model.output.weight = model.target.table.weight


def _recurrent(spec: RecurrentSpec, source_vocabulary: int, target_vocabulary: int) -> RecurrentModel:
    def embedding(vocabulary: int) -> TokenEmbedding:
        return TokenEmbedding(
            vocabulary,
            spec.embedding_size,
            dropout=spec.dropout,
            shared_dropout=spec.dropout_mask == "shared",
            word_dropout=spec.word_dropout,
        )

    encoder = RecurrentEncoder(
        spec.cell,
        spec.embedding_size,
        spec.encoder_width,
        num_layers=spec.num_layers,
        bidirectional=spec.direction == "both",
        dropout=spec.dropout if spec.num_layers > 1 else 0.0,
    )
    return RecurrentModel(
        source=embedding(source_vocabulary),
        encoder=encoder,
        target=embedding(target_vocabulary),
        decoder=_recurrent_decoder(spec),
        vocabulary_size=target_vocabulary,
        reverse=spec.direction == "backward",
        dropout=spec.dropout,
        shared_dropout=spec.dropout_mask == "shared",
    )


def _recurrent_decoder(spec: RecurrentSpec) -> RecurrentDecoder:
    match spec.attention:
        case FixedVectorSpec(context=context):
            return FixedVectorDecoder(
                spec.cell,
                embedding_size=spec.embedding_size,
                state_size=spec.hidden_size,
                vector_size=spec.memory_size,
                context=context,
                num_layers=spec.num_layers,
                copy=spec.start == "copy",
                output=spec.output,
                maxout_size=spec.maxout_size or spec.embedding_size,
                dropout=spec.dropout,
            )
        case MultiHeadSpec():  # whose output matrix gives contexts as wide as the state
            return _attending_decoder(spec, context_size=spec.hidden_size)
        case AdditiveSpec() | BilinearSpec() | CosineSpec() | DotSpec() | GaussianSpec() | LocalSpec() | LuongSpec():
            return _attending_decoder(spec, context_size=spec.memory_size)
        case _:
            assert_never(spec.attention)


def _attending_decoder(spec: RecurrentSpec, *, context_size: int) -> RecurrentDecoder:
    attention, copy, maxout_size = _attention(spec), spec.start == "copy", spec.maxout_size or spec.embedding_size
    match spec.wiring, spec.input_feeding:
        case "previous", _:
            return PreviousStateDecoder(
                attention,
                spec.cell,
                embedding_size=spec.embedding_size,
                state_size=spec.hidden_size,
                context_size=context_size,
                start_size=spec.encoder_width,
                copy=copy,
                output=spec.output,
                maxout_size=maxout_size,
            )
        case "current", True:
            return InputFeedingDecoder(
                attention,
                spec.cell,
                embedding_size=spec.embedding_size,
                state_size=spec.hidden_size,
                context_size=context_size,
                start_size=spec.memory_size,
                num_layers=spec.num_layers,
                copy=copy,
                dropout=spec.dropout,
            )
        case "current", False:
            return CurrentStateDecoder(
                attention,
                spec.cell,
                embedding_size=spec.embedding_size,
                state_size=spec.hidden_size,
                context_size=context_size,
                start_size=spec.memory_size,
                num_layers=spec.num_layers,
                copy=copy,
                output=spec.output,
                maxout_size=maxout_size,
                dropout=spec.dropout,
            )
        case _:
            assert_never(spec.wiring)


def _attention(spec: RecurrentSpec) -> nn.Module:
    state, memory = spec.hidden_size, spec.memory_size
    normalize, dropout = _normalizer(spec.normalize), spec.attention_dropout
    match spec.attention:
        case FixedVectorSpec():
            raise AssertionError("a fixed vector is not attended to")
        case DotSpec():
            return DotAttention(normalize=normalize, dropout=dropout)
        case AdditiveSpec(hidden_size=hidden, activation=activation):
            return AdditiveAttention(
                state, memory, hidden or state, activation=activation, normalize=normalize, dropout=dropout
            )
        case BilinearSpec():
            return BilinearAttention(state, memory, normalize=normalize, dropout=dropout)
        case GaussianSpec(bandwidth=bandwidth):
            return GaussianAttention(bandwidth=bandwidth or state**0.5 / 10, normalize=normalize, dropout=dropout)
        case CosineSpec(temperature=temperature):
            return CosineAttention(temperature=temperature, normalize=normalize, dropout=dropout)
        case MultiHeadSpec(num_heads=heads):
            return MultiHeadAttention(state, heads, key_size=memory, normalize=normalize, dropout=dropout)
        case LuongSpec(score=score, max_length=longest):
            return LuongAttention(state, memory, score=score, max_length=longest, normalize=normalize, dropout=dropout)
        case LocalSpec(alignment=alignment, half_width=half_width, score=score, max_length=longest):
            return LocalAttention(
                state,
                memory,
                kind=alignment,
                half_width=half_width,
                score=score,
                max_length=longest,
                normalize=normalize,
                dropout=dropout,
            )
        case _:
            assert_never(spec.attention)


def _normalizer(name: Normalize) -> Normalizer:
    match name:
        case "softmax":
            return Softmax()
        case "sparsemax":
            return Sparsemax()
        case "entmax":
            return Entmax()
        case "sigmoid":
            return Sigmoid()
        case _:
            assert_never(name)


def _transformer(spec: TransformerSpec, source_vocabulary: int, target_vocabulary: int) -> TransformerModel:
    def embedding(vocabulary: int) -> TokenEmbedding:
        return TokenEmbedding(
            vocabulary,
            spec.size,
            scaled=True,
            positions=_added_positions(spec),
            dropout=spec.dropout,
            word_dropout=spec.word_dropout,
        )

    def attention(kind: type[MultiHeadAttention], position: nn.Module | None = None) -> MultiHeadAttention:
        return kind(
            spec.size,
            spec.num_heads,
            num_key_value_heads=spec.num_key_value_heads,
            score=_score(spec),
            normalize=_normalizer(spec.normalize),
            position=position,
            dropout=spec.attention_dropout,
        )

    def feed_forward() -> FeedForward:
        return FeedForward(
            spec.size, spec.feed_forward_size, activation=spec.activation, dropout=spec.feed_forward_dropout
        )

    encoder = [
        TransformerEncoderBlock(
            attention(MultiHeadAttention, _attended_position(spec)),
            feed_forward(),
            norm=spec.norm,
            dropout=spec.dropout,
        )
        for _ in range(spec.num_encoder_layers)
    ]
    decoder = [
        TransformerDecoderBlock(
            attention(MultiHeadAttention, _attended_position(spec)),
            attention(CrossAttention),  # source and target have no common place: no position here
            feed_forward(),
            norm=spec.norm,
            dropout=spec.dropout,
        )
        for _ in range(spec.num_decoder_layers)
    ]
    return TransformerModel(
        source=embedding(source_vocabulary),
        encoder=encoder,
        target=embedding(target_vocabulary),
        decoder=decoder,
        vocabulary_size=target_vocabulary,
        final_norm=spec.norm == "pre" if spec.final_norm is None else spec.final_norm,
    )


def _added_positions(spec: TransformerSpec) -> nn.Module | None:
    """Give positions that are added to the embeddings."""
    match spec.position:
        case "sinusoidal":
            return SinusoidalPositions(spec.size)
        case "sinusoidal-halves":
            return SinusoidalPositions(spec.size, order="halves")
        case "learned":
            return LearnedPositions(spec.max_length, spec.size)
        case "rotary" | "relative" | "alibi" | "none":
            return None
        case _:
            assert_never(spec.position)


def _attended_position(spec: TransformerSpec) -> nn.Module | None:
    """Give positions that act inside self-attention."""
    head_size = spec.size // spec.num_heads
    match spec.position:
        case "rotary":
            return RotaryPositions()
        case "relative":
            return RelativePositions(spec.reach, head_size, head_size)
        case "alibi":
            return AlibiBias(spec.num_heads)
        case "sinusoidal" | "sinusoidal-halves" | "learned" | "none":
            return None
        case _:
            assert_never(spec.position)


def _score(spec: TransformerSpec) -> Score | LearnedScore:
    head_size = spec.size // spec.num_heads
    match spec.score:
        case "scaled-dot":
            return ScaledDot()
        case "dot":
            return Dot()
        case "additive":
            return LearnedAdditive(head_size, num_heads=spec.num_heads)
        case "bilinear":
            return LearnedBilinear(head_size, head_size, num_heads=spec.num_heads)
        case "gaussian":
            return LearnedGaussian(num_heads=spec.num_heads, bandwidth=head_size**0.25)
        case "cosine":
            return LearnedCosine(num_heads=spec.num_heads)
        case _:
            assert_never(spec.score)
