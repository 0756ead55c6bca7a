"""Learn a vocabulary from text: the same one for the same text, whatever the threads, hash seed or order of sentences.

Words are counted here, in full, and ties broken by the text itself. BPE's merges are then found by `tokenizers`, which
is deterministic for our form of it; its unigram trainer is not (its sums follow the order of a randomly seeded hash
table), so that one is `regard.data.text.unigram`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import assert_never

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from regard.data.corpora.pair import Pair
from regard.data.text.special import SPECIAL_TOKENS, UNKNOWN
from regard.data.text.tokenizer import BYTES, Kind, Tokenizer, TokenizerPair, make_backend
from regard.data.text.unigram import train_unigram
from regard.errors import ArgumentError, DataError

FEWEST = len(SPECIAL_TOKENS) + len(BYTES)
_COPIES = 256


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """What kind of vocabulary to learn, and how large."""

    kind: Kind = "bpe"
    """word, character, byte, bpe or unigram."""
    vocabulary_size: int = 8000
    """Most tokens, the four special ones and the bytes included."""
    min_frequency: int = 2
    """How often a word, character or merge must occur to become a token."""
    joint: bool = True
    """One vocabulary for both sides, or one for each."""
    lowercase: bool = False
    """Make everything lower case first; it stays so in what is decoded."""
    byte_fallback: bool = True
    """Spell characters outside the vocabulary in bytes (256 tokens more); else they are `<unk>`. Not for words."""

    def __post_init__(self) -> None:
        if self.min_frequency < 1:
            raise ArgumentError(f"`min_frequency` must be at least 1; received {self.min_frequency}.")
        spelled = self.kind == "byte" or (self.byte_fallback and self.kind != "word")
        fewest = FEWEST if spelled else len(SPECIAL_TOKENS) + 1
        if self.vocabulary_size < fewest:
            advice = "Give a larger one" + (", or byte_fallback=False." if spelled and self.kind != "byte" else ".")
            raise ArgumentError(
                f"`vocabulary_size` must be at least {fewest} for kind {self.kind!r}; received "
                f"{self.vocabulary_size}. {advice}"
            )


def train_tokenizers(pairs: Iterable[Pair], config: TokenizerConfig) -> TokenizerPair:
    """Learn the vocabulary of both sides, or one for each, in one pass over `pairs`.

    >>> pairs = [Pair(source="Ein Hund bellt.", target="A dog barks.")] * 5
    >>> sides = train_tokenizers(pairs, TokenizerConfig(kind="word", joint=False))
    >>> sides.source.decode(sides.source.encode("Ein Hund bellt.").ids)
    'Ein Hund bellt.'
    """
    divide = _divider(config)
    source: Counter[str] = Counter()
    target: Counter[str] = source if config.joint else Counter()
    for pair in pairs:
        source.update(divide(pair.source))
        target.update(divide(pair.target))
    first = _train(source, config)
    return TokenizerPair(first, first if config.joint else _train(target, config))


def train_tokenizer(texts: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn one vocabulary.

    >>> tokenizer = train_tokenizer(["low lower lowest"] * 3, TokenizerConfig(vocabulary_size=275))
    >>> tokenizer.pieces(tokenizer.encode("lower slow").ids)
    ['▁lower', '▁', 's', 'lo', 'w']
    """
    divide = _divider(config)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(divide(text))
    return _train(counts, config)


def _divider(config: TokenizerConfig) -> Callable[[str], list[str]]:
    """Make the function that divides a text into words exactly as the trained tokenizer will."""
    backend = make_backend(models.BPE(), kind=config.kind, lowercase=config.lowercase)
    normalize, divide = backend.normalizer.normalize_str, backend.pre_tokenizer.pre_tokenize_str
    return lambda text: [word for word, _ in divide(normalize(text))]


