r"""Running text to token numbers and back: every line ends in `</s>`, which is written as a line break.

| kind | a token is | a text comes back |
| --- | --- | --- |
| space | what stands between spaces, as in text that is divided already; `<unk>` is the unknown word | with one space |
| character | a character | exactly |
| byte | a byte of UTF-8 | exactly |
| word, bpe, unigram | as in `data.tokenizer` | as there, line by line |
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import words as divide_words
from regard.data.text.detokenize import join_words
from regard.data.text.special import END, PAD, SPECIAL_TOKENS, START, UNKNOWN
from regard.data.text.tokenizer import BYTES, FILE, Tokenizer, read_tokenizer, unknown_words
from regard.data.text.tokenizer_training import FEWEST, TokenizerConfig, train_tokenizer
from regard.errors import ArgumentError, DataError, nearest
from regard.files import Entry, parse_json, write_text

TextKind: TypeAlias = Literal["space", "character", "byte", "word", "bpe", "unigram"]
_AT_ONCE = 10_000


@dataclass(frozen=True, kw_only=True)
class TextTokenizerConfig:
    """What a token is, and how many there may be."""

    kind: TextKind = "bpe"
    """space, character, byte, word, bpe or unigram."""
    vocabulary_size: int = 8000
    """Most tokens, the four special ones included; bytes are 260."""
    min_frequency: int = 1
    """How often a word, character or merge must occur to become a token."""
    lowercase: bool = False
    """Make everything lower case first."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(TextKind):
            raise ArgumentError(
                f'`kind` must be what a token is; received "{self.kind}". {nearest(self.kind, get_args(TextKind))}'
            )
        if self.min_frequency < 1:
            raise ArgumentError(f"`min_frequency` must be at least 1; received {self.min_frequency}.")
        if self.vocabulary_size <= len(SPECIAL_TOKENS):
            raise ArgumentError(
                f"`vocabulary_size` must be above {len(SPECIAL_TOKENS)}, the special tokens; received "
                f"{self.vocabulary_size}."
            )
        if self.kind in ("bpe", "unigram") and self.vocabulary_size < FEWEST:
            raise ArgumentError(
                f"`vocabulary_size` must be at least {FEWEST} for kind {self.kind!r}, which spells what it does not "
                f"know in bytes; received {self.vocabulary_size}. Give a larger one, or kind character."
            )


