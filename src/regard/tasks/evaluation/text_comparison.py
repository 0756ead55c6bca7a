"""Compare language models on one text."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, DataError
from regard.tasks.evaluation.comparison import system_names
from regard.tasks.evaluation.evaluate import Watch
from regard.tasks.evaluation.texts import MeasuringText, TextEvaluation, evaluate_texts, find_run_text
from regard.tasks.language.data import Text
from regard.tasks.language.model import load_language


@dataclass(frozen=True, kw_only=True, eq=False)
class TextComparison:
    """Language models on one text; the first is the baseline."""

    text: str
    """The name of the text."""
    evaluations: tuple[TextEvaluation, ...]

    @property
    def notes(self) -> list[str]:
        """Return which figures cannot be compared."""
        totals, notes = [item.total for item in self.evaluations], []
        if len({total.tokenization for total in totals}) > 1:
            notes.append("the models have different tokens: compare bits a character, not perplexity")
        if any(total.unknown for total in totals):
            notes.append("a model with unknown tokens did not spell them, so its bits are too low to compare")
        if len({total.characters for total in totals}) > 1:
            notes.append("the tokens of some models drop white space or case, so characters are not the same")
        return notes

    def __str__(self) -> str:
        first = self.evaluations[0]
        lines = [f"{self.text}: {first.total.characters:,} characters; baseline {first.name}"]
        lines += [f"{item.name}: {item.total.bits_per_character:.4f} bits a character" for item in self.evaluations]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def table(self) -> dict[str, Any]:
        """Give all of it as plain values."""
        return {
            "text": self.text,
            "baseline": self.evaluations[0].name,
            "systems": [item.table() for item in self.evaluations],
            "notes": self.notes,
        }


def compare_on_text(
    systems: Sequence[Path], name: str, text: Text, settings: MeasuringText, *, watch: Callable[[str], Watch]
) -> TextComparison:
    """Measure each model on the text; `stride` concerns only those that read windows."""
    if len(systems) < 2:
        raise ArgumentError(f"`systems` must be two models or more; received {len(systems)}. For one: evaluate.")
    models = [load_language(path, device=settings.device) for path in systems]
    evaluations = [
        evaluate_texts(
            model,
            {name: text},
            name=system,
            stride=settings.stride if model.reads_windows else 0,
            watch=watch(system),
        )
        for model, system in zip(models, system_names(systems), strict=True)
    ]
    return TextComparison(text=name, evaluations=tuple(evaluations))


def find_common_text(systems: Sequence[Path], split: str = "", *, trust: bool = False) -> tuple[str, Text]:
    """Give the text that every run has held out, which must be the same, and its name."""
    (name, text), *others = (find_run_text(path, split, trust=trust) for path in systems)
    digest = _digest(text)
    for other, held_out in others:
        if _digest(held_out) != digest:
            raise DataError(
                f"Language models must be compared on the same text; {name} and {other} are not the same. Name one for "
                "all: `data`."
            )
    return name, text


def _digest(text: Text) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for line in text:
        digest.update(f"{line}\n".encode(errors="replace"))
    return digest.hexdigest()