def _train(counts: Mapping[str, int], config: TokenizerConfig) -> Tokenizer:
    if not counts:
        raise DataError("`texts` must hold at least one word to learn from; received none. Is the corpus empty?")
    spelled = config.byte_fallback or config.kind == "byte"
    reserved = [*SPECIAL_TOKENS, *(BYTES if spelled and config.kind != "word" else ())]
    capacity = config.vocabulary_size - len(reserved)
    model: models.Model
    match config.kind:
        case "word":
            tokens = _most_frequent(counts, config.min_frequency, capacity)
            model = models.WordLevel(_numbered([*reserved, *tokens]), SPECIAL_TOKENS[UNKNOWN])
        case "byte":
            model = _bpe(reserved, [], spelled=True)
        case "character":
            tokens = _most_frequent(_characters(counts), config.min_frequency, capacity)
            model = _bpe([*reserved, *tokens], [], spelled=spelled)
        case "bpe":
            alphabet = _alphabet(counts, config, capacity)
            tokens, merges = _learn_merges(_restricted(counts, alphabet), config.min_frequency, capacity)
            model = _bpe([*reserved, *tokens], merges, spelled=spelled)
        case "unigram":
            alphabet = _alphabet(counts, config, capacity)
            pieces = train_unigram(_restricted(counts, alphabet), capacity)
            lowest = min((score for _, score in pieces), default=0.0)
            model = models.Unigram([*((token, lowest) for token in reserved), *pieces], UNKNOWN, spelled)
        case _:
            assert_never(config.kind)
    return Tokenizer(make_backend(model, kind=config.kind, lowercase=config.lowercase))


def _bpe(tokens: Sequence[str], merges: list[tuple[str, str]], *, spelled: bool) -> models.BPE:
    return models.BPE(_numbered(tokens), merges, unk_token=SPECIAL_TOKENS[UNKNOWN], byte_fallback=spelled)


def _numbered(tokens: Sequence[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _characters(counts: Mapping[str, int]) -> Counter[str]:
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    return characters


def _alphabet(counts: Mapping[str, int], config: TokenizerConfig, capacity: int) -> list[str]:
    """Choose the characters pieces are made of: all, or half of the capacity where bytes spell the rest."""
    most = max(1, capacity // 2) if config.byte_fallback else capacity
    return _most_frequent(_characters(counts), config.min_frequency, most)


def _most_frequent(counts: Mapping[str, int], min_frequency: int, most: int) -> list[str]:
    """Rank by count, then by the text itself, so that equal counts fall the same way everywhere."""
    frequent = [(token, count) for token, count in counts.items() if count >= min_frequency]
    return [token for token, _ in sorted(frequent, key=lambda item: (-item[1], item[0]))[:most]]


def _restricted(counts: Mapping[str, int], alphabet: Iterable[str]) -> dict[str, int]:
    """Break words at the characters outside the alphabet, which the tokenizer will spell in bytes."""
    allowed = frozenset(alphabet)
    restricted: Counter[str] = Counter()
    for word, count in counts.items():
        if allowed.issuperset(word):
            restricted[word] += count
        else:
            for run in "".join(character if character in allowed else " " for character in word).split():
                restricted[run] += count
    return restricted


def _learn_merges(counts: Mapping[str, int], min_frequency: int, size: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Let `tokenizers` find at most `size` tokens, characters first, then merges in their order."""
    learner = tokenizers.Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=min_frequency, show_progress=False)
    learner.train_from_iterator(_copies(counts), trainer)
    model = json.loads(learner.to_str())["model"]
    merges = [(left, right) for left, right in model["merges"]]
    return sorted(model["vocab"], key=model["vocab"].__getitem__), merges


def _copies(counts: Mapping[str, int]) -> Iterator[str]:
    """Write each word as often as it was counted, in bounded portions: the trainer takes text, not counts."""
    for word, count in counts.items():
        whole, rest = divmod(count, _COPIES)
        yield from repeat(" ".join([word] * _COPIES), whole)
        yield " ".join([word] * rest)
