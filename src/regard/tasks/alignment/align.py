"""Word alignment: force a translation through a model and read links off its attention."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batches.pairs import Examples, make_batch
from regard.data.corpora.pair import Link, Pair
from regard.data.respelling import Respelled
from regard.data.text.tokenizer import Tokenizer, TokenizerPair
from regard.data.text.word_spans import Division, compose, divide, token_words, word_spans
from regard.decoding.forced import force
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import (
    PLAIN,
    Reading,
    Step,
    choose_weights,
    link_matrix,
    links_of,
    word_weights,
)
from regard.inspection.readings.symmetrize import AGREED, Join, mutual_weights, symmetrize
from regard.inspection.readings.value_norms import value_norms
from regard.tasks.alignment.result import Alignment
from regard.tasks.translation.model import Translator
from regard.tasks.translation.search_batches import Reach, plan_by_cells

__all__ = [
    "Alignment",
    "align",
    "attend_to_sources",
    "join_directions",
    "shorten",
    "turned_pairs",
]

BATCH_TOKENS = 4096


class _Reader(NamedTuple):
    """How a translator reads a side, or outputs it."""

    tokenizer: Tokenizer
    most: int
    """Tokens, without `</s>`."""


@runtime_checkable
class Bounded(Protocol):
    """A model that reads so many tokens of a side at most: a translator, or an aligner."""

    @property
    def tokenizers(self) -> TokenizerPair:
        """What divides the sides."""

    @property
    def reach(self) -> Reach:
        """How many tokens of each are read."""


class PairAttention(NamedTuple):
    """The attention of a model forced to one translation, by words."""

    number: int
    """Which pair it was."""
    source: list[str]
    target: list[str]
    by_step: dict[Step, Float[Tensor, "layers heads target source_and_end"]]
    """For each reading step asked for."""
    read_as: Mapping[str, str]
    """Words that the model read with other accents or case."""


def align(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    reading: Reading | None = None,
    words: Division = "marks",
    watch: Callable[[int], None] | None = None,
) -> list[Alignment]:
    """Force every target through the model and link its words to source words by the weights.

    A side of more tokens than the translator reads is cut there, with a warning; see `shorten`.

    - `reading`: which weights, and how; by default the translator's. `tasks.alignment.reading_choice` chooses others.
    - `words`: how links count words: "marks" as the built-in corpora's gold links do, "whitespace" as files do.
    - `watch`: receives how many pairs are done.
    """
    reading = reading or translator.reading
    pairs, cut = shorten(pairs, translator, words=words)
    if cut:
        warnings.warn(describe_cut(len(cut), len(pairs), cut[0], reach=translator.reach.source), stacklevel=2)
    outcome: dict[int, Alignment] = {}
    for attended in attend_to_sources(translator, pairs, words=words, norms=reading.norms, steps=[reading.step]):
        weights = choose_weights(attended.by_step[reading.step], reading).cpu()
        outcome[attended.number] = Alignment(
            source=tuple(attended.source),
            target=tuple(attended.target),
            links=links_of(link_matrix(weights, threshold=reading.threshold)),
            weights=weights,
            read_as=attended.read_as,
        )
        if watch is not None:
            watch(len(outcome))
    return [outcome[index] for index in range(len(pairs))]


def chosen_reading(translator: Translator, chosen: Reading | None) -> Reading:
    """Give the reading that settings choose for a translator; None is its own.

    The head that was trained on word links stays, unless a layer, head or step is chosen.
    """
    if chosen is None:
        return translator.reading
    elsewhere = chosen.layer is not None or chosen.head is not None or chosen.step != PLAIN.step
    return chosen if elsewhere else replace(chosen, head=translator.reading.head)


def describe_cut(count: int, total: int, first: int, *, reach: int) -> str:
    """Say how many pairs were cut, of how many, and the index of the first; `reach` is how many tokens are read."""
    return (
        f"{count} of {total} pairs, the first at index {first}, had more than {reach:,} tokens on a side, which is how "
        "many are read; the rest was left out. Divide them into sentences."
    )


def shorten(
    pairs: Sequence[Pair], forward: Bounded | None, backward: Bounded | None = None, *, words: Division = "marks"
) -> tuple[list[Pair], list[int]]:
    """Cut both sides of pairs at as many tokens as the translators read, and give the numbers of those that were cut.

    Words keep their positions; gold links of words that are left out are left out too. `backward` is of the other
    direction: it reads targets and outputs sources.
    """
    sources: list[_Reader] = []
    targets: list[_Reader] = []
    for translator, near, far in ((forward, sources, targets), (backward, targets, sources)):
        if translator is not None:
            longest = translator.reach.source if translator.reach.target is None else translator.reach.target
            near.append(_Reader(translator.tokenizers.source, translator.reach.source - 1))
            far.append(_Reader(translator.tokenizers.target, longest - 1))
    heads = _heads([pair.source for pair in pairs], sources), _heads([pair.target for pair in pairs], targets)
    outcome, cut = list(pairs), []
    for number, (pair, source, target) in enumerate(zip(pairs, *heads, strict=True)):
        if (source, target) != (pair.source, pair.target):
            counts = len(divide(source, words)), len(divide(target, words))
            links = tuple(link for link in pair.links if link.source < counts[0] and link.target < counts[1])
            outcome[number] = Pair(source=source, target=target, links=links)
            cut.append(number)
    return outcome, cut


def _heads(texts: Sequence[str], readers: Sequence[_Reader]) -> list[str]:
    """Give as much of each text as every one of the tokenizers makes so many tokens of."""
    composed = [compose(text) for text in texts]
    long = {
        int(number)
        for tokenizer, most in readers
        for number in np.flatnonzero(tokenizer.encode_batch(composed).lengths > most)
    }
    return [_head(composed[number], readers) if number in long else text for number, text in enumerate(texts)]


def _head(text: str, readers: Sequence[_Reader]) -> str:
    while True:  # half a word may have more tokens than its part of the whole word
        offsets = [(tokenizer.backend.encode(text).offsets, most) for tokenizer, most in readers]
        indices = [indices[most][0] for indices, most in offsets if len(indices) > most]
        if not indices:
            return text
        text = text[: min(*indices, len(text) - 1)]


@torch.no_grad()
def attend_to_sources(
    translator: Translator, pairs: Sequence[Pair], *, words: Division, norms: bool, steps: Sequence[Step]
) -> Iterator[PairAttention]:
    """Give the attention of the model for each pair, in the order of lengths."""
    model, sides = translator.network, translator.tokenizers
    read = list(
        zip(
            translator.read([compose(pair.source) for pair in pairs]),
            translator.read([compose(pair.target) for pair in pairs], side="target"),
            strict=True,
        )
    )
    source, target = (
        sides.source.encode_batch([text.text for text, _ in read]),
        sides.target.encode_batch([text.text for _, text in read]),
    )
    for indices in plan_by_cells(source.lengths + 1, target.lengths + 1, tokens=BATCH_TOKENS):
        batch = make_batch(Examples(source=source, target=target), indices).to(translator.device)
        source_batch = batch.source, batch.source_lengths
        forced = force(
            model, *source_batch, batch.target_input, batch.target_output, batch.target_lengths, weights=True
        )
        scales = value_norms(model, model.encode(*source_batch)) if norms else None
        for row, (index, item) in enumerate(zip(indices.tolist(), forced, strict=True)):
            if item.weights is None:
                raise ArgumentError(
                    f"`model` must attend to its source to align words; received a {type(model).__name__} without "
                    "attention."
                )
            scale = None if scales is None else scales[row, ..., : item.weights.size(-1)]
            merged = _by_words(translator, read[index], item.weights, scale, words, steps)
            named = divide(pairs[index].source, words), divide(pairs[index].target, words)
            yield PairAttention(index, *named, merged, {**read[index][0].words, **read[index][1].words})


def _by_words(
    translator: Translator,
    read: tuple[Respelled, Respelled],
    weights: Tensor,
    norms: Tensor | None,
    words: Division,
    steps: Sequence[Step],
) -> dict[Step, Float[Tensor, "layers heads target source_and_end"]]:
    """Merge the tokens of each side to the words that links count."""
    texts = [side.text for side in read]
    spans = [word_spans(text, words) for text in texts]
    source, target = map(token_words, translator.tokenizers, texts, spans)
    counts = len(spans[0]), len(spans[1])
    return {step: word_weights(weights, source, target, num_words=counts, step=step, norms=norms) for step in steps}


def turned_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Exchange the sides of pairs, for a model of the other direction."""
    return [
        Pair(
            source=pair.target,
            target=pair.source,
            links=tuple(Link(link.target, link.source, link.sure) for link in pair.links),
        )
        for pair in pairs
    ]


def join_directions(
    forward: Sequence[Alignment], backward: Sequence[Alignment], join: Join, *, threshold: float = AGREED
) -> list[Alignment]:
    """Join the alignments of a model with those that a model of the other direction gave for `turned_pairs`.

    `threshold` is how large the weights of both must be for `join` "agreement".
    """
    joined = []
    for forward_alignment, backward_alignment in zip(forward, backward, strict=True):
        turned = backward_alignment.turned()
        if join == "agreement":
            agreed = mutual_weights(forward_alignment.weights[:, :-1], backward_alignment.weights[:, :-1])
            links = links_of(agreed >= threshold)
        else:
            links = symmetrize(forward_alignment.links, turned.links, join)
        read_as = {**forward_alignment.read_as, **turned.read_as}
        joined.append(replace(forward_alignment, links=links, reverse_weights=turned.reverse_weights, read_as=read_as))
    return joined
