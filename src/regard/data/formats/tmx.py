"""TMX, the format in which translation memories are exchanged (Translation Memory eXchange 1.4b).

The file is XML: `<tu>` is a unit, its `<tuv xml:lang="de">` hold one language each, the text is in `<seg>`. It is
parsed as a stream, a unit at a time. What stands inside the in-line codes `<bpt> <ept> <ph> <it> <ut>` is mark-up of
the document the text came from and is left out; `<hi>` only highlights, so that its text stays.
Declaring an entity is refused: nothing in TMX needs one, and entities that expand to entities fill any memory.
Encodings that expat does not know, such as Shift_JIS, are decoded by Python before it reads them.
"""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import html5
from pathlib import Path
from typing import Literal, NoReturn
from xml.parsers import expat

from regard.data.formats.compressed import open_decompressed
from regard.data.formats.lines import LONGEST_LINE
from regard.data.formats.records import BadLine, Record, make_record
from regard.errors import DataError, brief, describe, join_names

_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
_CHUNK = 1 << 16
_SPACE = re.compile(r"[ \t\r\n]+")
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"'>]{1,60})["']""")
_ASCII = rb"\u0041 +AGE- .xn--mgbh0fb. <tu>"
"""What is itself in every encoding that adds letters to ASCII, but for the backslash, which may be a currency sign."""


@dataclass(kw_only=True)
class _Unit:
    line: int
    segments: list[tuple[str, str]] = field(default_factory=list)  # language, text


@dataclass(frozen=True, kw_only=True)
class Tmx:
    """A TMX file, and the two languages to take from it.

    `de` also takes `de-DE` and `de_AT`, the exact tag first; `de-DE` does not take `de`. Capitals do not matter. With
    no language given, the source is the header's `srclang` and the target the only other language of the first unit.
    """

    path: Path
    """The file."""
    source: str | None = None
    """Source language, as in `xml:lang`."""
    target: str | None = None
    """Target language, as in `xml:lang`."""
    kind: Literal["tmx"] = "tmx"

    def records(self) -> Iterator[Record]:
        """Give one record per translation unit."""
        source, target = self.source, self.target
        parser = _Parser(self.path)
        for unit in parser.units():
            if source is None or target is None:
                source, target = self._languages(unit, parser.source_language)
            location = f"{self.path}, line {unit.line}"
            sides = [_pick(unit.segments, language) for language in (source, target)]
            if None in sides:
                missing = source if sides[0] is None else target
                languages = join_names((language for language, _ in unit.segments), letters=200) or "none"
                expected = f"have a translation in {missing}"
                yield BadLine("language", location, expected, f"a unit in the languages {languages}", "")
            else:
                yield make_record(sides[0], sides[1], location)

    def _languages(self, unit: _Unit, declared: str | None) -> tuple[str, str]:
        result = list(dict.fromkeys(language for language, _ in unit.segments))
        named = self.source or self.target
        first = named or next(
            (tag for tag in result if declared and _matches(tag, declared)), result[0] if result else ""
        )
        others = [tag for tag in result if not _matches(tag, first)]
        if len(others) != 1:
            raise DataError(
                f"{self.path} must have two languages, or be read with both given; received a first unit, line "
                f"{unit.line}, in {join_names(result, letters=200) or 'none'}. Name them with `source` and `target`."
            )
        return (others[0], first) if self.target is not None else (first, others[0])


def _matches(tag: str, language: str) -> bool:
    tag, language = tag.lower().replace("_", "-"), language.lower().replace("_", "-")
    return tag == language or tag.startswith(language + "-")


def _pick(segments: list[tuple[str, str]], language: str) -> str | None:
    exact = [text for tag, text in segments if tag.lower() == language.lower()]
    close = [text for tag, text in segments if _matches(tag, language)]
    return next(iter(exact + close), None)


def _lookup(name: str) -> codecs.CodecInfo | None:
    """Find an encoding that adds letters to ASCII; others cannot be what a declaration in ASCII says."""
    try:
        same = _ASCII.decode(name)[1:] == _ASCII.decode("ascii")[1:]
        return codecs.lookup(name) if same else None
    except (LookupError, ValueError):
        return None


