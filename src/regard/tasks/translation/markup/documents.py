"""Documents whose text is translated and whose form stays: HTML, Markdown, subtitles."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from regard.files import read_text
from regard.tasks.translation.markup.marks import read_marks
from regard.tasks.translation.markup.sentences import split_sentences
from regard.tasks.translation.markup.tokens import Form, Token, divide_marks

MOST_BYTES = 2**26
"""Of a document, which is read whole."""
INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup"),
        *("time", "tt", "u", "var", "wbr"),
    )
)
"""Elements of HTML that are part of a sentence; every other divides a text."""


class Segment(NamedTuple):
    """A part of a document that is translated."""

    text: str
    form: Form
    lines: int = 1
    """Over how many lines its translation goes."""


Part: TypeAlias = str | Segment
"""What stays as it is, or is translated."""


def divide_html(text: str, form: Form = "html") -> list[Part]:
    """Divide HTML at the tags that are not part of a sentence.

    >>> [part.text for part in divide_html("<p>Un <b>gato</b>.</p>") if isinstance(part, Segment)]
    ['Un <b>gato</b>.']
    """
    parts: list[Part] = []
    run: list[Token] = []
    for token in divide_marks(text, form):
        if token.kind == "text" or (token.kind != "comment" and token.name in INLINE):
            run.append(token)
            continue
        parts += [*_segment("".join(item.raw for item in run), form), token.raw]
        run = []
    return parts + _segment("".join(item.raw for item in run), form)


_FRONT = ("---", "...")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BLOCK = re.compile(r"(?:\s*>)*\s*(?:#{1,6}\s+|(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_LISTED = re.compile(r"(?:\s*>)*\s*(?:[-*+]|\d{1,9}[.)])\s")
_VERBATIM = re.compile(
    r"\s*$|\s{0,3}(?:[-*_=]\s*){3,}$|\s{0,3}=+\s*$|\s{0,3}\[[^\]]+\]:\s|\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$"
)


def divide_markdown(text: str) -> list[Part]:
    """Divide Markdown into paragraphs, headings, items and cells; code, rules and addresses stay.

    >>> [part.text for part in divide_markdown("# El gato\\n\\nUn *gato*\\nnegro.\\n") if isinstance(part, Segment)]
    ['El gato', 'Un *gato*\\nnegro.']
    """
    parts: list[Part] = []
    paragraph: list[str] = []
    fence, listed, front, quotes = "", False, False, 0

    def end() -> None:
        parts.extend(_segment("".join(paragraph), "markdown"))
        paragraph.clear()

    written = text.splitlines(keepends=True)
    for number, line in enumerate(written):
        opening = _FENCE.match(line)
        if number == 0 and line.rstrip() == "---" and any(item.rstrip() in _FRONT for item in written[1:]):
            front = True
            parts.append(line)
        elif front or fence:
            parts.append(line)
            front = front and line.rstrip() not in _FRONT
            if fence and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opening:
            end()
            fence = opening[1]
            parts.append(line)
        elif _VERBATIM.match(line) or (not paragraph and not listed and line.startswith(("    ", "\t"))):
            end()
            listed = listed and not line.strip()
            parts.append(line)
        elif line.lstrip().startswith("|"):
            end()
            parts += _row(line)
        else:
            prefix = _BLOCK.match(line)
            begin = prefix[0] if prefix else ""
            if not paragraph or begin.strip(" \t>") or begin.count(">") > quotes:
                end()
                listed = bool(_LISTED.match(line)) or (listed and line[:1].isspace())
                quotes = begin.count(">")
                parts.append(begin)
            paragraph.append(line[len(begin) :])
            if "#" in begin or line.rstrip("\r\n").endswith(("  ", "\\")):  # a break that was wanted
                end()
    end()
    return parts


def _row(line: str) -> list[Part]:
    """Divide a row of a table."""
    cells = re.split(r"((?<!\\)\|)", line)
    return [part for cell in cells for part in (["|"] if cell == "|" else _segment(cell, "markdown"))]


_SPEAKER = re.compile(r"\s*[-–—]\s*")


def divide_subtitles(text: str) -> list[Part]:
    """Divide SubRip or WebVTT: the lines below each time are translated, and broken into as many."""
    parts: list[Part] = []
    cue: list[str] = []
    inside = False

    def end() -> None:
        dialogue = all(map(_SPEAKER.match, cue))
        for lines in [[line] for line in cue] if dialogue else [cue]:
            whole = "".join(lines)
            speaker = _SPEAKER.match(whole) if dialogue else None
            begin, body = speaker[0] if speaker else "", whole.rstrip("\r\n")
            segment = Segment(" ".join(body[len(begin) :].split()), "subtitles", len(lines))
            parts.extend([begin, segment, whole[len(body) :]] if _has_words(segment.text, segment.form) else [whole])
        cue.clear()

    for line in text.splitlines(keepends=True):
        if inside and line.strip():
            cue.append(line)
            continue
        end()
        inside = "-->" in line
        parts.append(line)
    end()
    return parts


DIVIDE: dict[str, Callable[[str], list[Part]]] = {
    ".html": divide_html,
    ".htm": divide_html,
    ".xhtml": divide_html,
    ".md": divide_markdown,
    ".markdown": divide_markdown,
    ".srt": divide_subtitles,
    ".vtt": divide_subtitles,
}
"""How documents are divided, by the ending of their names."""


def is_document(path: Path) -> bool:
    """Tell whether a file is a document, by the ending of its name."""
    return path.suffix.lower() in DIVIDE


def translate_document(path: Path, translate: Callable[[Sequence[str], Form], list[str]]) -> str:
    """Translate the document in a file: the same but for its sentences.

    - `translate`: gives the translations of sentences with marks of that form.
    """
    content = read_text(path, most=MOST_BYTES)
    text = content.removeprefix("\ufeff")
    parts = [content[: len(content) - len(text)], *DIVIDE[path.suffix.lower()](text)]
    segments = [part for part in parts if isinstance(part, Segment)]
    sentences = [split_sentences(segment.text, segment.form) for segment in segments]
    form = segments[0].form if segments else "html"
    chosen = [item.strip() for divided in sentences for item in divided if _has_words(item, form)]
    outputs = iter(translate(chosen, form) if chosen else [])
    newline = "\r\n" if "\r\n" in text else "\n"

    def write(segment: Segment, divided: Sequence[str]) -> str:
        whole = "".join(_around(item, next(outputs)) if _has_words(item, form) else item for item in divided)
        return _break(whole, segment.lines, newline)

    written = (write(segment, divided) for segment, divided in zip(segments, sentences, strict=True))
    return "".join(part if isinstance(part, str) else next(written) for part in parts)


def _segment(text: str, form: Form) -> list[Part]:
    """Give a text as a segment between the spaces around it, or as it is where it has no letters."""
    core = text.strip()
    if not _has_words(core, form):
        return [text] if text else []
    start = text.index(core)
    return [text[:start], Segment(core, form), text[start + len(core) :]]


def _has_words(sentence: str, form: Form) -> bool:
    """Tell whether a sentence has anything to translate."""
    return any(map(str.isalpha, read_marks(sentence, form).plain))


def _around(sentence: str, output: str) -> str:
    """Put the spaces around a sentence around its translation."""
    core = sentence.strip()
    return sentence.replace(core, output, 1) if core else sentence


def _break(text: str, lines: int, newline: str) -> str:
    """Break a text into lines of about the same length, at spaces outside of tags."""
    pieces = re.findall(r"(?:<[^<>]*>|[^\s<]|<)+", text)
    if lines == 1 or len(pieces) < 2:
        return text
    most = sum(len(piece) + 1 for piece in pieces) / lines
    result, length = [""], 0.0
    for piece in pieces:
        if result[-1] and len(result) < lines and length + len(piece) / 2 > most * len(result):
            result.append("")
        result[-1] += f" {piece}" if result[-1] else piece
        length += len(piece) + 1
    return newline.join(result)
