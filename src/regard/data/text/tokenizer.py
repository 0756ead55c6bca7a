"""Text to token numbers and back, over the package `tokenizers`, for five kinds of token.

| kind | a token is | text comes back |
| --- | --- | --- |
| word | a word or mark, as `words` divides them | with the spaces of `join_words`; unknown words as `<unk>` |
| character | a character | exactly |
| byte | a byte of UTF-8 | exactly |
| bpe | a frequent run of characters, merged pair by pair | exactly |
| unigram | a frequent run of characters, the likeliest division | exactly |

"Exactly" means `decode(encode(text)) == normalize(text)`: Unicode NFC, every run of white space (and of U+2581 "▁",
which marks spaces in pieces) one space, none at the ends, lower case where so trained. Characters outside the
vocabulary are spelled in bytes, or are `<unk>` where the tokenizer was trained without them.

No token crosses the border of a word. Text that looks like a special token (`</s>`) is text.

A model has a vector for every token of a joint vocabulary on both sides, but trains only those that occur there. A
tokenizer that knows which do not (`with_untrained`) reads them as `<unk>`.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import words as divide_words
from regard.data.text.detokenize import join_words
from regard.data.text.special import END, PAD, SPECIAL_TOKENS, START, UNKNOWN
from regard.data.text.words_of_tokens import spans_of, words_at
from regard.errors import DataError, brief
from regard.files import LARGE, Entry, parse_json, read_text, write_text

Kind: TypeAlias = Literal["word", "character", "byte", "bpe", "unigram"]

FILE = "tokenizer.json"
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
SPACE = "▁"
_LETTER = r"[\p{L}\p{M}\p{N}_]"
# The pattern of `regard.data.corpora.pair.words` in the regular expressions of `tokenizers`.
_WORD = rf"['’]s\b|{_LETTER}+(?:(?!['’]s\b)[-'’]{_LETTER}+)*|[^\p{{L}}\p{{M}}\p{{N}}_\s{SPACE}]"
_AT_ONCE = 10_000


class Encoded(NamedTuple):
    """The tokens of a text, and for each the position in `words(text)` of the word it is part of."""

    ids: list[int]
    words: list[int]


class Tokenizer:
    """A trained vocabulary of one kind. `train_tokenizer` makes one, `from_json` reads one.

    `untrained` are tokens that a model has no trained vector for: they are encoded as `<unk>`.
    """

    def __init__(self, backend: tokenizers.Tokenizer, *, untrained: Iterable[int] = ()) -> None:
        self._backend = backend
        self._backend.encode_special_tokens = True  # "</s>" in a text is five characters; the file cannot say so
        self.kind: Kind = _kind(json.loads(backend.to_str())["model"])
        self.untrained = frozenset(untrained)
        self._readable: NDArray[np.int32] | None = None
        if self.untrained:
            self._readable = np.arange(self.size, dtype=np.int32)
            self._readable[list(self.untrained)] = UNKNOWN

    @property
    def size(self) -> int:
        """How many tokens there are."""
        return self._backend.get_vocab_size()

    @property
    def backend(self) -> tokenizers.Tokenizer:
        """The tokenizer of the package `tokenizers` beneath."""
        return self._backend

    @property
    def lowercases(self) -> bool:
        """Whether nothing that a model decodes by these tokens has upper case: the text is made lower case, or was."""
        if self.normalize("A") == "a":
            return True
        unused = {*SPECIAL_TOKENS, *BYTES, *(self.pieces(sorted(self.untrained)))}
        pieces = "".join(piece for piece in self._backend.get_vocab() if piece not in unused)
        return pieces == pieces.lower() != pieces.upper()

    def encode(self, text: str) -> Encoded:
        """Divide one text into tokens, and say which word each belongs to."""
        text = self.normalize(text)
        encoding = self._backend.encode(text)
        numbers = word_numbers(encoding, text)
        ids: list[int] = encoding.ids if self._readable is None else self._readable[encoding.ids].tolist()
        return Encoded(ids, numbers)

    def encode_with_words(self, texts: Iterable[str]) -> tuple[Ragged, Ragged]:
        """Divide many texts, and give for each token the position of its word too."""
        encoded = [self.encode(text) for text in texts]
        return Ragged.from_lists(item.ids for item in encoded), Ragged.from_lists(item.words for item in encoded)

    def encode_batch(self, texts: Iterable[str]) -> Ragged:
        """Divide many texts, without the words: quicker."""
        remaining = iter(texts)
        parts = []
        while chunk := list(islice(remaining, _AT_ONCE)):
            parts.append(Ragged.from_lists(item.ids for item in self._backend.encode_batch_fast(chunk)))
        encoded = Ragged.concatenate(parts)
        if self._readable is None:
            return encoded
        return Ragged(values=self._readable[encoded.values], offsets=encoded.offsets)

    def with_untrained(self, untrained: Iterable[int]) -> "Tokenizer":
        """Give the same vocabulary for a model that has no trained vectors for some of its tokens."""
        return Tokenizer(self._backend, untrained=untrained)

    def decode(self, ids: Sequence[int]) -> str:
        """Write tokens as text, leaving out `<pad>`, `<s>` and `</s>`."""
        kept = [int(number) for number in ids if number not in (PAD, START, END)]
        if self.kind == "word":
            return join_words(self.pieces(kept))
        return self._backend.decode(kept)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Name each token as it stands in the vocabulary, `▁` for a space before it."""
        return [self._piece(int(number)) for number in ids]

    def _piece(self, number: int) -> str:
        name = self._backend.id_to_token(number) if number >= 0 else None
        if name is None:
            raise DataError(
                f"`ids` must be from 0 to {self.size - 1}; received {number}. "
                "Is this the tokenizer the model was trained with?"
            )
        return name

    def normalize(self, text: str) -> str:
        """Bring text to the form that comes back from `decode`."""
        return normalize_text(self._backend, text)

    def to_json(self) -> str:
        """Write the whole tokenizer as JSON that `tokenizers` reads too."""
        return self._backend.to_str()

    @classmethod
    def from_json(cls, text: str, *, path: str | Path = FILE) -> "Tokenizer":
        """Read what `to_json` wrote; `path` is where it came from, for errors."""
        try:
            check_tokenizer(parse_json(text, path))
            backend = tokenizers.Tokenizer.from_str(text)
            backend.no_padding()  # a file may ask for encodings of any length
            backend.no_truncation()
            tokenizer = cls(backend)
            tokenizer.normalize("")  # where a damaged one shows
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # Ctrl-C; but what goes wrong inside `tokenizers` is no `Exception` either
            where = "" if isinstance(error, DataError) else f"{path}: "
            raise DataError(
                f"A tokenizer must be JSON of the package `tokenizers`; received: {where}{str(error).rstrip('.')}."
            ) from error
        return tokenizer

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """Read `tokenizer.json` from `folder`."""
        return cls.from_json(read_tokenizer(folder), path=folder / FILE)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (self.to_json(), self.untrained)

    def __repr__(self) -> str:
        return f"Tokenizer(kind={self.kind!r}, size={self.size})"


