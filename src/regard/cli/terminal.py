"""What reaches a terminal: text that is shown and not obeyed, in letters that it has, through streams that are open."""

import codecs
import io
import json
import os
import re
import sys
from contextlib import suppress
from typing import Any

from regard.files import finite, json_text

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, ends of lines, what turns text around, and halves of characters."""
_PLAIN = str.maketrans("·░▒▓█│╭╮╰╯─├┤┬┴┼…–—→←↑↓␣⏎✓×≤≥▁�", ".:+#@|/\\\\/-|||||~--><^v_$vx<>_?")
"""Signs for terminals that have ASCII alone, so that shades stay apart."""


def sanitize(text: str, *, keep: str = "") -> str:
    r"""Put a mark for each character that a terminal would obey; those in `keep` may stay.

    >>> sanitize("a\x1b]0;title\x07b\n"), sanitize("a\tb\n", keep="\n\t")
    ('a�]0;title�b�', 'a\tb\n')
    """
    return _OBEYED.sub(lambda match: match[0] if match[0] in keep else "�", text)


def paragraph(text: str, *, letters: int = 2000) -> str:
    r"""Write an error on one line, sanitized, without the middle of what is too long.

    >>> paragraph("one\n  two\x1b"), paragraph("abcdefghij" * 4, letters=20)
    ('one two�', 'abcdefghijabc … ghij')
    """
    line = sanitize(re.sub(r"\s*[\n\r]\s*", " ", text.strip()), keep="\t")
    half = letters * 2 // 3
    return line if len(line) <= letters else f"{line[:half]} … {line[half + 3 - letters :]}"


def print_json(value: Any, *, indent: int | None = None) -> None:
    """Print JSON: null for what is not finite, and letters by their numbers where the output cannot write them."""
    text = json_text(value, indent=indent)
    if not (getattr(sys.stdout, "encoding", None) or "utf-8").lower().startswith("utf"):
        text = json.dumps(finite(value), indent=indent)
    print(text)


def is_live(console: Any) -> bool:
    """Return whether lines can be drawn over: on a terminal, but not the one that a notebook gives to its commands."""
    return bool(console.is_terminal) and "JPY_PARENT_PID" not in os.environ


def prepare_streams() -> None:
    """Put something behind standard streams that are closed, and let none fail over a character.

    A closed input is empty; what is written to a closed output is an error, as elsewhere; errors go nowhere.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            stream = open(os.open(os.devnull, flags), mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    codecs.register_error(_HANDLER, _write_plainly)
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, _HANDLER), (sys.stderr, _HANDLER)):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(io.UnsupportedOperation):  # of a stream that has been read
                stream.reconfigure(errors=errors)


def discard_output() -> None:
    """Let what is still to be written to standard output go nowhere: Python tries once more when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


_HANDLER = "regard-plain"


def _write_plainly(error: UnicodeError) -> tuple[str, int]:
    """Write signs that an encoding does not have as others, and letters as question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return missing.translate(_PLAIN).encode("ascii", "replace").decode(), error.end


class TerminalSink:
    """Where bytes of text go that a terminal shows."""

    def write(self, content: bytes, /) -> int:
        """Show some lines."""
        sys.stdout.write(sanitize(content.decode(errors="replace"), keep="\n\t"))
        return len(content)

    def flush(self) -> None:
        """Hand on what was taken."""
        sys.stdout.flush()
