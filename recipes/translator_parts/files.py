"""The plain files of the translators' work folder, and which sentences are held out of all that is trained on."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.data.corpora.pair import Pair
from translator_parts.signs import read_checked

LANGUAGES, DIRECTIONS = ("es", "en"), ("es-en", "en-es")
KINDS = ("copies", "phrases", "signs", "words", "chunks", "joined")
"""What is made of the pairs before any training."""
ALONE = 150_000
"""English sentences of other pairs that are translated too, at most."""


class HeldOut:
    """Sentences that no training file may have, on either side, whatever their case, accents and marks."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.sources, self.targets = set[str](), set[str]()
        for pair in pairs:
            self.sources.add(bare_key(pair.source))
            self.targets.add(bare_key(pair.target))

    def free(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Give the pairs that have none of them, and something on each side; each once."""
        kept = {}
        for pair in pairs:
            source, target = bare_key(pair.source), bare_key(pair.target)
            if source and target and source not in self.sources and target not in self.targets:
                kept[pair.source, pair.target] = pair
        return list(kept.values())


def bare_key(text: str) -> str:
    """Give a text without case, accents and marks.

    >>> bare_key("¿Qué pasó, Íñigo?"), bare_key("que paso inigo")
    ('que paso inigo', 'que paso inigo')
    """
    plain = unicodedata.normalize("NFKD", text.lower())
    return re.sub(r"[\W_]+", " ", re.sub(r"[\u0300-\u036f'’]", "", plain)).strip()


def held_out(work: Path) -> HeldOut:
    """Read what must not be trained on: valid, test, and the signs that are measured."""
    signs = (Pair(source=es[0], target=en[0]) for es, en in read_checked())
    return HeldOut([*read_side(work / "valid"), *read_side(work / "test"), *signs])


def read_side(path: Path) -> list[Pair]:
    """Read two plain files."""
    sides = (lines(path.with_name(f"{path.name}.{language}")) for language in LANGUAGES)
    return [Pair(source=es, target=en) for es, en in zip(*sides, strict=True)]


def write(path: Path, pairs: Sequence[Pair]) -> None:
    """Write two plain files."""
    write_lines(path.with_name(f"{path.name}.es"), [pair.source for pair in pairs])
    write_lines(path.with_name(f"{path.name}.en"), [pair.target for pair in pairs])


def lines(path: Path) -> list[str]:
    """Read the lines of a file; nothing where there is none, and no line that is not whole."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return text.split("\n")[:-1]


def write_lines(path: Path, texts: Sequence[str]) -> None:
    """Write lines."""
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