def normalize_text(backend: tokenizers.Tokenizer, text: str) -> str:
    """Bring text to the form that a tokenizer divides: that which comes back when its tokens are decoded."""
    normalizer = backend.normalizer
    plain: str = text if normalizer is None else normalizer.normalize_str(text)
    return plain.removeprefix(SPACE).replace(SPACE, " ")


def word_numbers(encoding: tokenizers.Encoding, text: str) -> list[int]:
    """Give for each token the position in `words(text)` of the word it is part of; `text` is normalized."""
    numbers = [number or 0 for number in encoding.word_ids]
    words = divide_words(text)
    if numbers and numbers[-1] + 1 != len(words):
        # for scripts in which `words` and `tokenizers` see other borders
        numbers = words_at([max(start, end - 1) for start, end in encoding.offsets], spans_of(text, words))
    return numbers


def _unpickle(text: str, untrained: frozenset[int]) -> Tokenizer:
    return Tokenizer.from_json(text).with_untrained(untrained)


def unknown_words(tokenizer: Tokenizer, text: str, *, unseen: Iterable[int] = ()) -> list[str]:
    """List the words of a text that have an unknown token, or one of those `unseen`."""
    strange = {UNKNOWN, *unseen}
    names, encoded = divide_words(tokenizer.normalize(text)), tokenizer.encode(text)
    strange_words = {word for token, word in zip(encoded.ids, encoded.words, strict=True) if token in strange}
    return [names[index] for index in sorted(strange_words) if index < len(names)]


def knows_none(tokenizer: Tokenizer, text: str) -> bool:
    """Return whether all words of a text are unknown, signs left out; a text without words has none to know."""
    words = [word for word in divide_words(tokenizer.normalize(text)) if any(map(str.isalnum, word))]
    return bool(words) and set(words) <= set(unknown_words(tokenizer, text))


class TokenizerPair(NamedTuple):
    """The tokenizers of the two sides: one and the same where the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        """Whether both sides share a vocabulary."""
        return self.source.backend is self.target.backend

    def to_json(self) -> str:
        """Write a joint tokenizer as itself, and two as an object with the keys source and target."""
        if self.joint:
            return self.source.to_json()
        sides = {"source": json.loads(self.source.to_json()), "target": json.loads(self.target.to_json())}
        return json.dumps(sides, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, *, path: str | Path = FILE) -> "TokenizerPair":
        """Read what `to_json` wrote, or any one tokenizer for both sides; `path` is where it came from."""
        sides = parse_json(text, path).value
        if isinstance(sides, dict) and {"source", "target"} == sides.keys():
            first, second = (json.dumps(sides[side]) for side in ("source", "target"))
            return cls(Tokenizer.from_json(first, path=path), Tokenizer.from_json(second, path=path))
        joint = Tokenizer.from_json(text, path=path)
        return cls(joint, joint)

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json` into `folder`."""
        write_text(folder / FILE, self.to_json())

    @classmethod
    def load(cls, folder: Path) -> "TokenizerPair":
        """Read `tokenizer.json` from `folder`."""
        return cls.from_json(read_tokenizer(folder), path=folder / FILE)


