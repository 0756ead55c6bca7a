"""Link words with one model or with two, some pairs at a time: what `regard align` and `regard.align` both do."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from regard.data.corpora.pair import Pair
from regard.data.text.word_spans import Division
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import PLAIN, Reading
from regard.inspection.readings.symmetrize import AGREED, Join
from regard.tasks.alignment.align import align, chosen_reading, describe_cut, join_directions, shorten, turned_pairs
from regard.tasks.alignment.counted import (
    BOTH_EXPECT,
    COUNTING,
    DIAGONAL,
    align_counted,
    align_diagonally,
    count_both_directions,
    count_words,
)
from regard.tasks.alignment.model import WordAligner, load_aligner
from regard.tasks.alignment.reading_choice import (
    DEEP,
    LEAST,
    choose_by_agreement,
    choose_by_counts,
    choose_by_gold,
    choose_threshold,
    count_layers,
)
from regard.tasks.alignment.result import Alignment
from regard.tasks.model_folder import check_kind, find_model
from regard.tasks.translation.lines import Tally
from regard.tasks.translation.model import Translator
from regard.tasks.translation.model import load as load_translator

BOTH = ["hmm", "hmm"]
"""Models that learn from each other."""
AGREE_ON = 500
"""Pairs on which the agreement of two directions is measured, at most."""
AT_ONCE = 200
"""Pairs that are aligned together, before they are given."""
Watch: TypeAlias = Callable[[str, int, int], None]
Linking: TypeAlias = Callable[[Sequence[Pair]], list[Alignment]]
Attending: TypeAlias = Translator | WordAligner
"""What links words by attention."""


def _note_nothing(text: str) -> None:
    """Leave notes out."""


def load_attending(path: str | Path, *, device: str = "cpu", respell: bool = True) -> Attending:
    """Load a translator or an aligner, whichever the folder holds."""
    if check_kind(find_model(path), "translate", "align") == "align":
        return load_aligner(path, device=device)
    return load_translator(path, device=device, respell=respell)


def check_choosing(
    models: Sequence[str | Path | Attending],
    *,
    develop: object,
    settings: Iterable[str] | None,
    train: object,
) -> None:
    """Raise where the reading is chosen twice, or where models have nothing to choose or to learn."""
    if develop and settings:
        raise ArgumentError("Either `develop` or `settings` must choose the reading; received both.")
    counted = all(item in (*COUNTING, DIAGONAL) for item in models)
    joined = list(models) == BOTH and not develop and all(str(item).startswith("threshold") for item in settings or ())
    if (develop or settings) and counted and not joined:
        raise ArgumentError(
            f"`develop` and `settings` must come with a model that attends; received {models[0]}, where there is "
            "nothing to choose but the threshold of hmm in both directions."
        )
    if train and not any(item in COUNTING for item in models):
        raise ArgumentError(
            f"`train` must come with {' or '.join(COUNTING)}, which count; received {models[0]}. Leave it out."
        )


class Aligner:
    """A model, perhaps one of the other direction too, and the readings chosen for them.

    `models` are folders, translators, an aligner, or "ibm-1" and "hmm", which count, and "diagonal". `watch` is called
    with what is done, how much of it, and of how much; `note` with each choice.
    """

    def __init__(
        self,
        models: Sequence[str | Path | Attending],
        *,
        words: Division,
        watch: Watch | None = None,
        note: Callable[[str], None] = _note_nothing,
        load: Callable[[str | Path], Attending] = load_attending,
    ) -> None:
        self.names = ["model" if isinstance(item, Attending) else str(item) for item in models]
        self.attending = [_open(item, load) for item in models]
        if len(models) == 2 and any(isinstance(item, WordAligner) for item in self.attending):
            raise ArgumentError(
                "`reverse` must be left out with an aligner, which attends in both directions; received "
                f"{self.names[1]}."
            )
        self.readings: list[Reading] = []
        self.read_by(None)
        self.words, self.tally, self.train_on = words, Tally(), list[Pair]()
        self._watch, self._note, self._done = watch, note, 0

    def read_by(self, chosen: Reading | None) -> None:
        """Read every model as settings choose; see `chosen_reading`."""
        self.readings = [
            chosen_reading(item, chosen) if isinstance(item, Translator) else chosen or PLAIN for item in self.attending
        ]

    def choose_by_gold(self, pairs: Sequence[Pair]) -> None:
        """Read each model where its links come nearest to gold ones."""
        for number, model in enumerate(self.attending):
            if model is None:
                continue
            gold_pairs = turned_pairs(pairs) if number else pairs
            watch = self._counted("choosing", len(gold_pairs))
            if isinstance(model, WordAligner):
                choice = choose_threshold(model, gold_pairs, words=self.words, watch=watch)
            else:
                choice = choose_by_gold(model, gold_pairs, words=self.words, watch=watch)
            self.readings[number] = choice.reading
            self._note(f"{self.names[number]}: {choice.reading}, by gold links: {choice.scores}")

    def choose_by_agreement(self, pairs: Sequence[Pair]) -> None:
        """Read two translators where they agree most, and a deep one alone where it agrees most with counts.

        One of few layers, with few pairs, or with a head that was trained on word links stays as it is.
        """
        translators = [item for item in self.attending if isinstance(item, Translator)]
        if all(item.reading != PLAIN for item in translators):
            return
        if len(self.attending) == len(translators) == 1:
            self._choose_by_counts(translators[0], pairs)
        if len(translators) < 2 or not pairs:
            return
        forward, backward = translators
        for number, choice in enumerate(choose_by_agreement(forward, backward, pairs[:AGREE_ON], words=self.words)):
            if translators[number].reading != PLAIN:
                continue
            self.readings[number] = choice.reading
            agreement = f"{1 - choice.scores.error:.1%}".replace("%", " %")
            self._note(f"{self.names[number]}: {choice.reading}, by agreement: {agreement}")

    def _choose_by_counts(self, translator: Translator, pairs: Sequence[Pair]) -> None:
        if len(pairs) < LEAST or count_layers(translator) < DEEP:
            return
        choice = choose_by_counts(translator, pairs[:AGREE_ON], words=self.words)
        self.readings[0] = choice.reading
        agreement = f"{1 - choice.scores.error:.1%}".replace("%", " %")
        self._note(f"{self.names[0]}: {choice.reading}, by agreement with hmm: {agreement}")

    def align(self, pairs: Sequence[Pair], join: Join | None = None) -> Iterator[Alignment]:
        """Give the alignments in order, some pairs at a time, so that memory does not grow with their number.

        `join` is by default "agreement" where "hmm" counts both directions, which then learn together, and "grow-diag"
        elsewhere.
        """
        both = self.names == BOTH and not any(self.attending)
        join = join or ("agreement" if both else "grow-diag")
        chosen = self.readings[0].threshold
        if both and chosen and join != "agreement":
            raise ArgumentError(f'`threshold` must go with `join` "agreement" for counts; received {join}.')
        threshold = chosen or (BOTH_EXPECT if both else AGREED)
        aligners = self._counted_both(pairs) if both else self._aligners(pairs)
        for start in range(0, len(pairs), AT_ONCE):
            some, cut = shorten(pairs[start : start + AT_ONCE], *self.attending, words=self.words)
            for number in cut:
                self.tally.add_cut(start + number + 1)
            result = aligners[0](some)
            if len(aligners) == 2:
                result = join_directions(result, aligners[1](turned_pairs(some)), join, threshold=threshold)
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
        return min((item.reach.source for item in self.attending if item is not None), default=0)

    def _counted_both(self, pairs: Sequence[Pair]) -> list[Linking]:
        both = count_both_directions([*self.train_on, *pairs])
        return [partial(align_counted, counted, words=self.words) for counted in both]

    def _aligners(self, pairs: Sequence[Pair]) -> list[Linking]:
        return [self._aligner(number, pairs) for number in range(len(self.names))]

    def _aligner(self, number: int, pairs: Sequence[Pair]) -> Linking:
        model, name, reading = self.attending[number], self.names[number], self.readings[number]
        watch = None if number else self._counted("aligning", len(pairs))
        if isinstance(model, WordAligner):
            return partial(model.align, threshold=read_threshold(reading), words=self.words, watch=watch)
        if model is not None:
            return partial(align, model, reading=reading, words=self.words, watch=watch)
        for counting in COUNTING:
            if name == counting:
                counted_pairs = [*self.train_on, *pairs]
                counted = count_words(turned_pairs(counted_pairs) if number else counted_pairs, model=counting)
                return partial(align_counted, counted, words=self.words)
        return partial(align_diagonally, words=self.words)

    def _counted(self, doing: str, total: int) -> Callable[[int], None] | None:
        watch = self._watch
        return None if watch is None else lambda done: watch(doing, self._done + done, total)


def read_threshold(reading: Reading) -> float:
    """Give the threshold of an aligner, which has nothing else to choose."""
    if reading != Reading(threshold=reading.threshold):
        raise ArgumentError(f"`settings` of an aligner must be threshold alone; received {reading}.")
    return AGREED if reading.threshold is None else reading.threshold


def _open(model: str | Path | Attending, load: Callable[[str | Path], Any]) -> Attending | None:
    if isinstance(model, Attending):
        return model
    return None if model in (*COUNTING, DIAGONAL) else load(model)
