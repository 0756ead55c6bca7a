"""Work on lines: translating, aligning, tokenizing, and counting what an evaluation counts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from regard.data.corpora.pair import Pair, words
from regard.data.formats.pharaoh import format_links
from regard.data.text.tokenizer import Tokenizer, TokenizerPair
from regard.data.text.word_spans import Division
from regard.decoding.search import Search
from regard.errors import DataError
from regard.evaluation.measure import measure
from regard.evaluation.scoring import NAMES, PLAIN, Scoring
from regard.inspection.readings.alignment import Reading
from regard.inspection.readings.symmetrize import Join
from regard.scale.work import Compute, Done
from regard.tasks.alignment.align import align, chosen_reading, join_directions, shorten, turned_pairs
from regard.tasks.model_folder import check_kind, digest_model, find_model
from regard.tasks.text_lines import RawLine, understand
from regard.tasks.translation.lines import LineTranslator, Tally, Translate
from regard.tasks.translation.model import Translator, load

_ALIGNED = 200
"""Pairs that are aligned at once, as `regard align` does."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """Model folders that every worker sees, and what they hold: another model under the same name is refused."""

    paths: tuple[Path, ...]
    digest: str
    device: str = "auto"

    @classmethod
    def find(cls, paths: Sequence[Path], *, device: str = "auto") -> "Models":
        """Name the translators in these folders."""
        folders = [find_model(path) for path in paths]
        for folder in folders:
            check_kind(folder, "translate")
        digest = " ".join(map(digest_model, folders))
        return cls(paths=tuple(path.absolute() for path in paths), digest=digest, device=device)

    def check(self) -> None:
        """Raise unless they are the same here."""
        here = " ".join(digest_model(find_model(path)) for path in self.paths)
        if here != self.digest:
            raise DataError(
                f"{self.paths[0]} must be the same model on every machine, {self.digest}; received {here}. Put it "
                "where all of them read it."
            )


@dataclass(frozen=True, kw_only=True)
class TranslateLines:
    """Translate each line, as `regard translate` does."""

    models: Models
    source: Path
    translate: Translate = field(default_factory=Translate)
    dictionary: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[Path]:
        """The file of lines."""
        return (self.source,)

    def settings(self) -> dict[str, str]:
        """Name all that decides the output."""
        named = {name: str(value) for name, value in asdict(self.translate).items()}
        tables = {"dictionary": str(dict(self.dictionary)), "terms": str(dict(self.terms))}
        return {"work": "translate", "model": self.models.digest, **tables, **named}

    def start(self) -> Compute:
        """Load the models."""
        self.models.check()
        settings = self.translate
        translator = load(
            self.models.paths,
            device=self.models.device,
            unknown=settings.unknown,
            dictionary=self.dictionary,
            max_source_length=settings.max_source_length,
            respell=settings.respell,
            precision=settings.precision,
            shortlist=settings.shortlist,
        )
        return partial(_translate, LineTranslator(translator, settings, self.terms))


def _translate(work: LineTranslator, sides: list[list[RawLine]], first: int) -> Done:
    work.lines, work.tally = first, Tally()
    content = work(sides[0])
    return Done(content, work.tally.to_table() if work.tally != Tally() else {})


def merge_tallies(tables: Sequence[Mapping[str, object]]) -> Tally:
    """Add up what there was to warn of, in the order of the lines."""
    total = Tally().to_table()
    for table in filter(None, tables):
        for name, value in Tally.from_table(table).to_table().items():
            total[name] = total[name] or value if name == "utf16" else total[name] + value
    for kind in ("broken", "cut", "respelled"):
        total[f"first_{kind}"] = total[f"first_{kind}"][:5]
    total["respelled_words"] = list(dict.fromkeys(total["respelled_words"]))[:5]
    return Tally.from_table(total)


@dataclass(frozen=True, kw_only=True)
class AlignLines:
    """Link the words of each pair, as `regard align` does; a second model is of the other direction."""

    models: Models
    source: Path
    target: Path
    readings: tuple[Reading | None, ...]
    """Of each model; None is its own."""
    words: Division = "whitespace"
    join: Join = "grow-diag"
    respell: bool = True

    @property
    def inputs(self) -> tuple[Path, Path]:
        """The two files."""
        return self.source, self.target

    def settings(self) -> dict[str, str]:
        """Name all that decides the output."""
        named = {name: str(getattr(self, name)) for name in ("readings", "words", "join", "respell")}
        return {"work": "align", "model": self.models.digest, **named}

    def start(self) -> Compute:
        """Load the models."""
        self.models.check()
        translators = [load(path, device=self.models.device, respell=self.respell) for path in self.models.paths]

        def compute(sides: list[list[RawLine]], first: int) -> Done:
            pairs, links = _pairs(sides, first), list[str]()
            for start in range(0, len(pairs), _ALIGNED):
                links += self._align(translators, pairs[start : start + _ALIGNED])
            return Done("".join(f"{line}\n" for line in links).encode(), {})

        return compute

    def _align(self, translators: Sequence[Translator], pairs: Sequence[Pair]) -> list[str]:
        some, _ = shorten(pairs, *translators, words=self.words)
        readings = [chosen_reading(item, chosen) for item, chosen in zip(translators, self.readings, strict=True)]
        result = align(translators[0], some, reading=readings[0], words=self.words)
        if len(translators) == 2:
            other = align(translators[1], turned_pairs(some), reading=readings[1], words=self.words)
            result = join_directions(result, other, self.join)
        return [format_links(item.links) for item in result]


@dataclass(frozen=True, kw_only=True)
class TokenizeLines:
    """Divide each line into the tokens of a model."""

    models: Models
    source: Path
    side: Literal["source", "target"] = "source"
    numbers: bool = False
    """Write the tokens' numbers instead of their texts."""

    @property
    def inputs(self) -> tuple[Path]:
        """The file of lines."""
        return (self.source,)

    def settings(self) -> dict[str, str]:
        """Name all that decides the output."""
        return {"work": "tokenize", "model": self.models.digest, "side": self.side, "numbers": str(self.numbers)}

    def start(self) -> Compute:
        """Load the tokenizer."""
        self.models.check()
        tokenizers = TokenizerPair.load(find_model(self.models.paths[0]))
        write = tokenized(tokenizers.source if self.side == "source" else tokenizers.target, numbers=self.numbers)

        def compute(sides: list[list[RawLine]], first: int) -> Done:
            texts = [understand(line, first=first + index == 0).text for index, line in enumerate(sides[0])]
            return Done("".join(f"{line}\n" for line in write(texts)).encode(), {})

        return compute


