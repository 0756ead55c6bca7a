"""From a spec to a classifier: one `match` over the kinds."""

from typing import assert_never

from torch import nn

from regard.config.classify import (
    AttentivePoolingSpec,
    AverageSpec,
    ClassifierSpec,
    FeedForwardSpec,
    LastStateSpec,
    RecurrentAttentionSpec,
    StructuredSpec,
    TfIdfSpec,
    TokenWeightsSpec,
    TransformerEncoderSpec,
)
from regard.models.classification.network import Network
from regard.models.classification.readers import RecurrentReader, TransformerReader, WordReader
from regard.models.classification.summaries import (
    AttentiveSummary,
    LastSummary,
    MeanSummary,
    QuestionSummary,
    StaticSummary,
    StructuredSummary,
)
from regard.models.classification.tf_idf import TfIdfClassifier
from regard.models.dropout import Dropout
from regard.models.embedding import TokenEmbedding


def build_classifier(spec: ClassifierSpec, *, vocabulary_size: int, num_labels: int) -> Network | TfIdfClassifier:
    """Make a classifier with fresh parameters; that of TF-IDF says nothing before `fit_tf_idf` has filled it."""
    if isinstance(spec, TfIdfSpec):
        return TfIdfClassifier(vocabulary_size, num_labels)
    reader, summarize, width = _middle(spec, vocabulary_size)
    output = _output(width, num_labels, spec.dropout, _hidden_size(spec))
    embedding = TokenEmbedding(
        vocabulary_size,
        spec.size,
        scaled=isinstance(spec, TransformerEncoderSpec),
        dropout=spec.dropout,
        word_dropout=spec.word_dropout,
    )
    nn.init.normal_(embedding.table.weight, std=spec.size**-0.5 if embedding.scale else 0.1)
    return Network(embedding, reader, summarize, output)


def _middle(spec: ClassifierSpec, vocabulary_size: int) -> tuple[nn.Module, nn.Module, int]:
    """Give the reader, the summary and how wide it is."""
    match spec:
        case AverageSpec():
            return WordReader(spec.size), MeanSummary(), spec.size
        case FeedForwardSpec():
            return WordReader(spec.size), MeanSummary(weighs=False), spec.size
        case TokenWeightsSpec():
            return WordReader(spec.size), StaticSummary(vocabulary_size), spec.size
        case AttentivePoolingSpec():
            return (
                WordReader(spec.size),
                AttentiveSummary(spec.size, spec.attention_size, dropout=spec.attention_dropout),
                spec.size,
            )
        case LastStateSpec():
            read = RecurrentReader(spec.cell, spec.size, spec.hidden_size, bidirectional=spec.direction == "both")
            return read, LastSummary(), read.size
        case RecurrentAttentionSpec():
            read = RecurrentReader(spec.cell, spec.size, spec.hidden_size, bidirectional=spec.direction == "both")
            return read, AttentiveSummary(read.size, spec.attention_size, dropout=spec.attention_dropout), read.size
        case StructuredSpec():
            read = RecurrentReader(spec.cell, spec.size, spec.hidden_size, bidirectional=True)
            summary = StructuredSummary(read.size, spec.attention_size, spec.num_hops, penalty=spec.penalty)
            return read, summary, read.size * spec.num_hops
        case TransformerEncoderSpec():
            around = TransformerReader(
                spec.size,
                num_layers=spec.num_layers,
                num_heads=spec.num_heads,
                feed_forward_size=spec.feed_forward_size,
                dropout=spec.dropout,
            )
            return around, QuestionSummary(spec.size), spec.size
        case TfIdfSpec():
            raise TypeError("TF-IDF is built by itself")
        case _:
            assert_never(spec)


def _hidden_size(spec: ClassifierSpec) -> int | None:
    """Give the width of the hidden layer before the labels; None where there is none."""
    match spec:
        case FeedForwardSpec():
            return spec.hidden_size
        case StructuredSpec():
            return spec.output_size
    return None


def _output(width: int, num_labels: int, dropout: float, hidden_size: int | None) -> nn.Module:
    """Map the summary to the labels, through a hidden layer where one is asked for."""
    if hidden_size is None:
        return nn.Sequential(Dropout(dropout), nn.Linear(width, num_labels))
    return nn.Sequential(
        Dropout(dropout), nn.Linear(width, hidden_size), nn.ReLU(), Dropout(dropout), nn.Linear(hidden_size, num_labels)
    )
