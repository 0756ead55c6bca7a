"""From plain values to a language model: the only module where its config becomes modules or counts."""

from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray
from torch import nn

from regard.config.language import (
    BagSpec,
    CountingSpec,
    FeedForwardLanguageSpec,
    NetworkSpec,
    NGramSpec,
    RecurrentLanguageSpec,
    TransformerLanguageSpec,
)
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.learned import LearnedPositions
from regard.layers.position.rotary import RotaryPositions
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward
from regard.models.dropout import quicken
from regard.models.embedding import TokenEmbedding
from regard.models.language.bag import BagModel
from regard.models.language.feed_forward import FeedForwardLanguageModel
from regard.models.language.network import LanguageNetwork
from regard.models.language.ngram import NGramModel
from regard.models.language.recurrent import RecurrentLanguageModel, RecurrentStack
from regard.models.language.recurrent_attention import AttendingLanguageModel
from regard.models.language.transformer import TransformerLanguageModel

CountingModel: TypeAlias = BagModel | NGramModel


def count_text(spec: CountingSpec, tokens: NDArray[np.integer], *, vocabulary_size: int) -> CountingModel:
    """Make the counting model that `spec` describes from a text.

    >>> count_text(NGramSpec(order=2), np.array([1, 2, 1, 2]), vocabulary_size=3).order
    2
    """
    match spec:
        case BagSpec():
            return BagModel.fit(tokens, vocabulary_size=vocabulary_size, smoothing=spec.smoothing)
        case NGramSpec():
            return NGramModel.fit(tokens, vocabulary_size=vocabulary_size, order=spec.order)
        case _:
            assert_never(spec)


def build_network(spec: NetworkSpec, *, vocabulary_size: int) -> LanguageNetwork:
    """Build the network that `spec` describes, with parameters drawn from torch's generator.

    >>> build_network(RecurrentLanguageSpec(), vocabulary_size=50).vocabulary_size
    50
    """
    model: LanguageNetwork
    match spec:
        case FeedForwardLanguageSpec():
            model = FeedForwardLanguageModel(
                vocabulary_size,
                context=spec.context,
                embedding_size=spec.embedding_size,
                hidden_size=spec.hidden_size,
                direct=spec.direct,
                dropout=spec.dropout,
            )
        case RecurrentLanguageSpec():
            model = _recurrent(spec, vocabulary_size)
        case TransformerLanguageSpec():
            model = _transformer(spec, vocabulary_size)
        case _:
            assert_never(spec)
    quicken(model)
    return model


def _recurrent(spec: RecurrentLanguageSpec, vocabulary_size: int) -> LanguageNetwork:
    embedding = TokenEmbedding(
        vocabulary_size,
        spec.embedding_size,
        dropout=spec.input_dropout,
        shared_dropout=True,
        word_dropout=spec.word_dropout,
    )
    stack = RecurrentStack(spec.cell, spec.sizes, dropout=spec.layer_dropout, weight_dropout=spec.weight_dropout)
    if not spec.attention_span:
        return RecurrentLanguageModel(embedding, stack, dropout=spec.dropout, tie=spec.tie)
    return AttendingLanguageModel(
        embedding, stack, span=spec.attention_span, num_heads=spec.num_heads, dropout=spec.dropout, tie=spec.tie
    )


def _transformer(spec: TransformerLanguageSpec, vocabulary_size: int) -> TransformerLanguageModel:
    embedding = TokenEmbedding(
        vocabulary_size,
        spec.size,
        scaled=spec.position == "sinusoidal",  # waves are of size one, and would drown vectors that start at 0.02
        positions=_added(spec),
        dropout=spec.dropout,
    )
    blocks = [
        TransformerEncoderBlock(
            MultiHeadAttention(
                spec.size, spec.num_heads, position=_turning(spec), bias=False, dropout=spec.attention_dropout
            ),
            FeedForward(spec.size, spec.feed_forward_size, activation=spec.activation, bias=False),
            norm="pre",
            dropout=spec.dropout,
        )
        for _ in range(spec.num_layers)
    ]
    return TransformerLanguageModel(embedding, blocks, context=spec.context, tie=spec.tie)


def _added(spec: TransformerLanguageSpec) -> nn.Module | None:
    """Give positions that are added to the words' vectors."""
    match spec.position:
        case "sinusoidal":
            return SinusoidalPositions(spec.size)
        case "learned":
            return LearnedPositions(spec.context, spec.size)
        case "rotary":
            return None
        case _:
            assert_never(spec.position)


def _turning(spec: TransformerLanguageSpec) -> nn.Module | None:
    return RotaryPositions(layout="halves") if spec.position == "rotary" else None
