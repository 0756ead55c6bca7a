"""The tokenizers of a Marian folder: source.spm and target.spm divide text into pieces, vocab.json numbers them.

Our vocabularies begin with `<pad>`, `<unk>`, `<s>` and `</s>`, so pieces get other numbers here: `rows` says which of
Marian's each of ours is. Three kinds of piece need care:

- in vocab.json but not in this side's .spm: text is never divided into them. Their names carry an invisible mark,
  which text is rid of.
- in the .spm but not in vocab.json: Marian reads them as `<unk>`. They get numbers of their own behind all others,
  listed as untrained, which our tokenizers read as `<unk>`.
- codes of languages, `>>fra<<`: one token wherever they are written.
"""

import re
from pathlib import Path
from typing import NamedTuple

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from regard.data.text.special import END, PAD, SPECIAL_TOKENS, START
from regard.data.text.tokenizer import SPACE, Tokenizer, TokenizerPair
from regard.data.untrained import Untrained
from regard.errors import DataError
from regard.files import LARGE, Entry, read_json
from regard.pretrained.spm_file import SentencePieceModel, read_sentencepiece

SOURCE, TARGET, VOCABULARY, TARGET_VOCABULARY = "source.spm", "target.spm", "vocab.json", "target_vocab.json"
TOKENIZER_FILES = (SOURCE, TARGET, VOCABULARY, TARGET_VOCABULARY)
_MARK = "\u2063"
"""Before the names of tokens that no text is divided into."""
_CODE = re.compile(r">>[^<>\s]+<<")
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_PENALTY = 10.0
"""How much less than the least likely piece an unknown character scores."""
_PROBE = range(0x20, 0x30000)


class MarianIds(NamedTuple):
    """The tokens that config.json numbers."""

    pad: int
    end: int
    start: int


class Side(NamedTuple):
    """The tokenizer of one side, and how it numbers Marian's rows."""

    tokenizer: Tokenizer
    rows: list[int]
    """For each of our tokens the row of Marian's table."""
    outside: frozenset[int]
    """Tokens of ours that Marian has no row for: read as `<unk>`, never output."""


def read_sides(folder: Path, ids: MarianIds, sizes: tuple[int, int]) -> tuple[Side, Side]:
    """Read the tokenizers of source and target, for tables of so many rows."""
    first = _vocabulary(folder / VOCABULARY, sizes[0])
    separate = (folder / TARGET_VOCABULARY).is_file()
    second = _vocabulary(folder / TARGET_VOCABULARY, sizes[1]) if separate else first
    pieces = [read_sentencepiece(folder / name) for name in (SOURCE, TARGET)]
    names = [{item.text for item in model.pieces if item.matches_text} for model in pieces]
    # Where both sides share their numbers, what either side lacks gets a number on both.
    lacking = [sorted(names[0] - first.keys()), sorted(names[1] - second.keys())]
    if not separate:
        lacking = [sorted({*lacking[0], *lacking[1]})] * 2
    return (
        _side(pieces[0], first, lacking[0], ids, rows=sizes[0], path=folder / SOURCE),
        _side(pieces[1], second, lacking[1], ids, rows=sizes[1], path=folder / TARGET),
    )


def pair_of(source: Side, target: Side) -> tuple[TokenizerPair, Untrained]:
    """Give both tokenizers, and what they read as `<unk>`."""
    return TokenizerPair(source.tokenizer, target.tokenizer), Untrained(source.outside, target.outside)


def _vocabulary(path: Path, rows: int) -> dict[str, int]:
    """Read the numbers of pieces: each another one, below the number of rows."""
    entry: Entry = read_json(path, most=LARGE)
    table = {name: entry[name].whole(most=rows - 1) for name in entry.table()}
    if len({*table.values()}) < len(table):
        raise entry.refuse("must give each piece another number", "one number twice")
    if "<unk>" not in table:
        raise entry.refuse("must have the piece <unk>", f"{len(table):,} others")
    return table


def _side(
    model: SentencePieceModel, numbers: dict[str, int], lacking: list[str], ids: MarianIds, *, rows: int, path: Path
) -> Side:
    unknown = numbers["<unk>"]
    special = (ids.pad, unknown, ids.start, ids.end)
    order = [*special, *(row for row in range(rows) if row not in special)]
    names = {row: name for name, row in numbers.items()}
    scores = {item.text: item.score for item in model.pieces if item.matches_text}
    lowest = min(scores.values(), default=0.0)
    vocabulary = [(name, 0.0) for name in SPECIAL_TOKENS]
    for row in order[len(SPECIAL_TOKENS) :]:
        name = names.get(row, f"{row}")
        byte = model.byte_fallback and _BYTE.fullmatch(name)
        known = name in scores or len(name) == 1 or _CODE.fullmatch(name) or byte
        # Marian finds the number of a character that the .spm does not know by its spelling.
        score = lowest - _PENALTY if len(name) == 1 else 0.0
        vocabulary.append((name if known else _MARK + name, scores.get(name, score)))
    vocabulary += [(name if name in scores else _MARK + name, scores.get(name, lowest)) for name in lacking]
    tokenizer = _tokenizer(model, vocabulary, path)
    outside = frozenset(range(len(order), len(vocabulary)))
    return Side(tokenizer, [*order, *[unknown] * len(lacking)], outside)


def _tokenizer(model: SentencePieceModel, vocabulary: list[tuple[str, float]], path: Path) -> Tokenizer:
    inner = any(SPACE in name[1:] for name, _ in vocabulary if not name.startswith(_MARK))
    try:
        unigram = models.Unigram(vocabulary, 1, model.byte_fallback)
        backend = tokenizers.Tokenizer(unigram)
        backend.normalizer = normalizers.Sequence(_normalizers(model))
        backend.normalizer.normalize_str("".join(chr(code) for code in _PROBE if not 0xD800 <= code < 0xE000))
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # Ctrl-C; but what goes wrong inside `tokenizers` is no `Exception` either
        raise DataError(f"{path} must be a whole SentencePiece model; tokenizers says: {error}.") from error
    # "</s>" in a text is text, whatever the vocabulary has.
    steps = [pre_tokenizers.Split(Regex("<(?=/?s>|unk>|pad>|0x)"), "merged_with_previous")]
    steps += [pre_tokenizers.Split(SPACE, "merged_with_next")] * (not inner)
    backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    bytes_: list[decoders.Decoder] = [decoders.ByteFallback()] * model.byte_fallback
    plain = [decoders.Replace(SPACE, " "), decoders.Replace(_MARK, ""), *bytes_, decoders.Fuse()]
    backend.decoder = decoders.Sequence([*plain, decoders.Strip(" ", 1, 0)])
    marks = [SPECIAL_TOKENS[number] for number in (PAD, START, END)]
    backend.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    codes = [name for name, _ in vocabulary if _CODE.fullmatch(name)]
    backend.add_tokens([AddedToken(code, special=False, normalized=False) for code in codes])
    return Tokenizer(backend)


def _normalizers(model: SentencePieceModel) -> list[normalizers.Normalizer]:
    steps: list[normalizers.Normalizer] = []
    if model.character_map:
        steps.append(normalizers.Precompiled(model.character_map))
    steps.append(normalizers.Replace(_MARK, ""))
    if model.remove_extra_whitespaces:
        steps += [normalizers.Replace(Regex("^ +| +$"), ""), normalizers.Replace(Regex(" +"), " ")]
    if model.add_dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    return [*steps, normalizers.Replace(" ", SPACE)]
