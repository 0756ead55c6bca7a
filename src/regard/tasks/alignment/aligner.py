"""Link words with one model or with two, some pairs at a time: what `regard align` and `regard.align` both do."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from regard.data.corpora.pair import Pair
from regard.data.text.word_spans import Division
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import Reading
from regard.inspection.readings.symmetrize import Join
from regard.tasks.alignment.align import (
    PLAIN,
    align,
    align_counted,
    align_diagonally,
    count_words,
    describe_cut,
    join_directions,
    shorten,
    turned_pairs,
)
from regard.tasks.alignment.reading_choice import choose_by_agreement, choose_by_gold
from regard.tasks.alignment.result import Alignment
from regard.tasks.translation.lines import Tally
from regard.tasks.translation.model import Translator, load

COUNTING, DIAGONAL = "ibm-1", "diagonal"
AGREE_ON = 500
"""Pairs on which the agreement of two directions is measured, at most."""
AT_ONCE = 200
"""Pairs that are aligned together, before they are given."""
Watch: TypeAlias = Callable[[str, int, int], None]


def _note_nothing(text: str) -> None:
    """Leave notes out."""


def check_choosing(
    models: Sequence[str | Path | Translator], *, develop: object, settings: object, train: object
) -> None:
    """Raise where the reading is chosen twice, or where models have nothing to choose or to learn."""
    if develop and settings:
        raise ArgumentError("Either `develop` or `settings` must choose the reading; received both.")
    if (develop or settings) and all(item in (COUNTING, DIAGONAL) for item in models):
        raise ArgumentError(
            f"`develop` and `settings` must come with a model that attends; received {models[0]}, where there is "
            "nothing to choose."
        )
    if train and COUNTING not in models:
        raise ArgumentError(f"`train` must come with {COUNTING}, which counts; received {models[0]}. Leave it out.")


class Aligner:
    """A model, perhaps one of the other direction too, and the readings chosen for them.

    `models` are folders, translators, or the baselines "ibm-1" and "diagonal". `watch` is called with what is done, how
    much of it, and of how much; `note` with each choice.
    """

    def __init__(
        self,
        models: Sequence[str | Path | Translator],
        *,
        words: Division,
        watch: Watch | None = None,
        note: Callable[[str], None] = _note_nothing,
        load: Callable[[str | Path], Translator] = load,
    ) -> None:
        self.names = ["model" if isinstance(item, Translator) else str(item) for item in models]
        self.translators = [_open(item, load) for item in models]
        self.readings: list[Reading] = [PLAIN] * len(models)
        self.words, self.tally, self.train_on = words, Tally(), list[Pair]()
        self._watch, self._note, self._done = watch, note, 0

    def choose_by_gold(self, pairs: Sequence[Pair]) -> None:
        """Read each model where its links come nearest to gold ones."""
        for number, translator in enumerate(self.translators):
            if translator is not None:
                gold_pairs = turned_pairs(pairs) if number else pairs
                watch = self._counted("choosing", len(gold_pairs))
                choice = choose_by_gold(translator, gold_pairs, words=self.words, watch=watch)
                self.readings[number] = choice.reading
                self._note(f"{self.names[number]}: {choice.reading}, by gold links: {choice.scores}")

    def choose_by_agreement(self, pairs: Sequence[Pair]) -> None:
        """Read two models where they agree most; one alone stays as it is."""
        if len(self.translators) < 2 or None in self.translators or not pairs:
            return
        forward, backward = (item for item in self.translators if item is not None)
        for number, choice in enumerate(choose_by_agreement(forward, backward, pairs[:AGREE_ON], words=self.words)):
            self.readings[number] = choice.reading
            agreement = f"{1 - choice.scores.error:.1%}".replace("%", " %")
            self._note(f"{self.names[number]}: {choice.reading}, by agreement: {agreement}")

    def align(self, pairs: Sequence[Pair], join: Join) -> Iterator[Alignment]:
        """Give the alignments in order, some pairs at a time, so that memory does not grow with their number."""
        aligners = [self._aligner(number, pairs) for number in range(len(self.names))]
        for start in range(0, len(pairs), AT_ONCE):
            some, cut = shorten(pairs[start : start + AT_ONCE], *self.translators, words=self.words)
            for number in cut:
                self.tally.add_cut(start + number + 1)
            result = aligners[0](some)
            if len(aligners) == 2:
                result = join_directions(result, aligners[1](turned_pairs(some)), join)
            for number, alignment in enumerate(result, start=self._done + 1):
                if alignment.read_as:
                    self.tally.add_respelled(number, alignment.read_as)
            yield from result
            self._done += len(some)

    def warnings(self) -> list[str]:
        """Name the lines that were not read to their end, and words that were not read as typed."""
        return list(self.tally.warnings(self._reach()))

    def cut_warning(self, total: int) -> str:
        """Describe which of `total` pairs were not read to their end; nothing where all were."""
        if not self.tally.cut_lines:
            return ""
        return describe_cut(self.tally.cut_lines, total, self.tally.first_cut[0] - 1, reach=self._reach())

    def _reach(self) -> int:
        return min((item.reach.source for item in self.translators if item is not None), default=0)

    def _aligner(self, number: int, pairs: Sequence[Pair]) -> Callable[[Sequence[Pair]], list[Alignment]]:
        translator = self.translators[number]
        if translator is not None:
            watch = None if number else self._counted("aligning", len(pairs))
            return partial(align, translator, reading=self.readings[number], words=self.words, watch=watch)
        if self.names[number] == COUNTING:
            counted_pairs = [*self.train_on, *pairs]
            counted = count_words(turned_pairs(counted_pairs) if number else counted_pairs, words=self.words)
            return partial(align_counted, counted, words=self.words)
        return partial(align_diagonally, words=self.words)

    def _counted(self, doing: str, total: int) -> Callable[[int], None] | None:
        watch = self._watch
        return None if watch is None else lambda done: watch(doing, self._done + done, total)


def _open(model: str | Path | Translator, load: Callable[[str | Path], Any]) -> Translator | None:
    if isinstance(model, Translator):
        return model
    return None if model in (COUNTING, DIAGONAL) else load(model)
