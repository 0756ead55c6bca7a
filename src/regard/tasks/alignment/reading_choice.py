"""Which layer, head and step of a model align best: by gold links, or by the agreement of two directions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.data.corpora.pair import Link, Pair
from regard.data.text.word_spans import Division
from regard.errors import ArgumentError
from regard.evaluation.alignment_error import AlignmentScores, alignment_error
from regard.inspection.readings.alignment import PLAIN, Reading, Step, choose_weights, link_matrix
from regard.models.sequence.transformer import TransformerModel
from regard.tasks.alignment.align import (
    PairAttention,
    attend_to_sources,
    join_directions,
    shorten,
    turned_pairs,
)
from regard.tasks.alignment.counted import align_counted, count_both_directions
from regard.tasks.alignment.model import WordAligner
from regard.tasks.translation.model import Translator

STEPS: tuple[Step, ...] = ("produced", "read")


class Choice(NamedTuple):
    """A reading and how well it did."""

    reading: Reading
    scores: AlignmentScores
    """Against the gold links, or against the other direction as if it were gold."""
    tried: dict[Reading, AlignmentScores]
    """Every reading that was tried; by agreement, each beside the other direction's best."""


def choose_by_gold(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    like: Reading = PLAIN,
    words: Division = "marks",
    watch: Callable[[int], None] | None = None,
) -> Choice:
    """Choose the step, layer and head whose links have the least alignment error on pairs with gold links.

    Each head and the mean over heads are tried, in every layer. `like` says what is not chosen: norms and threshold.
    """
    _check_gold(pairs)
    pairs, _ = shorten(pairs, translator, words=words)
    readings: list[Reading] = []
    counts = torch.zeros((), dtype=torch.long)
    for number, (attended, result) in enumerate(_matrices(translator, pairs, like, words), start=1):
        readings = readings or candidates(attended, like)
        links = pairs[attended.number].links
        sure = _matrix([link for link in links if link.sure], result)
        counts = counts + _counts(result, sure, _matrix(links, result))
        if watch is not None:
            watch(number)
    scored = {
        reading: AlignmentScores.of_counts(predicted=predicted, sure=sure, in_sure=in_sure, in_possible=in_possible)
        for reading, (predicted, sure, in_sure, in_possible) in zip(readings, counts.tolist(), strict=True)
    }
    best = min(scored, key=lambda reading: scored[reading].error)
    return Choice(best, scored[best], scored)


DEEP = 4
"""Decoder layers from which on the reading of a translator alone is chosen by counts."""
LEAST = 100
"""Pairs that are enough for that."""


def choose_by_counts(translator: Translator, pairs: Sequence[Pair], *, words: Division = "marks") -> Choice:
    """Choose the step, layer and head whose links come nearest to those of a hidden Markov aligner; no gold needed.

    It counts the words of the pairs themselves, both ways. Its links are wrong often, but as often for every reading.
    """
    if not pairs:
        raise ArgumentError("`pairs` must hold at least one pair to choose a reading by; received none.")
    both = zip(count_both_directions(pairs), (pairs, turned_pairs(pairs)), strict=True)
    forward, backward = (align_counted(counted, some, words=words) for counted, some in both)
    silver = join_directions(forward, backward, "agreement")
    linked = [replace(pair, links=item.links) for pair, item in zip(pairs, silver, strict=True)]
    return choose_by_gold(translator, linked, words=words)


def count_layers(translator: Translator) -> int:
    """Count the layers of a translator's decoder that attend to the source."""
    model = translator.model
    return len(model.decoder) if isinstance(model, TransformerModel) else 1


class ErrorTable(NamedTuple):
    """The alignment error of every layer, step and head of a translator, against gold links."""

    choice: Choice
    usual: Reading
    """Layer, step and head that are read where nothing chooses."""

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Give a heading and a row for each layer and step: the error of the mean over heads, and of each head."""
        tried = self.choice.tried
        heads = sorted({reading.head for reading in tried if reading.head is not None})
        rows = []
        for layer in sorted({reading.layer or 0 for reading in tried}):
            for step in STEPS:
                own = {item.head: tried[item].error for item in tried if (item.layer or 0, item.step) == (layer, step)}
                rows.append([str(layer), step, *(f"{100 * own[head]:.1f}" for head in [None, *heads])])
        return ["layer", "step", "mean of heads", *(f"head {head}" for head in heads)], rows


def error_table(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    words: Division = "marks",
    watch: Callable[[int], None] | None = None,
) -> ErrorTable:
    """Measure every layer, step and head of a translator on pairs with gold links.

    Reference: Chen et al. (2020), table 1, arXiv:2004.14837, who compare layers and steps.
    """
    choice = choose_by_gold(translator, pairs, words=words, watch=watch)
    layers = 1 + max(reading.layer or 0 for reading in choice.tried)
    usual = replace(translator.reading, layer=max(layers - 2, 0) if layers > 1 else None)
    return ErrorTable(choice, usual if usual in choice.tried else replace(usual, head=None))


THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""What is tried of an aligner."""


