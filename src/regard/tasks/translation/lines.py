"""Lines of bytes in, lines of bytes out, one for one: what a file, a pipe and an argument have in common."""

import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from regard.data.formats.pharaoh import format_links
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError, brief
from regard.files import json_text
from regard.models.precision import Precision
from regard.tasks.text_lines import ByteSink, ByteStream, RawLine, TextLine, split_lines, understand
from regard.tasks.translation.markup.search import search_marked
from regard.tasks.translation.markup.tokens import Form
from regard.tasks.translation.model import MAX_SOURCE_LENGTH, Translator, Unknown
from regard.tasks.translation.result import Translation
from regard.tasks.translation.terms import Glossary

WeightsWanted = Literal["mean", "all", "none"]
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Translate(Search):
    """How to translate lines: the search, and what goes around it."""

    json: bool = False
    """Write a JSON object for each line instead of plain text."""
    weights: WeightsWanted = "mean"
    """What JSON says of the attention: the mean that the alignment is read from, every layer and head, or nothing."""
    prefix: str = ""
    """Text that every output must begin with."""
    markup: Literal["none", "html", "xml", "placeholders"] = "none"
    """What is carried along to the words that translate its own: tags, or placeholders such as {name} and %s."""
    unknown: Unknown = "replace"
    """For `<unk>` of a model of whole words: replace it by the source word that it attends to most, or keep it."""
    respell: bool = True
    """Read words that are unknown as typed, but known with other accents or case, as the model knows them."""
    max_source_length: int = MAX_SOURCE_LENGTH
    """Tokens that are read of a line; the rest of a longer one is left out, with a warning."""
    batch_tokens: int | None = None
    """Source tokens translated at once, counted for each hypothesis; by default what the device is quickest with."""
    precision: Precision = "float32"
    """Of the matrices: int8 is quicker on a CPU, bfloat16 on a GPU; outputs may differ a little."""
    shortlist: bool = False
    """On a CPU, predict only the words that the model folder's shortlist has for the sources of a batch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise ArgumentError(f"`batch_tokens` must be at least 1; received {self.batch_tokens}.")


@dataclass
class Tally:
    """What was not as it should be, for a warning at the end. Of lines, the numbers of the first few are kept."""

    broken_bytes: int = 0
    broken_lines: int = 0
    first_broken: list[int] = field(default_factory=list)
    cut_lines: int = 0
    first_cut: list[int] = field(default_factory=list)
    respelled_lines: int = 0
    first_respelled: list[int] = field(default_factory=list)
    respelled_words: list[str] = field(default_factory=list)
    utf16: bool = False

    def add_broken(self, number: int, count: int) -> None:
        """Note bytes of line `number` that were not UTF-8."""
        self.broken_bytes += count
        self.broken_lines += 1
        self.first_broken += [number][: _NAMED - len(self.first_broken)]

    def add_cut(self, number: int) -> None:
        """Note that line `number` was not read to its end."""
        self.cut_lines += 1
        self.first_cut += [number][: _NAMED - len(self.first_cut)]

    def add_respelled(self, number: int, words: Mapping[str, str]) -> None:
        """Note words of line `number` that were read with other accents or case."""
        self.respelled_lines += 1
        self.first_respelled += [number][: _NAMED - len(self.first_respelled)]
        pairs = [f"{brief(typed)} as {brief(read)}" for typed, read in words.items()]
        new = [pair for pair in pairs if pair not in self.respelled_words]
        self.respelled_words += new[: _NAMED - len(self.respelled_words)]

    def warnings(self, reach: int) -> list[str]:
        """Write the findings as sentences; `reach` is how many tokens are read of a line."""
        outcome = []
        if self.respelled_lines:
            where = _named(self.respelled_lines, self.first_respelled).replace("of them", "lines")
            outcome.append(
                f"In {where}, words that the model knows with other accents or case were read so: "
                f"{', '.join(self.respelled_words)}. To read every word as typed: --as-typed."
            )
        if self.broken_lines:
            count = "1 byte" if self.broken_bytes == 1 else f"{self.broken_bytes:,} bytes"
            hint = " It looks like UTF-16: convert it with iconv -f UTF-16 -t UTF-8." if self.utf16 else ""
            where = _named(self.broken_lines, self.first_broken)
            outcome.append(f"Lines must be UTF-8; {where} had {count} that no UTF-8 has, replaced by U+FFFD.{hint}")
        if self.cut_lines:
            where = _named(self.cut_lines, self.first_cut)
            outcome.append(
                f"Lines must have at most {reach:,} tokens to be read whole; {where} had more, and the rest was left "
                "out. Divide them into sentences."
            )
        return outcome

    def to_table(self) -> dict[str, Any]:
        """Give plain values for a file."""
        return asdict(self)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "Tally":
        """Read what `to_table` gave; whatever else it is, is an error."""
        plain = cls().to_table()
        if not table:  # of a journal that has begun
            return cls()
        if table.keys() != plain.keys() or any(type(table[name]) is not type(plain[name]) for name in plain):
            raise DataError(f"the tally must have {', '.join(plain)}, as they were written; received something else")
        for kind in ("broken", "cut", "respelled"):
            count, first = f"{kind}_lines", f"first_{kind}"
            numbers = table[first]
            if len(numbers) != min(table[count], _NAMED) or any(type(number) is not int for number in numbers):
                raise DataError(f"the tally must name the first of its {count}; received something else")
        if not all(isinstance(word, str) for word in table["respelled_words"]):
            raise DataError("the tally must give respelled_words as texts; received something else")
        return cls(**table)


class LineTranslator:
    """Translates lines, some at a time, and keeps count of them."""

    def __init__(self, translator: Translator, settings: Translate, terms: Mapping[str, str] | None = None) -> None:
        self.translator, self.settings, self.terms = translator, settings, Glossary(terms or {})
        self.terms.check(translator.tokenizers.target)
        self.lines = 0
        self.tally = Tally()

    def __call__(self, raw: Sequence[RawLine]) -> bytes:
        """Give the output lines of the next input lines: as many, in their order."""
        lines = [understand(item, first=self.lines + index == 0) for index, item in enumerate(raw)]
        if self.lines == 0 and raw and raw[0].content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self.tally.utf16 = True
        settings = self.settings
        outcome = self.search(lines, None if settings.markup == "none" else settings.markup)
        write = (lambda outputs: to_json(outputs, weights=settings.weights)) if settings.json else to_text
        return "".join(f"{write(outputs)}\n" for outputs in outcome).encode()

    def search(self, lines: Sequence[TextLine], form: Form | None) -> list[list[Translation]]:
        """Give the outputs of the next lines, with marks of that form."""
        settings = self.settings
        outcome = search_marked(
            self.translator,
            [line.text for line in lines],
            settings,
            form=form,
            terms=self.terms,
            prefixes=[settings.prefix] * len(lines) if settings.prefix else None,
            weights=settings.json and settings.weights != "none",
            batch_tokens=settings.batch_tokens,
        )
        for number, (line, outputs) in enumerate(zip(lines, outcome, strict=True), start=self.lines + 1):
            if line.broken:
                self.tally.add_broken(number, line.broken)
            if outputs[0].cut or line.shortened:
                self.tally.add_cut(number)
            if outputs[0].read.words:
                self.tally.add_respelled(number, outputs[0].read.words)
        self.lines += len(lines)
        return outcome

    def warnings(self) -> list[str]:
        """Describe what was not as it should be, and why a GPU was slower than it could be."""
        reason = self.translator.why_step_by_step
        slower = [] if reason is None else [f"The GPU decoded step by step, not by captured steps: {reason}."]
        return self.tally.warnings(self.translator.reach.source) + slower


def translate_stream(work: LineTranslator, source: ByteStream, target: ByteSink) -> None:
    """Answer lines as they come: one at once where they come slowly, many together where they are waiting."""
    for lines in split_lines(source):
        target.write(work(lines))
        target.flush()


def to_text(outputs: Sequence[Translation]) -> str:
    """Write the outputs of a line on one line, best first, with tabs between them."""
    return "\t".join(item.text if item.with_marks is None else item.with_marks for item in outputs)


def to_json(outputs: Sequence[Translation], *, weights: WeightsWanted = "mean") -> str:
    """Write the best output of a line as a JSON object; of several, all are in `n_best`, best first."""
    best = outputs[0]
    table = {"source": best.source, "read_as": dict(best.read.words), **_tell(best, weights)}
    table["source_tokens"] = best.source_tokens
    if len(outputs) > 1:
        table["n_best"] = [_tell(item, weights) for item in outputs]
    try:
        return json.dumps(table, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a weight that is no number
        return json_text(table)


def _tell(one: Translation, weights: WeightsWanted) -> dict[str, Any]:
    marked = {} if one.with_marks is None else {"with_marks": one.with_marks}
    table: dict[str, Any] = {
        "text": one.text,
        **marked,
        "score": round(one.score, 6),
        "log_probability": round(one.log_probability, 6),
        "finished": one.finished,
        "tokens": one.target_tokens,
    }
    if weights != "none":
        attended = one.weights if weights == "all" else one.alignment_weights
        table["alignment"] = format_links(one.links_by("whitespace"))
        table["weights"] = [] if attended is None else _rounded(attended.tolist())
    return table


def _rounded(numbers: Any) -> Any:
    return [_rounded(item) for item in numbers] if isinstance(numbers, list) else round(numbers, 5)


def _named(count: int, first: Sequence[int]) -> str:
    if count == 1:
        return f"line {first[0]:,}"
    more = ", …" if count > len(first) else ""
    return f"{count:,} of them ({', '.join(f'{number:,}' for number in first)}{more})"
