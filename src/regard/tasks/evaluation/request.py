"""What to measure on, as a caller names it, read for models of each kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from regard.config.read import read_settings
from regard.errors import ArgumentError
from regard.tasks.evaluation.aligned import MeasuringLinks
from regard.tasks.evaluation.evaluate import Evaluating
from regard.tasks.evaluation.held_out import Choice
from regard.tasks.evaluation.sides import MeasuringSide
from regard.tasks.evaluation.text_comparison import find_common_text
from regard.tasks.evaluation.texts import MeasuringText, NamedText, find_run_text, find_text
from regard.tasks.language.data import Text
from regard.tasks.task import TASKS

Data: TypeAlias = str | Path | NamedText | Sequence[str | Path | NamedText]
"""A corpus, or several texts."""


class Request(NamedTuple):
    """What to measure on, and how; empty values are left out."""

    data: Data
    source: str
    target: str
    split: str
    trust: bool
    settings: Mapping[str, Any]

    def for_pairs(self) -> Evaluating:
        """Read it for a translator."""
        corpus = self.one_corpus() if self.data else ""
        named = {"corpus": corpus, "source": self.source, "target": self.target, "split": self.split}
        chosen: dict[str, Any] = {name: item for name, item in named.items() if item}
        return read_settings(Evaluating, {"data": chosen | ({"trust": True} if self.trust else {})}, self.settings)

    def for_links(self) -> tuple[Choice, MeasuringLinks]:
        """Read it for an aligner, on pairs that are named."""
        named = {"corpus": self.one_corpus() if self.data else "", "source": self.source, "target": self.target}
        chosen = {name: item for name, item in {**named, "split": self.split}.items() if item}
        return read_settings(Choice, chosen), read_settings(MeasuringLinks, self.settings)

    def for_text(self, run: Path | None) -> tuple[MeasuringText, dict[str, Text]]:
        """Read it for a language model: the texts that are named, or the one that `run` held out."""
        settings = self._read_measuring()
        if self.data:
            return settings, {name: text for name, text, _ in map(_find, self._items())}
        if run is None:
            raise ArgumentError("`data` must name a text for a model that was loaded; received nothing.")
        return settings, dict([find_run_text(run, self.split, trust=self.trust)])

    def for_texts(self, runs: Sequence[Path]) -> tuple[str, Text, MeasuringText]:
        """Read it for several language models, which are compared on one text."""
        settings = self._read_measuring()
        if not self.data:
            return *find_common_text(runs, self.split, trust=self.trust), settings
        if len(self._items()) > 1:
            raise ArgumentError(f"`data` must be one text to compare on; received {len(self._items())}.")
        name, text, _ = _find(self._items()[0])
        return name, text, settings

    def for_side(self, task: str) -> MeasuringSide:
        """Read it for a model that is measured on what its run held out; a classifier takes data of its own too."""
        if task != "align":
            self._leave_out(("source", "target"), f"{TASKS[task].model}, which is measured on one corpus")
        if task not in ("classify", "images"):
            self._leave_out(("data",), f"{TASKS[task].model}, which is measured on what its run held out")
        if self.data and self.split:
            raise ArgumentError(f"`split` must be left out with `data`, which is read whole; received {self.split}.")
        side = read_settings(MeasuringSide, self.settings)
        for name, column in (("text", side.text), ("label", side.label)):
            if column and not (task == "classify" and self.data):
                raise ArgumentError(
                    f"{name}: must be left out but for a text classifier that is measured on `data`; received {column}."
                )
        return side

    def one_corpus(self) -> str:
        """Give the one corpus that is named."""
        items = self._items()
        if items and isinstance(items[0], NamedText):
            raise ArgumentError(
                f"Text files must be left out but for a language model; received {items[0].name}. Other data is named "
                "by `data`."
            )
        if len(items) != 1:
            received = str(len(items)) if items else "nothing"
            raise ArgumentError(f"`data` must name one corpus; received {received}.")
        return str(items[0])

    def _items(self) -> list[str | Path | NamedText]:
        data = [self.data] if isinstance(self.data, str | Path | NamedText) else self.data
        return [item for item in data if item]

    def _read_measuring(self) -> MeasuringText:
        self._leave_out(("source", "target"), "a language model, which is measured on plain text, `data`")
        if self.data and self.split:
            raise ArgumentError(f"`split` must be left out with `data`, which is read whole; received {self.split}.")
        return read_settings(MeasuringText, self.settings)

    def _leave_out(self, names: Sequence[str], why: str) -> None:
        for name in names:
            if value := getattr(self, name):
                raise ArgumentError(f"`{name}` must be left out for {why}; received {value}.")


def _find(item: str | Path | NamedText) -> NamedText:
    return item if isinstance(item, NamedText) else find_text(item)