def tokenized(tokenizer: Tokenizer, *, numbers: bool) -> Callable[[Sequence[str]], list[str]]:
    """Give the function that writes the tokens of texts, with spaces between them."""

    def write(texts: Sequence[str]) -> list[str]:
        encoded = tokenizer.encode_batch(texts)
        rows = [encoded[index].tolist() for index in range(len(texts))]
        return [" ".join(map(str, row) if numbers else tokenizer.pieces(row)) for row in rows]

    return write


@dataclass(frozen=True, kw_only=True)
class EvaluateLines:
    """Translate each source, and count what BLEU, chrF, TER and perplexity count: a JSON object for each pair."""

    models: Models
    source: Path
    target: Path
    search: Search = field(default_factory=Search)
    scoring: Scoring = PLAIN

    @property
    def inputs(self) -> tuple[Path, Path]:
        """The two files."""
        return self.source, self.target

    def settings(self) -> dict[str, str]:
        """Name all that decides the output."""
        named = {name: str(value) for name, value in (asdict(self.search) | asdict(self.scoring)).items()}
        return {"work": "evaluate", "model": self.models.digest, **named}

    def start(self) -> Compute:
        """Load the models."""
        self.models.check()
        translator = load(self.models.paths, device=self.models.device)

        def compute(sides: list[list[RawLine]], first: int) -> Done:
            rows = _count(translator, _pairs(sides, first), self.search, self.scoring)
            return Done("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode(), {})

        return compute


def _count(translator: Translator, pairs: Sequence[Pair], search: Search, scoring: Scoring) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [{"text": ""} for _ in pairs]
    used = [index for index, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
    if not used:
        return rows
    sources, references = [pairs[index].source for index in used], [pairs[index].target for index in used]
    outputs = [item[0] for item in translator.search(sources, search)]
    forced = translator.force(sources, references)
    measures = measure([item.text for item in outputs], references, scoring=scoring)
    spelled = [translator.tokenizers.target.normalize(text) for text in references]
    for number, index in enumerate(used):
        counts: dict[str, object] = {name: measures[name].counts[number].tolist() for name in NAMES}
        rows[index] = counts | {
            "text": outputs[number].text,
            "log_probability": float(sum(forced[number].log_probabilities)),
            "tokens": len(forced[number].log_probabilities),
            "words": len(words(spelled[number])) + 1,
            "characters": len(spelled[number]) + 1,
        }
    return rows


def _pairs(sides: list[list[RawLine]], first: int) -> list[Pair]:
    texts = [[understand(line, first=first + index == 0).text for index, line in enumerate(side)] for side in sides]
    return [Pair(source=source, target=target) for source, target in zip(*texts, strict=True)]
