r"""Put marks into a translation by the source words that its words come from.

Each word $i$ of the output is linked to the source word $a_i$ that it comes from, and few others do. A pair of marks
around the source words $S$ goes around the run of output words with the largest sum:

$$s_{ij} = m_{ij} \frac{m_{ij}}{\sum_k m_{kj}}, \qquad a_i = \arg\max_j s_{ij}, \qquad
\max_{b, e} \sum_{i = b}^{e} c_i s_{i a_i}, \quad c_i = 1 \text{ where } a_i \in S, \text{ else } -\tfrac12$$

inside the run of the pair around it and beside those of its neighbors, so that marks are nested as they were. A single
mark goes before the first word that is linked to the word after it, or behind the last one of the word before it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.data.corpora.pair import words
from regard.data.text.words_of_tokens import Span, spans_of
from regard.tasks.translation.markup.marks import Mark, Marked
from regard.tasks.translation.markup.tokens import escape

_NEAR = 8
"""Words on each side of a single mark that may say where it belongs."""
_TAKEN = 1e9
OUTSIDE = 0.5
"""What a word that comes from elsewhere counts against a run: a phrase is rather kept together than cut in two."""


class Run(NamedTuple):
    """Words of a text, from `start` up to `end`."""

    start: int
    end: int


class Links:
    """What each word of an output is linked to, from the weights that its words put on those of the source."""

    def __init__(self, weights: Float[Tensor, "target source"]) -> None:
        on_words = weights.double().numpy()
        self.count = len(on_words)
        total = on_words.sum(0, keepdims=True)
        on_words = on_words * np.divide(on_words, total, out=np.zeros_like(on_words), where=total > 0)
        self.weights: NDArray[np.float64] = on_words
        self.heaviest = on_words.max(1, initial=0.0)
        self.source = on_words.argmax(1) if on_words.size else np.zeros(self.count, dtype=np.int64)
        self._targets: dict[int, list[int]] = {}
        for target in np.flatnonzero(self.heaviest > 0).tolist():
            self._targets.setdefault(int(self.source[target]), []).append(target)

    def targets(self, source: int, within: Run) -> list[int]:
        """Give the words of the output that are linked to a source word."""
        return [item for item in self._targets.get(source, []) if within.start <= item < within.end]

    def best_run(self, source: Run, within: Run, taken: NDArray[np.bool_] | None = None) -> Run | None:
        """Find the run of output words that is linked to source words rather than to others; None where none is.

        Words that are `taken` are left out. Where no word is linked to these, the one that attends to them most is it.
        """
        inside = (self.source >= source.start) & (self.source < source.end)
        scores = np.where(inside, self.heaviest, -OUTSIDE * self.heaviest)[within.start : within.end]
        share = self.weights[within.start : within.end, source.start : source.end].sum(1)
        if taken is not None:
            scores = np.where(taken[within.start : within.end], -_TAKEN, scores)
            share = np.where(taken[within.start : within.end], 0.0, share)
        if not scores.size:
            return None
        sums = np.concatenate([[0.0], np.cumsum(scores)])
        gain = sums[1:] - np.minimum.accumulate(sums[:-1])
        last = int(gain.argmax())
        if gain[last] > 0:
            first = int(sums[: last + 1].argmin())
            return Run(within.start + first, within.start + last + 1)
        most = int(share.argmax())
        return Run(within.start + most, within.start + most + 1) if share[most] > 0 else None


def insert_marks(marked: Marked, text: str, weights: Float[Tensor, "target source"] | None) -> str:
    """Write a translation with the marks of its source.

    - `weights`: how much each of `words(text)` comes from each word of the source (`influences`); None where the output
      has no words.
    """
    target = spans_of(text, words(text))
    if weights is None or len(weights) != len(target):
        target = []
    inserted = _Inserted(marked, Links(weights) if weights is not None and target else None)
    return _Writer(marked, text, target, inserted).write()


@dataclass
class _Inserted:
    """Where each mark goes, by its number in `id`: words of the output."""

    marked: Marked
    links: Links | None
    runs: dict[int, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spans = spans_of(self.marked.plain, words(self.marked.plain))
        self.ends = np.array([span.end for span in self.spans])
        self.starts = np.array([span.start for span in self.spans])
        whole = Run(0, 0 if self.links is None else self.links.count)
        self._insert(self.marked.marks, whole)

    def _insert(self, marks: Sequence[Mark], within: Run) -> None:
        self._insert_pairs([mark for mark in marks if self._words(mark)], within)
        pairs = sorted((*self.runs[id(mark)], number) for number, mark in enumerate(marks) if id(mark) in self.runs)
        floor = within.start
        for number, mark in enumerate(marks):
            if id(mark) in self.runs:
                continue
            boundary = within.start if self.links is None else self._nearest(mark, self.links, within)
            boundary = _outside(boundary, pairs, number)
            if mark.ordered:
                boundary = floor = max(floor, boundary)
            self.runs[id(mark)] = Run(boundary, boundary)
        for mark in marks:
            if mark.inner:
                self._insert(mark.inner, self.runs[id(mark)])

    def _words(self, mark: Mark) -> Run | None:
        """Give the source words that a pair of marks touches."""
        if not mark.closing:
            return None
        first = int(np.searchsorted(self.ends, mark.start, side="right"))
        last = int(np.searchsorted(self.starts, mark.end, side="left"))
        return Run(first, last) if first < last else None

    def _insert_pairs(self, marks: Sequence[Mark], within: Run) -> None:
        """Give each pair its run, those that need the fewest words first."""
        if self.links is None:
            return
        wishes = []
        for number, mark in enumerate(marks):
            source = self._words(mark)
            assert source is not None
            run = self.links.best_run(source, within)
            wishes.append((within.end if run is None else run.end - run.start, number, mark, source, run))
        taken = np.zeros(self.links.count, dtype=bool)
        for _, _, mark, source, run in sorted(wishes, key=lambda item: item[:2]):
            if run is not None and taken[run.start : run.end].any():
                run = self.links.best_run(source, within, taken)
            if run is not None:
                self.runs[id(mark)] = run
                taken[run.start : run.end] = True

    def _nearest(self, mark: Mark, links: Links, within: Run) -> int:
        after = int(np.searchsorted(self.ends, mark.start, side="right"))  # the word at the mark, or the one behind it
        clings = mark.start > 0 and not self.marked.plain[mark.start - 1].isspace()
        apart = self.marked.plain[mark.start : mark.start + 1].isspace() or mark.start == len(self.marked.plain)
        follows = mark.follows or (clings and apart)
        if after < len(self.spans) and self.spans[after].start < mark.start:
            follows = False  # inside a word: before it
        for distance in range(_NEAR):
            sides = [(after + distance, False), (after - 1 - distance, True)]
            for source, before in reversed(sides) if follows else sides:
                if targets := links.targets(source, within):
                    return targets[-1] + 1 if before else targets[0]
        return within.start if after == 0 else within.end


def _outside(boundary: int, pairs: Sequence[tuple[int, int, int]], number: int) -> int:
    """Move a boundary out of a pair's run: before pairs that come later in the source than mark `number`, else behind.

    `pairs` are the starts and ends of their runs, in order, and their own numbers.
    """
    index = bisect_left(pairs, boundary, key=lambda pair: pair[0]) - 1
    if index < 0 or pairs[index][1] <= boundary:
        return boundary
    start, end, other = pairs[index]
    return start if number < other else end


class _Writer:
    """Writes words and marks; the space between two words is kept back until what follows it is known."""

    def __init__(self, marked: Marked, text: str, target: Sequence[Span], inserted: _Inserted) -> None:
        self.marked, self.text, self.target, self.inserted = marked, text, target, inserted
        self.output: list[str] = []
        self.gap = ""
        self.begun = False

    def write(self) -> str:
        """Write everything."""
        if not self.target:
            return "".join([*_flat(self.marked.marks), escape(self.text, self.marked.form)])
        self._write(self.marked.marks, Run(0, len(self.target)))
        return "".join([*self.output, self.text[self.target[-1].end :]])

    def _write(self, marks: Sequence[Mark], within: Run) -> None:
        order = sorted(enumerate(marks), key=lambda item: (*self.inserted.runs[id(item[1])], item[0]))
        position = within.start
        for _, mark in order:
            run = self.inserted.runs[id(mark)]
            self._write_words(position, run.start)
            if mark.closing:
                self._flush()
                self.output.append(mark.opening)
                self._write(mark.inner, run)
                self.output.append(mark.closing)
            else:
                self._write_single(mark, run.start)
            position = run.end
        self._write_words(position, within.end)

    def _write_words(self, start: int, end: int) -> None:
        for index in range(start, end):
            self._flush()
            span = self.target[index]
            self.output.append(escape(self.text[span.start : span.end], self.marked.form))
            following = self.target[index + 1].start if index + 1 < len(self.target) else span.end
            self.gap, self.begun = self.text[span.end : following], True

    def _write_single(self, mark: Mark, index: int) -> None:
        plain, position = self.marked.plain, mark.start
        clings = position > 0 and not plain[position - 1].isspace()
        apart = position < len(plain) and plain[position].isspace()
        gap = self.gap
        if mark.follows or (clings and apart):  # stays with the word before
            self.output.append(mark.opening)
            return
        if mark.replaces and not gap and not clings and self.begun and not self._ends_open():
            self.gap = " "
        self._flush()
        self.output.append(mark.opening)
        wanted = (apart or (clings and gap)) if mark.replaces else (apart and gap)
        if wanted and self._begins_word(index):
            self.gap = " "

    def _flush(self) -> None:
        if self.gap:
            self.output.append(self.gap)
        self.gap = ""

    def _ends_open(self) -> bool:
        return bool(self.output) and self.output[-1][-1:] in "¿¡([{“«"

    def _begins_word(self, index: int) -> bool:
        if index >= len(self.target):
            return False
        first = self.text[self.target[index].start]
        return first.isalnum() or first in "¿¡([{“«\"'"


def _flat(marks: Sequence[Mark]) -> Iterator[str]:
    """Give the marks of a text without words."""
    for mark in marks:
        yield mark.opening
        yield from _flat(mark.inner)
        yield mark.closing