def choose_threshold(
    aligner: WordAligner,
    pairs: Sequence[Pair],
    *,
    words: Division = "marks",
    watch: Callable[[int], None] | None = None,
) -> Choice:
    """Choose how much both directions of an aligner must attend to each other, by the error against gold links."""
    _check_gold(pairs)
    gold = [pair.links for pair in pairs]
    tried: dict[Reading, AlignmentScores] = {}
    for threshold in THRESHOLDS:
        aligned = aligner.align(pairs, threshold=threshold, words=words, watch=watch)
        tried[Reading(threshold=threshold)] = alignment_error([item.links for item in aligned], gold)
    best = min(tried, key=lambda reading: tried[reading].error)
    return Choice(best, tried[best], tried)


def _check_gold(pairs: Sequence[Pair]) -> None:
    if not any(pair.links for pair in pairs):
        raise ArgumentError("`pairs` must have gold links to choose a reading by; received none with links.")


def choose_by_agreement(
    forward: Translator,
    backward: Translator,
    pairs: Sequence[Pair],
    *,
    like: Reading = PLAIN,
    words: Division = "marks",
) -> tuple[Choice, Choice]:
    r"""Choose a reading for each of two models, of opposite directions, so that their links agree most; no gold needed.

    $$\text{agreement} = \frac{2\,|A \cap B|}{|A| + |B|}$$

    which is one less the alignment error of either, with the other's links as sure gold ones.

    Reference: Chen et al. (2020), arXiv:2004.14837.
    """
    if not pairs:
        raise ArgumentError("`pairs` must hold at least one pair to choose a reading by; received none.")
    pairs, _ = shorten(pairs, forward, backward, words=words)
    turned = {
        attended.number: (attended, result)
        for attended, result in _matrices(backward, turned_pairs(pairs), like, words)
    }
    sides: list[list[Reading]] = []
    both = num_forward = num_backward = torch.zeros(())
    for attended, result in _matrices(forward, pairs, like, words):
        other_attention, other = turned.pop(attended.number)
        sides = sides or [candidates(attended, like), candidates(other_attention, like)]
        forward_links, backward_links = result.flatten(1).double(), other.mT.flatten(1).double()
        both, num_forward, num_backward = (
            both + forward_links @ backward_links.T,
            num_forward + forward_links.sum(1),
            num_backward + backward_links.sum(1),
        )
    agreement = 2 * both / (num_forward[:, None] + num_backward).clamp_min(1)
    row, column = divmod(int(agreement.argmax()), agreement.size(1))
    forward_tried = _scored(sides[0], both[:, column], num_forward, gold=num_backward[column])
    backward_tried = _scored(sides[1], both[row], num_backward, gold=num_forward[row])
    chosen = sides[0][row], sides[1][column]
    return (
        Choice(chosen[0], forward_tried[chosen[0]], forward_tried),
        Choice(chosen[1], backward_tried[chosen[1]], backward_tried),
    )


def candidates(attention: PairAttention, like: Reading) -> list[Reading]:
    """List the readings to try, in the order of `_matrices`."""
    layers, heads = next(iter(attention.by_step.values())).shape[:2]
    choices = [None, *range(heads)] if heads > 1 else [None]
    return [
        replace(like, step=step, layer=layer if layers > 1 else None, head=head)
        for step in attention.by_step
        for layer in range(layers)
        for head in choices
    ]


def _matrices(
    translator: Translator, pairs: Sequence[Pair], like: Reading, words: Division
) -> Iterator[tuple[PairAttention, Bool[Tensor, "readings target source"]]]:
    for attended in attend_to_sources(translator, pairs, words=words, norms=like.norms, steps=STEPS):
        weights = [choose_weights(attended.by_step[item.step], item) for item in candidates(attended, like)]
        yield attended, link_matrix(torch.stack(weights), threshold=like.threshold).cpu()


def _matrix(links: Sequence[Link], like: Bool[Tensor, "readings target source"]) -> Bool[Tensor, "target source"]:
    matrix = torch.zeros_like(like[0])
    for link in links:
        if link.target >= like.size(1) or link.source >= like.size(2):
            raise ArgumentError(
                f"`links` must stay within {like.size(2)} source and {like.size(1)} target words; received {link}. "
                'Are the words counted in another way? words="marks" and words="whitespace" differ.'
            )
        matrix[link.target, link.source] = True
    return matrix


def _counts(
    result: Bool[Tensor, "readings target source"],
    sure: Bool[Tensor, "target source"],
    possible: Bool[Tensor, "target source"],
) -> Int[Tensor, "readings counts"]:
    """Count |A|, |S|, |A ∩ S| and |A ∩ P| for each reading."""
    rows = (result, sure.expand_as(result), result & sure, result & possible)
    return torch.stack([row.sum((1, 2)) for row in rows], dim=1)


def _scored(
    readings: Sequence[Reading],
    both: Float[Tensor, " readings"],
    predicted: Float[Tensor, " readings"],
    *,
    gold: Float[Tensor, ""],
) -> dict[Reading, AlignmentScores]:
    return {
        reading: AlignmentScores.of_counts(
            predicted=int(own), sure=int(gold), in_sure=int(shared), in_possible=int(shared)
        )
        for reading, shared, own in zip(readings, both.tolist(), predicted.tolist(), strict=True)
    }
