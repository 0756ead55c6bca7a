"""Evaluate a language model on texts: in which units, of which tokens, and how they were read."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from regard import __version__
from regard.data.builtin.stories import stories
from regard.data.corpora.catalogue import check_builtin, is_builtin
from regard.errors import ArgumentError, DataError, near_miss
from regard.evaluation.language import Surprise
from regard.models.language.network import LanguageNetwork
from regard.models.sequence.build import count_parameters
from regard.tasks.evaluation.evaluate import Watch
from regard.tasks.evaluation.held_out import check_trusted, run_of
from regard.tasks.language.data import Text, find_files, gather_text
from regard.tasks.language.model import LanguageModel
from regard.tasks.language.settings import LanguageConfig
from regard.tasks.language.signature import describe_spec

_INSTEAD = "Name text files instead: `data`."
_SIDES = ("test", "valid", "train")


@dataclass(frozen=True, kw_only=True)
class MeasuringText:
    """How to measure."""

    stride: int = 0
    """Tokens that each window of a model without a state adds; 0 for the whole window."""
    device: str = "auto"
    """Where the model runs: cpu, cuda, or auto."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TextEvaluation:
    """Figures of one model on texts."""

    name: str
    texts: Mapping[str, Surprise]
    """Each text, read from its beginning."""
    reading: str
    """How the texts were read."""
    parameters: int | None
    """None for models that count."""
    tokens_per_second: float
    signature: str

    @property
    def total(self) -> Surprise:
        """All texts together."""
        return Surprise.total(list(self.texts.values()))

    @property
    def title(self) -> str:
        """What was measured, on what, and how much of it."""
        return f"{self.name} on {', '.join(self.texts)}: {self.total.characters:,} characters"

    def __str__(self) -> str:
        total = self.total
        figures = (
            f"perplexity {total.perplexity:,.2f} a token, {total.bits_per_character:.4f} bits a character, "
            f"{total.bits_per_byte:.4f} bits a byte"
        )
        return "\n".join([self.title, figures, self.signature])

    def table(self) -> dict[str, Any]:
        """Give all of it as plain values."""
        return {
            "name": self.name,
            **self.total.figures(),
            "tokenization": self.total.tokenization,
            "reading": self.reading,
            "parameters": self.parameters,
            "tokens_per_second": self.tokens_per_second,
            "texts": {name: item.figures() for name, item in self.texts.items()},
            "signature": self.signature,
        }


def evaluate_texts(
    model: LanguageModel, texts: Mapping[str, Text], *, name: str = "", stride: int = 0, watch: Watch | None = None
) -> TextEvaluation:
    """Measure a model on each text."""
    if not texts:
        raise ArgumentError("`texts` must name at least one text; received none.")
    for item, text in texts.items():
        if not text.size.characters:
            raise DataError(f"{item} must have at least one line; received an empty text.")
    network = model.model if isinstance(model.model, LanguageNetwork) else None
    begun = time.perf_counter()
    result = {item: model.measure(text, stride=stride, watch=watch) for item, text in texts.items()}
    seconds = time.perf_counter() - begun
    first = next(iter(result.values()))
    kinds = f"task:language|{describe_spec(model.config.model)}|tokens:{first.tokenization}"
    window = f"|window:{model.config.length}|stride:{stride or model.config.length}" if _windows(network) else ""
    return TextEvaluation(
        name=name,
        texts=result,
        reading=_describe(network, model.config.length, stride),
        parameters=None if network is None else count_parameters(network),
        tokens_per_second=sum(item.tokens for item in result.values()) / seconds,
        signature=f"{kinds}{window}|texts:{'+'.join(texts)}|version:{__version__}",
    )


def _windows(network: LanguageNetwork | None) -> bool:
    return network is not None and not network.carries


def _describe(network: LanguageNetwork | None, length: int, stride: int) -> str:
    if not _windows(network):
        return "each text from beginning to end"
    if not stride or stride == length:
        return f"in windows of {length:,} tokens that do not overlap"
    return f"in windows of {length:,} tokens, each {stride:,} after the one before; what is new in them counts"


class NamedText(NamedTuple):
    """A text to measure on."""

    name: str
    text: Text
    note: str = ""
    """What was left out of a folder, if anything."""


def find_text(path: str | Path) -> NamedText:
    """Find a text file, the files of a folder, or the test of a built-in text."""
    if is_builtin(str(path)):
        check_builtin(str(path), "language", argument="data")
        return NamedText(f"{path}, test", Text(lines=tuple(stories(split="test", size=500))))
    files = find_files(Path(path))
    return NamedText(str(path), Text(files.paths), files.note)


def find_run_text(run: str | Path, split: str = "", *, trust: bool = False) -> tuple[str, Text]:
    """Give the text that a run tested with, or else validated on, or another side of it, read again; and its name.

    `trust` opens what config.toml names, although the run was not made here.
    """
    folder = run_of(run)
    if folder is None:
        raise ArgumentError(
            f"The text must be named for a model without its run; {run} has no config.toml beside it. Name text "
            "files: `data`."
        )
    if split and split not in _SIDES:
        raise ArgumentError(
            f"`split` must be one of {', '.join(_SIDES)} for the text of a run; received {split}."
            f"{near_miss(split, _SIDES)}"
        )
    data = folder.read_settings(LanguageConfig).data
    names = [name for name in (data.text, *data.more, data.valid, data.test) if name]
    check_trusted(folder, names, trust=trust, instead=_INSTEAD)
    try:
        corpus = gather_text(data)
    except (DataError, OSError) as error:
        raise DataError(
            f"The text of {folder.path} must be there again to measure on what was held out; received: {error} Name "
            "text files: `data`."
        ) from error
    if (folder.fingerprint() or corpus.fingerprint) != corpus.fingerprint:
        raise DataError(
            f"The text of {folder.path} must be what it was trained on; it has changed since, so that what is held out "
            "may have been seen in training. Put the old text back, or name text files: `data`."
        )
    side = split or ("test" if corpus.test else "valid")
    text: Text | None = getattr(corpus, side)
    if text is None:
        raise DataError(
            f"The run in {folder.path} must have a text to test with; received none (data.test). Name text files, "
            '`data`, or take what it validated on: `split="valid"`.'
        )
    return f"{side} text of {folder.path}", text