class _Parser:
    """Feeds the file to expat and collects the units that have ended since the last chunk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source_language: str | None = None
        self._done: list[_Unit] = []
        self._unit: _Unit | None = None
        self._language = ""
        self._text: list[str] | None = None  # the open <seg>
        self._codes = 0  # how many in-line codes are open
        self._size = 0  # of the open unit
        self._read_bytes = 0
        self._expat = expat.ParserCreate()

    def units(self) -> Iterator[_Unit]:
        with open_decompressed(self.path) as stream:
            encoding, decoder = self._find_encoding(stream)
            self._begin(encoding)
            final = False
            while not final:
                chunk = stream.read(_CHUNK)
                final = not chunk
                try:
                    self._feed(chunk if decoder is None else decoder.decode(chunk, final).encode(), final)
                except expat.ExpatError as error:
                    raise DataError(
                        f"{self.path}, line {error.lineno} must be well-formed XML; received a document that breaks "
                        f"there ({expat.ErrorString(error.code)}). Export it again, or repair that line."
                    ) from error
                except DataError:
                    raise
                except (ValueError, LookupError) as error:
                    raise DataError(
                        f"{self.path} must be in the encoding that it declares; received something else after line "
                        f"{self._expat.CurrentLineNumber} ({describe(error)}). Export it as UTF-8."
                    ) from error
                done, self._done = self._done, []
                yield from done

    def _begin(self, encoding: str | None) -> None:
        """Make the parser, for the encoding the document declares or for another."""
        self._expat = expat.ParserCreate(encoding)
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._skipped_entity

    def _find_encoding(self, stream: io.BufferedReader) -> tuple[str | None, codecs.IncrementalDecoder | None]:
        """Give the encoding to parse, None for expat to find, and what decodes the file before, where expat cannot."""
        start = stream.peek(_CHUNK)
        if start.startswith(codecs.BOM_UTF8):
            return "utf-8", None
        declared = _DECLARED.match(start)
        if declared is None:
            return None, None
        name = declared[1].decode("ascii", errors="replace")
        codec = _lookup(name)
        if codec is None:
            raise DataError(
                f"{self.path} must be in an encoding that Python knows, such as UTF-8 or Shift_JIS; received one that "
                f"it declares as {name!r}. Export it as UTF-8."
            )
        return ("utf-8", None) if codec.name == "utf-8" else ("utf-8", codec.incrementaldecoder())

    def _feed(self, chunk: bytes, final: bool) -> None:
        """Parse some more; a tag or a unit without an end would be kept whole."""
        self._read_bytes += len(chunk)
        self._expat.Parse(chunk, final)
        if self._read_bytes - self._expat.CurrentByteIndex > LONGEST_LINE or self._size > LONGEST_LINE:
            raise DataError(
                f"{self.path}, line {self._expat.CurrentLineNumber} must have at most {LONGEST_LINE:,} letters in a "
                "tag, a comment and a unit; received more. Export it again."
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "header":
            declared = attributes.get("srclang")
            self.source_language = None if declared == "*all*" else declared
        elif name == "tu":
            self._unit, self._size = _Unit(line=self._expat.CurrentLineNumber), 0
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
        elif name == "seg":
            self._text, self._codes = [], 0
        elif name in _CODES:
            self._codes += 1

    def _end(self, name: str) -> None:
        if name == "tu" and self._unit is not None:
            self._done.append(self._unit)
            self._unit = None
        elif name == "seg" and self._unit is not None and self._text is not None:
            self._size += 100 + len(self._language)
            self._unit.segments.append((self._language, _SPACE.sub(" ", "".join(self._text)).strip()))
            self._text = None
        elif name in _CODES:
            self._codes -= 1

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._text.append(text)
            self._size += len(text)

    def _skipped_entity(self, name: str, _is_parameter: int) -> None:
        # Named in a DTD that is never fetched; in practice HTML's, such as &nbsp;.
        self._characters(html5.get(f"{name};", f"&{name};"))

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        raise DataError(
            f"{self.path}, line {self._expat.CurrentLineNumber} must declare no XML entity; received "
            f"{brief(name)!r}. Write the characters themselves: TMX needs no entities of its own."
        )