def read_tokenizer(folder: Path) -> str:
    """Read the text of a folder's tokenizer.json, whatever it holds."""
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"{folder} must hold a {FILE}; received a folder without. Is it a model folder?")
    return read_text(path, most=LARGE)


def check_tokenizer(tokenizer: Entry, *, holes: int = 0) -> None:
    """Raise where `tokenizers` would not raise, but fill memory or panic.

    Tokens must be numbered from 0 on, lest holes be filled until memory ends; `holes` may be left out. Tokens of a
    template must be described.
    """
    _check_template(tokenizer.get("post_processor"))
    model = tokenizer["model"]
    numbered = _read_vocabulary(model["vocab"])
    numbers = [*numbered.values()]
    for token in tokenizer.get("added_tokens", []).items():
        numbers.append(token["id"].whole())
        numbered[token["content"].text()] = numbers[-1]
    highest, most = max(numbers, default=-1), len(numbered) + holes
    if highest >= most or (not holes and len(set(numbers)) < len(numbered)):
        raise model.refuse(
            f"must number its {len(numbered):,} tokens from 0 to {most - 1:,}, each by another number",
            f"numbers up to {brief(highest)}",
        )


def _read_vocabulary(vocabulary: Entry) -> dict[str, int]:
    """Give the number of each token: a list, as Unigram has it, is numbered as it stands."""
    if isinstance(vocabulary.value, list):
        names = [pair[0] for pair in vocabulary.value if isinstance(pair, list) and pair and isinstance(pair[0], str)]
        if len(names) < len(vocabulary.value):
            raise vocabulary.refuse("must be pairs of a token and its score", "others")
        return {name: number for number, name in enumerate(names)}
    table = vocabulary.table()
    for name, number in table.items():
        if type(number) is not int or number < 0:
            vocabulary[name].whole()  # which is refused
    return dict(table)


def _check_template(processor: Entry) -> None:
    """Raise where a template puts in a special token that it does not describe."""
    if not isinstance(processor.value, dict):
        return
    for inner in processor.get("processors", []).items():
        _check_template(inner)
    if processor.value.get("type") == "TemplateProcessing":
        pieces = [*processor["single"].items(), *processor["pair"].items()]
        declared = processor["special_tokens"].table()
        for piece in pieces:
            if "SpecialToken" in piece.table() and (name := piece["SpecialToken"]["id"]).text() not in declared:
                raise name.refuse("must be described in special_tokens")


def make_backend(model: models.Model, *, kind: Kind, lowercase: bool) -> tokenizers.Tokenizer:
    """Put what is the same for every vocabulary around `model`: normalization, division into words, joining."""
    backend = tokenizers.Tokenizer(model)
    space = " " if kind in ("word", "byte") else SPACE
    steps: list[normalizers.Normalizer] = [normalizers.NFC(), normalizers.Replace(SPACE, " ")]
    steps += [normalizers.Replace(Regex(r"[\s\x1c-\x1f]+"), " "), normalizers.Strip()]
    steps += [normalizers.Lowercase()] * lowercase
    if space == SPACE:
        steps += [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    backend.normalizer = normalizers.Sequence(steps)
    if kind == "word":
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), "removed", invert=True)
    else:
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(f"{space}?(?:{_WORD})|{space}"), "isolated")
        joining: list[decoders.Decoder] = [decoders.ByteFallback(), decoders.Fuse()]
        if space == SPACE:
            joining = [decoders.Replace(SPACE, " "), *joining, decoders.Strip(" ", 1, 0)]
        backend.decoder = decoders.Sequence(joining)
    marks = [SPECIAL_TOKENS[number] for number in (PAD, START, END)]
    backend.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return backend


def _kind(model: dict[str, object]) -> Kind:
    """Return the kind by the model alone, so that the file needs no key of ours."""
    match model:
        case {"type": "WordLevel"}:
            return "word"
        case {"type": "Unigram"}:
            return "unigram"
        case {"type": "BPE", "merges": [], "vocab": dict(vocabulary)}:
            return "byte" if len(vocabulary) == len(SPECIAL_TOKENS) + len(BYTES) else "character"
        case {"type": "BPE"}:
            return "bpe"
    raise DataError(f"A tokenizer must be WordLevel, BPE or Unigram; received {model.get('type')}.")
