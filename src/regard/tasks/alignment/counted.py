"""Aligners that count, and the diagonal: links without attention, to compare with, or to guide attention by."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import torch

from regard.data.corpora.pair import Link, Pair
from regard.data.corpora.pair import words as words_of
from regard.data.text.word_spans import Division, compose, divide, whitespace_words
from regard.inspection.readings.alignment import diagonal_links
from regard.inspection.readings.words_of_tokens import join
from regard.models.statistical.both_directions import train_both_directions
from regard.models.statistical.hmm import HiddenMarkovAligner
from regard.models.statistical.ibm_model_1 import IbmModel1, likeliest
from regard.models.statistical.word_pairs import Sentence
from regard.tasks.alignment.result import Alignment

Counting: TypeAlias = Literal["ibm-1", "hmm"]
Counted: TypeAlias = IbmModel1 | HiddenMarkovAligner
DIAGONAL = "diagonal"

_TRAIN: Mapping[Counting, Callable[..., Counted]] = {"ibm-1": IbmModel1.train, "hmm": HiddenMarkovAligner.train}
COUNTING: tuple[Counting, ...] = ("ibm-1", "hmm")
"""The models that count, by name."""
BOTH_EXPECT = 0.5
"""How large `mutual_weights` of two directions must be for a link, where they were counted to agree."""


def align_by_counting(
    pairs: Sequence[Pair],
    *,
    train_on: Sequence[Pair] = (),
    model: Counting = "ibm-1",
    iterations: int = 5,
    words: Division = "marks",
) -> list[Alignment]:
    """Align with a model that counts, trained on the pairs themselves and on those of `train_on`."""
    return align_counted(count_words([*train_on, *pairs], model=model, iterations=iterations), pairs, words=words)


def count_words(pairs: Sequence[Pair], *, model: Counting = "ibm-1", iterations: int = 5) -> Counted:
    """Train IBM Model 1, or the hidden Markov aligner, on pairs: on words and marks, in lower case."""
    return _TRAIN[model](*_sides(pairs), iterations=iterations)


def count_both_directions(pairs: Sequence[Pair]) -> tuple[HiddenMarkovAligner, HiddenMarkovAligner]:
    """Train the hidden Markov aligner and one of the other direction, so that they agree; see `count_words`."""
    return train_both_directions(*_sides(pairs))


def align_counted(model: Counted, pairs: Sequence[Pair], *, words: Division = "marks") -> list[Alignment]:
    """Align with what was counted; words between spaces have the weights of the words and marks that they hold."""
    return [_align(model, pair, words) for pair in pairs]


def _align(model: Counted, pair: Pair, words: Division) -> Alignment:
    shares = torch.from_numpy(model.posterior(*_counted_words(pair))).float()
    source, target = divide(pair.source, words), divide(pair.target, words)
    if words == "whitespace":
        columns = [*whitespace_words(pair.source), len(source)]
        shares = join(shares, columns, len(source) + 1, axis=-1)
        shares = join(shares, _rows(pair.target, len(target)), len(target) + 1, axis=-2, mean=True)[:-1]
    causes = enumerate(likeliest(shares.numpy().astype(np.float64)))
    links = sorted(Link(cause, index, sure=True) for index, cause in causes if cause is not None)
    return Alignment(source=tuple(source), target=tuple(target), links=tuple(links), weights=shares)


def _rows(text: str, count: int) -> list[int]:
    """Give for each word and mark which word between spaces has its weights; punctuation beside others is none's.

    >>> _rows("(well-known) , Ana's 5%.", 4)
    [4, 0, 4, 1, 2, 2, 3, 3, 4]
    """
    numbers, parts = whitespace_words(text), divide(text, "marks")
    spelled = {number for number, part in zip(numbers, parts, strict=True) if not _is_punctuation(part)}
    return [
        count if number in spelled and _is_punctuation(part) else number
        for number, part in zip(numbers, parts, strict=True)
    ]


def _is_punctuation(part: str) -> bool:
    """Return whether this is a bracket, a quotation mark, a dash, or what parts sentences."""
    return len(part) == 1 and (part in ".,;:!?¿¡…'\"" or unicodedata.category(part) in ("Ps", "Pe", "Pi", "Pf", "Pd"))


def _sides(pairs: Sequence[Pair]) -> tuple[list[Sentence], list[Sentence]]:
    divided = [_counted_words(pair) for pair in pairs]
    return [source for source, _ in divided], [target for _, target in divided]


def _counted_words(pair: Pair) -> tuple[Sentence, Sentence]:
    source, target = (words_of(compose(text).lower()) for text in (pair.source, pair.target))
    return source, target


def align_diagonally(pairs: Sequence[Pair], *, words: Division = "marks") -> list[Alignment]:
    """Align each target word with the source word as far along its sentence."""
    outcome = []
    for pair in pairs:
        source, target = divide(pair.source, words), divide(pair.target, words)
        links = diagonal_links(len(source), len(target))
        weights = torch.zeros(len(target), len(source) + 1)
        for link in links:
            weights[link.target, link.source] = 1.0
        outcome.append(Alignment(source=tuple(source), target=tuple(target), links=links, weights=weights))
    return outcome
