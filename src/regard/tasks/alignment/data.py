"""Sentence pairs as an aligner reads them: marks apart from words, and without special tokens."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from jaxtyping import Int
from torch import Tensor

from regard.data.batches.pairs import Batch
from regard.data.corpora.pair import Pair
from regard.data.corpora.pair import words as words_of
from regard.data.text.special import END, PAD
from regard.data.text.word_spans import compose
from regard.tasks.translation.data import Corpus, gather_pairs


class PlainTokens(NamedTuple):
    """The tokens of both sides, filled up with `<pad>`; lengths count what is not padding."""

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch target"]
    target_lengths: Int[Tensor, " batch"]


def gather_aligned(table: Mapping[str, Any], *, count: Callable[[int], None] | None = None) -> Corpus:
    """Read what the settings of `data` name, with spaces around all marks."""
    return gather_pairs(table, count=count, change=spread_pair)


def spread_pair(pair: Pair) -> Pair:
    """Put spaces between the words and marks of both sides; links count these, and stay.

    >>> spread_pair(Pair(source="¿Y él?", target="And he?")).source
    '¿ Y él ?'
    """
    return replace(pair, source=spread(pair.source), target=spread(pair.target))


def spread(text: str) -> str:
    """Put a space between all words and marks, so that text with and without such spaces is read alike."""
    return " ".join(words_of(compose(text)))


def plain_tokens(batch: Batch) -> PlainTokens:
    """Leave out `</s>`, whose column is the last."""
    source, target = (_without_end(side) for side in (batch.source, batch.target_output))
    source_lengths, target_lengths = ((item - 1).clamp_min(0) for item in (batch.source_lengths, batch.target_lengths))
    return PlainTokens(source, source_lengths, target, target_lengths)


def _without_end(tokens: Tensor) -> Tensor:
    kept = tokens[:, :-1]
    return kept.masked_fill(kept == END, PAD)
