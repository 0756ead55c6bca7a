"""BPE-dropout: divide a text differently in every epoch, by leaving out merges at random, and repeatably.

`tokenizers` has BPE-dropout, but its random numbers cannot be seeded. Here every decision is a hash of the seed, the
epoch, the number of the sentence, the position in it and the step, so that a sentence is divided the same way whatever
is encoded with it, in whatever order, by however many processes. All words are worked on at once, in numpy.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import tokenizers
from numpy.typing import NDArray

from regard.data.batches.ragged import Ragged
from regard.data.text.tokenizer import Tokenizer, normalize_text, word_numbers
from regard.errors import ArgumentError

Integers: TypeAlias = NDArray[np.int64]
Hashes: TypeAlias = NDArray[np.uint64]

_AT_ONCE = 4096


class Spelled(NamedTuple):
    """Texts as characters, one text after the other."""

    ids: NDArray[np.int32]
    """The token of each character."""
    word: NDArray[np.int32]
    """The word it is in, counted over all texts."""
    lengths: Integers
    """How many characters each text has."""
    counted: NDArray[np.int32] | None = None
    """The word it is in as links count words, from 0 in each text; None where that was not asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BpeDropout:
    """The merges of a BPE tokenizer, laid out to find many pairs at once.

    Reference: Provilkov, Emelianenko and Voita (2020), algorithm 1, arXiv:1910.13267.
    """

    characters: tokenizers.Tokenizer
    """The same tokenizer without its merges."""
    pairs: Integers
    """left * size + right, sorted."""
    ranks: Integers
    """When each pair is merged: earlier first."""
    merged: Integers
    """What it becomes."""
    size: int

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "BpeDropout":
        """Take the merges of `tokenizer`, which must be of kind bpe."""
        if tokenizer.kind != "bpe":
            raise ArgumentError(
                f"`tokenizer` must be of kind 'bpe'; received {tokenizer.kind!r}. Only merges can be dropped."
            )
        layout = json.loads(tokenizer.to_json())
        vocabulary, merges = layout["model"]["vocab"], layout["model"]["merges"]
        layout["model"]["merges"] = []
        table = np.array([[vocabulary[left], vocabulary[right], vocabulary[left + right]] for left, right in merges])
        pairs = table[:, 0] * tokenizer.size + table[:, 1]
        order = np.argsort(pairs)
        characters = tokenizers.Tokenizer.from_str(json.dumps(layout))
        characters.encode_special_tokens = True
        return cls(characters=characters, pairs=pairs[order], ranks=order, merged=table[order, 2], size=tokenizer.size)

    def encode_batch(
        self, texts: Sequence[str], *, probability: float, seed: int, epoch: int, indices: Sequence[int] | None = None
    ) -> Ragged:
        """Divide `texts`: `spell` and `encode` in one."""
        return self.encode(self.spell(texts), probability=probability, seed=seed, epoch=epoch, indices=indices)

    def spell(self, texts: Sequence[str], *, words: bool = False) -> "list[Spelled]":
        """Divide `texts` into characters, some thousand at a time: what `encode` starts from in every epoch.

        With `words` each character is known by the word it is in too, as `encode_with_words` needs it.
        """
        return [self._spell(texts[start : start + _AT_ONCE], words) for start in range(0, len(texts), _AT_ONCE)]

    def encode(
        self,
        spelled: "Sequence[Spelled]",
        *,
        probability: float,
        seed: int,
        epoch: int,
        indices: Sequence[int] | None = None,
    ) -> Ragged:
        """Join characters, each merge left out with `probability`; `indices` number the texts, from 0 by default.

        With probability 0 the result is that of the tokenizer itself, with 1 it is single characters.
        """
        return self.encode_with_words(spelled, probability=probability, seed=seed, epoch=epoch, indices=indices)[0]

    def encode_with_words(
        self,
        spelled: "Sequence[Spelled]",
        *,
        probability: float,
        seed: int,
        epoch: int,
        indices: Sequence[int] | None = None,
    ) -> tuple[Ragged, Ragged | None]:
        """Do the same, and give for each token the position of its word too, where `spell` was asked for `words`."""
        joined = self._join(spelled, probability=probability, seed=seed, epoch=epoch, indices=indices)
        tokens = Ragged.concatenate([part for part, _ in joined])
        if any(part.counted is None for part in spelled):
            return tokens, None
        numbers = [
            np.zeros(0, dtype=np.int32) if part.counted is None else part.counted[starts]
            for part, (_, starts) in zip(spelled, joined, strict=True)
        ]
        words = np.concatenate([np.zeros(0, dtype=np.int32), *numbers])
        return tokens, Ragged(values=words, offsets=tokens.offsets)

    def _join(
        self,
        spelled: "Sequence[Spelled]",
        *,
        probability: float,
        seed: int,
        epoch: int,
        indices: Sequence[int] | None,
    ) -> list[tuple[Ragged, Integers]]:
        """Give the tokens of each part, and at which character each begins."""
        if not 0 <= probability <= 1:
            raise ArgumentError(f"`probability` must be from 0 to 1; received {probability}.")
        count = sum(len(part.lengths) for part in spelled)
        numbers = np.arange(count) if indices is None else np.asarray(indices)
        if len(numbers) != count:
            raise ArgumentError(f"`indices` must number the {count} texts; received {len(numbers)}. Give one for each.")
        keys = _mix(np.array([seed % 2**64], dtype=np.uint64))
        keys = _mix(_mix(keys + np.uint64(epoch)) + numbers.astype(np.uint64))
        starts = np.cumsum([0, *(len(part.lengths) for part in spelled)])
        return [
            self._encode(part, keys[start : start + len(part.lengths)], probability)
            for part, start in zip(spelled, starts[:-1], strict=True)
        ]

    def _spell(self, texts: Sequence[str], words: bool) -> "Spelled":
        encodings = self.characters.encode_batch(list(texts))
        ids = Ragged.from_lists(item.ids for item in encodings)
        word_ids = Ragged.from_lists([number or 0 for number in item.word_ids] for item in encodings)
        sentence = np.repeat(np.arange(len(texts)), ids.lengths)
        border = (np.diff(sentence, prepend=-1) != 0) | (np.diff(word_ids.values, prepend=-1) != 0)
        counted = None
        if words:
            counted = Ragged.from_lists(map(self._count, texts)).values
        return Spelled(ids.values.astype(np.int32), np.cumsum(border, dtype=np.int32) - 1, ids.lengths, counted)

    def _count(self, text: str) -> list[int]:
        """Give the word of each character, as links count them."""
        text = normalize_text(self.characters, text)
        return word_numbers(self.characters.encode(text), text)

    def _encode(self, spelled: "Spelled", keys: Hashes, probability: float) -> tuple[Ragged, Integers]:
        ids, word, counts, _ = spelled
        sentence = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(sentence)) - (np.cumsum(counts) - counts)[sentence]
        key = _mix(keys[sentence] + index.astype(np.uint64))
        symbols, indices = self._merge(ids.astype(np.int64), word.astype(np.int64), key, probability)
        lengths = np.bincount(sentence[indices], minlength=len(counts))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Ragged(values=symbols.astype(np.int32), offsets=offsets), indices

    def _merge(self, symbols: Integers, word: Integers, key: Hashes, probability: float) -> tuple[Integers, Integers]:
        """Merge one pair of every word at each step until none is left; give the symbols and where each began."""
        indices = np.arange(len(symbols))
        done: list[tuple[Integers, Integers]] = []
        step = 0
        while len(symbols):
            pairs = symbols[:-1] * self.size + symbols[1:]
            entry = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
            candidate = np.flatnonzero((self.pairs[entry] == pairs) & (word[:-1] == word[1:]))
            candidate = candidate[_uniform(key[candidate] + np.uint64(step)) >= probability]
            # The earliest merge of each word, the leftmost where it occurs twice.
            heads = np.flatnonzero(np.diff(word[candidate], prepend=-1))
            order = self.ranks[entry[candidate]] * len(symbols) + candidate
            chosen = np.minimum.reduceat(order, heads) % len(symbols) if len(order) else candidate
            symbols[chosen] = self.merged[entry[chosen]]
            goes_on = np.zeros(int(word[-1]) + 1, dtype=bool)
            goes_on[word[chosen]] = True
            active = goes_on[word]
            done.append((indices[~active], symbols[~active]))
            active[chosen + 1] = False
            symbols, word, key, indices = symbols[active], word[active], key[active], indices[active]
            step += 1
        indices = np.concatenate([np.zeros(0, dtype=np.int64), *(item for item, _ in done)])
        merged = np.concatenate([np.zeros(0, dtype=np.int64), *(item for _, item in done)])
        order = np.argsort(indices)
        return merged[order], indices[order]


def _uniform(value: Hashes) -> NDArray[np.float64]:
    return (_mix(value) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(value: Hashes) -> Hashes:
    """Hash 64 bits to 64 bits (the finalizer of SplitMix64; Steele, Lea and Flood, 2014)."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
