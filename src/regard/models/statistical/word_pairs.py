"""Which words stand in one sentence pair: the table that models of word translation count in, laid out for speed.

Sentence pairs whose sources have as many words are put together, so that the pairs of words of many sentences are one
rectangle: a row for each target word, a column for NULL and for each source word. Counting is then a gather, a product
and a scatter on rectangles.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import ArgumentError

Sentence: TypeAlias = Sequence[str]
Vocabulary: TypeAlias = dict[str, int]

_AT_ONCE = 1 << 20
"""How many pairs of words are processed together: 8 MB of numbers."""
_KEPT = 1 << 28
"""How many pairs of words are remembered as entries of the table, of four bytes each; beyond, they are found anew."""


class Rectangle(NamedTuple):
    """The pairs of words of some sentence pairs, all of as many source words."""

    entries: Int[Tensor, "rows causes"]
    """Which entry of the table each target word is, with NULL first and then with each source word of its sentence."""
    steps: tuple[int, ...]
    """How many of the sentences have a first target word, a second, …: the rows come in this order, sentence by
    sentence within a step, the longest sentence first."""


class _Numbered(NamedTuple):
    """Sentences as numbers, one after the other."""

    values: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def padded(self, numbers: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Lay sentences out as rows; what stands beyond their end is of no meaning."""
        indices = self.offsets[numbers][:, None] + np.arange(width)
        rows: NDArray[np.int64] = self.values[np.minimum(indices, len(self.values) - 1)]
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class WordPairs:
    """The different pairs of words of a corpus, and how to go through all of them again and again.

    >>> pairs = WordPairs.of([["das", "Haus"], ["das"]], [["the", "house"], ["the"]])
    >>> [item.entries.tolist() for item in pairs.rectangles()]
    [[[1, 5]], [[1, 5, 3], [0, 4, 2]]]
    """

    source_words: Vocabulary
    """Numbers of the source words, from 1; 0 is NULL."""
    target_words: Vocabulary
    """Numbers of the target words, from 0."""
    entries: NDArray[np.int64]
    """The pairs of words that stand in one sentence pair, as source · |target_words| + target, ascending."""
    _sources: _Numbered
    _targets: _Numbered
    _parts: list[NDArray[np.int64]]
    """The sentence pairs of each rectangle."""
    _kept: list[Tensor]
    """The entries of each rectangle, where there are not too many."""

    @classmethod
    def of(cls, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> "WordPairs":
        """Number the words of sentence pairs, and find out which of them come together."""
        check_sentences(sources, targets)
        source_words, target_words = _number(sources, first=1), _number(targets, first=0)
        numbered = _encode(sources, source_words), _encode(targets, target_words)
        parts = _divide(*(side.lengths for side in numbered))
        cells = int(((numbered[0].lengths + 1) * numbered[1].lengths).sum())
        kept: list[Tensor] = []
        different: list[NDArray[np.int64]] = []
        entries = waiting = np.zeros(0, dtype=np.int64)
        for part in parts:
            own, where = torch.unique(_keys(*numbered, part, len(target_words))[0], return_inverse=True)
            waiting = np.concatenate([waiting, own.numpy()])
            if len(waiting) > len(entries) + 8 * _AT_ONCE:  # no more than about twice as many are held at once
                entries, waiting = _distinct(entries, waiting), waiting[:0]
            if cells <= _KEPT:
                different.append(own.numpy())
                kept.append(where.int())
        entries = _distinct(entries, waiting)
        for index, own_pairs in enumerate(different):
            kept[index] = _located(own_pairs, kept[index], entries)
        return cls(
            source_words=source_words,
            target_words=target_words,
            entries=entries,
            _sources=numbered[0],
            _targets=numbered[1],
            _parts=parts,
            _kept=kept,
        )

    def rectangles(self) -> Iterator[Rectangle]:
        """Go through the pairs of words of all sentences."""
        for index, part in enumerate(self._parts):
            keys, steps = (None, _steps(self._targets, part)) if self._kept else self._locate_part(part)
            yield Rectangle(self._kept[index] if keys is None else keys, steps)

    def _locate_part(self, part: NDArray[np.int64]) -> tuple[Tensor, tuple[int, ...]]:
        keys, steps = _keys(self._sources, self._targets, part, len(self.target_words))
        own, where = torch.unique(keys, return_inverse=True)
        return _located(own.numpy(), where, self.entries), steps

    @property
    def num_cells(self) -> int:
        """How many pairs of words all sentence pairs have, without NULL."""
        return int((self._sources.lengths * self._targets.lengths).sum())

    def cells(self, *, turned: bool) -> Iterator[Int[Tensor, "rows sources"]]:
        """Give for each rectangle where its pairs of words stand in a list of all, that both directions can share.

        The list has sentence pair after sentence pair, and of each a row for each target word; `turned` says that
        sources are the targets of that list.

        >>> pairs, other = WordPairs.of([["a", "b"]], [["x", "y", "z"]]), WordPairs.of([["x", "y", "z"]], [["a", "b"]])
        >>> [cells.tolist() for side in (pairs, other) for cells in side.cells(turned=side is other)]
        [[[0, 1], [2, 3], [4, 5]], [[0, 2, 4], [1, 3, 5]]]
        """
        starts = np.concatenate([[0], np.cumsum(self._sources.lengths * self._targets.lengths)])
        for part in self._parts:
            width, lengths = int(self._sources.lengths[part[0]]), self._targets.lengths[part]
            there = np.arange(lengths[0])[:, None] < lengths
            step, sentence = np.nonzero(there)
            begin, rows, columns = starts[part][sentence], step, np.arange(width)
            if turned:
                yield torch.from_numpy((begin + rows)[:, None] + columns * lengths[sentence][:, None])
            else:
                yield torch.from_numpy((begin + rows * width)[:, None] + columns)

    @property
    def most_causes(self) -> int:
        """How many words the longest source has."""
        return int(self._sources.lengths.max(initial=0))

    def shares(self, counts: Float[Tensor, " entries"]) -> Float[Tensor, " entries"]:
        """Divide counts by their sum over the target words of each source word."""
        starts = np.searchsorted(self.entries, np.arange(len(self.source_words) + 2) * max(len(self.target_words), 1))
        sizes = np.diff(starts)
        totals = np.add.reduceat(counts.numpy(), starts[:-1][sizes > 0]) if len(counts) else np.zeros(0)
        return counts / torch.from_numpy(np.repeat(np.maximum(totals, np.finfo(np.float64).tiny), sizes[sizes > 0]))


def check_sentences(sources: Sequence[Sentence], targets: Sequence[Sentence]) -> None:
    """Raise unless these are as many sources as targets, and each a list of words."""
    if len(sources) != len(targets):
        raise ArgumentError(
            f"`targets` must have one sentence for each of the {len(sources)} sources; received {len(targets)}."
        )
    for name, side in (("sources", sources), ("targets", targets)):
        if any(isinstance(sentence, str) for sentence in side):
            raise ArgumentError(f"`{name}` must be lists of words; received a string. Divide it: text.split().")


def _divide(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Put sentence pairs of as many source words together, the longest target first; leave out empty targets."""
    order = np.lexsort((-targets, sources))
    order = order[targets[order] > 0]
    parts, begin, size = [], 0, 0
    cells = ((sources[order] + 1) * targets[order]).tolist()
    widths = sources[order].tolist()
    for end, here in enumerate(cells):
        if end > begin and (size + here > _AT_ONCE or widths[end] != widths[begin]):
            parts.append(order[begin:end])
            begin, size = end, 0
        size += here
    return [*parts, order[begin:]] if len(order) else []


def _keys(
    sources: _Numbered, targets: _Numbered, part: NDArray[np.int64], vocabulary: int
) -> tuple[Int[Tensor, "rows causes"], tuple[int, ...]]:
    """Give the pairs of words of a rectangle, as source · vocabulary + target."""
    width, lengths = int(sources.lengths[part[0]]), targets.lengths[part]
    causes = np.concatenate([np.zeros((len(part), 1), dtype=np.int64), sources.padded(part, width)], axis=1)
    there = np.arange(lengths[0])[:, None] < lengths
    words = targets.padded(part, int(lengths[0])).T[there]
    sentence = np.broadcast_to(np.arange(len(part)), there.shape)[there]
    keys = causes[sentence] * vocabulary + words[:, None]
    return torch.from_numpy(keys), tuple(there.sum(1).tolist())


def _distinct(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the different numbers of two arrays, ascending."""
    ordered = np.sort(np.concatenate([first, second]))  # np.unique counts by hashing: five times as long
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _located(own: NDArray[np.int64], where: Tensor, entries: NDArray[np.int64]) -> Tensor:
    """Find numbers among the entries; `where` says which of them stands in each cell."""
    indices = torch.from_numpy(np.searchsorted(entries, own).astype(np.int32))
    return indices.index_select(0, where.flatten()).view_as(where)


def _steps(targets: _Numbered, part: NDArray[np.int64]) -> tuple[int, ...]:
    lengths = targets.lengths[part]
    return tuple((np.arange(lengths[0])[:, None] < lengths).sum(1).tolist())


def _number(sentences: Sequence[Sentence], *, first: int) -> Vocabulary:
    names = sorted({word for sentence in sentences for word in sentence})
    return {word: number for number, word in enumerate(names, start=first)}


def _encode(sentences: Sequence[Sentence], numbers: Vocabulary) -> _Numbered:
    lengths = [len(sentence) for sentence in sentences]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
    words = (numbers[word] for sentence in sentences for word in sentence)
    return _Numbered(np.fromiter(words, dtype=np.int64, count=int(offsets[-1])), offsets)
