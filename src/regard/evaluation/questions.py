"""How many questions are answered right: in all, by kind, and by baselines that never read the picture."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from regard.errors import ArgumentError


class AnswerScores(NamedTuple):
    """Shares of questions that were answered right."""

    accuracy: float
    by_kind: Mapping[str, float]
    """For each kind of question, in the order of the letters."""
    questions: Mapping[str, int]
    """How many there are of each kind."""


def score_answers(answers: Sequence[str], gold: Sequence[str], kinds: Sequence[str]) -> AnswerScores:
    """Compare answers with the right ones.

    >>> score_answers(["red", "2", "3"], ["red", "2", "4"], ["color", "count", "count"])
    AnswerScores(accuracy=0.666..., by_kind={'color': 1.0, 'count': 0.5}, questions={'color': 1, 'count': 2})
    """
    if not len(answers) == len(gold) == len(kinds):
        raise ArgumentError(
            f"`answers`, `gold` and `kinds` must be of one length; received {len(answers)}, {len(gold)} and "
            f"{len(kinds)}."
        )
    right: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for answer, true, kind in zip(answers, gold, kinds, strict=True):
        counts[kind] += 1
        right[kind] += answer == true
    by_kind = {kind: right[kind] / counts[kind] for kind in sorted(counts)}
    total = sum(right.values()) / max(1, sum(counts.values()))
    return AnswerScores(total, by_kind, {kind: counts[kind] for kind in sorted(counts)})


class BlindBaseline:
    """Answers without a picture: the commonest answer to the same question, or to one that begins alike.

    Learns from training questions and their answers. What was never asked is answered as the questions that share its
    first two words, or as all. With `words=False` it does not read the question either: the commonest answer of all.

    >>> blind = BlindBaseline(["what color is it?", "what color is it?", "is it big?"], ["red", "red", "no"])
    >>> blind.answer("what color is it?"), blind.answer("is it small?"), blind.answer("why?")
    ('red', 'no', 'red')
    """

    def __init__(self, questions: Sequence[str], answers: Sequence[str], *, words: bool = True) -> None:
        counts: defaultdict[Hashable, Counter[str]] = defaultdict(Counter)
        for question, answer in zip(questions, answers, strict=True):
            for key in _keys(question) if words else ("",):
                counts[key][answer] += 1
        # The commonest, and of several the first by its letters.
        self._best = {key: min(result, key=lambda one: (-result[one], one)) for key, result in counts.items()}

    def answer(self, question: str) -> str:
        """Guess."""
        return next((self._best[key] for key in _keys(question) if key in self._best), "")


def _keys(question: str) -> tuple[Hashable, ...]:
    """Give what a question is known by: all its words, the first two, and none."""
    words = tuple(question.lower().split())
    return words, words[:2], ""