class TextTokenizer:
    """A vocabulary for running text. `train_text_tokenizer` makes one, `load` reads one.

    `unseen` are tokens that the text it was made for does not have, such as bytes for characters to come.

    >>> tokenizer = TextTokenizer("character", ["a", "b", " "])
    >>> tokenizer.encode("ab\\na"), tokenizer.decode([4, 5, 3, 4])
    ([4, 5, 3, 4], 'ab\\na')
    """

    def __init__(
        self,
        kind: TextKind,
        tokens: Sequence[str] = (),
        *,
        lowercase: bool = False,
        within: Tokenizer | None = None,
        unseen: Sequence[int] = (),
    ) -> None:
        self.kind: TextKind = kind
        self.unseen = tuple(unseen)
        self.tokens, self.lowercase, self._within = list(tokens), lowercase, within
        self._numbers = {token: number for number, token in enumerate(tokens, start=len(SPECIAL_TOKENS))}
        if kind == "space":
            self._numbers[SPECIAL_TOKENS[UNKNOWN]] = UNKNOWN

    @property
    def size(self) -> int:
        """How many tokens there are."""
        if self._within is not None:
            return self._within.size
        return len(SPECIAL_TOKENS) + (256 if self.kind == "byte" else len(self.tokens))

    @property
    def never_produced(self) -> list[int]:
        """Tokens that a model never says: those no text has, `<unk>`, and those it has not seen."""
        return [PAD, UNKNOWN, START, *self.unseen]

    @cached_property
    def producible(self) -> NDArray[np.bool_]:
        """Return for each token whether a model may output it at all: true where `never_produced` does not list it."""
        producible = np.ones(self.size, dtype=np.bool_)
        producible[self.never_produced] = False
        producible.setflags(write=False)
        return producible

    def with_counts(self, counts: NDArray[np.int64]) -> "TextTokenizer":
        """Give the same for a text that has each token so many times: those it never has are unseen.

        >>> TextTokenizer("character", ["a", "b"]).with_counts(np.array([0, 0, 0, 1, 0, 7])).unseen
        (4,)
        """
        unseen = [number for number in range(len(SPECIAL_TOKENS), self.size) if not counts[number]]
        return TextTokenizer(self.kind, self.tokens, lowercase=self.lowercase, within=self._within, unseen=unseen)

    @cached_property
    def byte_values(self) -> NDArray[np.int16]:
        """The byte that each token stands for, -1 where it is none."""
        values = np.full(self.size, -1, dtype=np.int16)
        if self.kind == "byte":
            values[len(SPECIAL_TOKENS) :] = range(256)
        elif self._within is not None:
            bytes_ = {piece: value for value, piece in enumerate(BYTES)}
            values[:] = [bytes_.get(piece, -1) for piece in self._within.pieces(range(self.size))]
        values.setflags(write=False)
        return values

    def encode_lines(self, lines: Iterable[str]) -> Ragged:
        """Divide lines into tokens, each closed by `</s>`."""
        remaining, parts = iter(lines), []
        while chunk := list(islice(remaining, _AT_ONCE)):
            parts.append(Ragged.from_lists([*line, END] for line in self._divide(chunk)))
        return Ragged.concatenate(parts)

    def encode(self, text: str) -> list[int]:
        """Divide a text that may go on: its last line is left open."""
        first, *others = self._divide(text.split("\n"))
        return [*first, *(token for line in others for token in (END, *line))]

    def _divide(self, lines: Sequence[str]) -> list[list[int]]:
        if self._within is not None:
            encoded = self._within.encode_batch(lines)
            return [encoded[number].tolist() for number in range(len(encoded))]
        lines = [line.lower() for line in lines] if self.lowercase else lines
        if self.kind == "byte":
            return [[byte + len(SPECIAL_TOKENS) for byte in line.encode()] for line in lines]
        find = self._numbers.get
        return [[find(item, UNKNOWN) for item in (line.split() if self.kind == "space" else line)] for line in lines]

    def unknown(self, text: str) -> list[str]:
        """List the words, or characters, of a text that are unknown or have a token that is unseen, each once.

        >>> TextTokenizer("character", ["a", "b"]).unknown("abcdc")
        ['c', 'd']
        """
        result: list[str] = []
        for line in text.split("\n"):
            if self._within is not None:
                result += unknown_words(self._within, line, unseen=self.unseen)
                continue
            strange = {UNKNOWN, *self.unseen}
            result += [
                item for item in (line.split() if self.kind == "space" else line) if strange & {*self.encode(item)}
            ]
        return list(dict.fromkeys(result))

    def decode(self, ids: Sequence[int]) -> str:
        """Write tokens as text."""
        lines: list[list[int]] = [[]]
        for number in map(int, ids):
            if number == END:
                lines.append([])
            elif number not in (PAD, START):
                lines[-1].append(number)
        return "\n".join(map(self._write, lines))

    def _write(self, ids: list[int]) -> str:
        if self._within is not None:
            return self._within.decode(ids)
        if self.kind == "byte":
            return bytes(item - len(SPECIAL_TOKENS) for item in ids if item != UNKNOWN).decode(errors="replace")
        return (" " if self.kind == "space" else "").join(map(self.piece, ids))

    def kept(self, line: str) -> str:
        """Write a line as its tokens have it, what is unknown as it was spelled: all that a model can predict of it.

        >>> TextTokenizer("space", ["a"], lowercase=True).kept(" A   b ")
        'a b'
        """
        if self._within is not None:
            plain = self._within.normalize(line)
            return join_words(divide_words(plain)) if self.kind == "word" else plain
        line = line.lower() if self.lowercase else line
        return " ".join(line.split()) if self.kind == "space" else line

    def piece(self, number: int) -> str:
        """Name a token as it stands in the vocabulary."""
        if not 0 <= number < self.size:
            raise DataError(
                f"`number` must be from 0 to {self.size - 1}; received {number}. Is this the model's own tokenizer?"
            )
        if number < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[number]
        if self._within is not None:
            return self._within.pieces([number])[0]
        index = number - len(SPECIAL_TOKENS)
        return f"<0x{index:02X}>" if self.kind == "byte" else self.tokens[index]

    def to_json(self) -> str:
        """Write the whole tokenizer as JSON."""
        table: dict[str, Any] = {"kind": self.kind, "lowercase": self.lowercase, "tokens": self.tokens}
        if self.unseen:
            table["unseen"] = self.unseen
        if self._within is not None:
            table["tokenizer"] = json.loads(self._within.to_json())
        return json.dumps(table, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, path: str | Path = FILE) -> "TextTokenizer":
        """Read what `to_json` wrote; `path` is where it came from, for errors."""
        try:
            result = cls._from_entry(parse_json(text, path))
        except DataError as error:
            raise DataError(f"A tokenizer of running text must be what regard wrote; received: {error}") from error
        if outside := [item for item in result.unseen if not len(SPECIAL_TOKENS) <= item < result.size]:
            raise DataError(
                f"`unseen` must be tokens of the vocabulary, from {len(SPECIAL_TOKENS)} to {result.size - 1}; received "
                f"{outside[0]}. Is this the model's own tokenizer?"
            )
        return result

    @classmethod
    def _from_entry(cls, table: Entry) -> "TextTokenizer":
        kind = table["kind"].text()
        if kind not in get_args(TextKind):
            raise table["kind"].refuse(f"must be one of {', '.join(get_args(TextKind))}")
        divided = kind in ("word", "bpe", "unigram")
        return cls(
            cast(TextKind, kind),
            table["tokens"].texts(),
            lowercase=table["lowercase"].flag(),
            within=Tokenizer.from_json(json.dumps(table["tokenizer"].value), path=table.path) if divided else None,
            unseen=[number.whole() for number in table.get("unseen", []).items()],
        )

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json` into `folder`."""
        write_text(folder / FILE, self.to_json())

    @classmethod
    def load(cls, folder: Path) -> "TextTokenizer":
        """Read `tokenizer.json` from `folder`."""
        return cls.from_json(read_tokenizer(folder), path=folder / FILE)


def train_text_tokenizer(lines: Iterable[str], config: TextTokenizerConfig) -> TextTokenizer:
    """Learn a vocabulary from lines of text.

    >>> train_text_tokenizer(["to be or not to be"], TextTokenizerConfig(kind="space")).tokens
    ['be', 'to', 'not', 'or']
    """
    kind = config.kind
    match kind:
        case "byte":
            return TextTokenizer("byte", lowercase=config.lowercase)
        case "space" | "character":
            counts: Counter[str] = Counter()
            for line in lines:
                line = line.lower() if config.lowercase else line
                counts.update(line.split() if kind == "space" else line)
            if kind == "space":
                counts.pop(SPECIAL_TOKENS[UNKNOWN], None)
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            frequent = [token for token, count in ranked if count >= config.min_frequency]
            return TextTokenizer(
                kind, frequent[: config.vocabulary_size - len(SPECIAL_TOKENS)], lowercase=config.lowercase
            )
        case "word" | "bpe" | "unigram":
            settings = TokenizerConfig(
                kind=kind,
                vocabulary_size=config.vocabulary_size,
                min_frequency=config.min_frequency,
                lowercase=config.lowercase,
            )
            return TextTokenizer(kind, lowercase=config.lowercase, within=train_tokenizer(lines, settings))
