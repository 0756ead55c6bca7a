"""Merged: maps of tokens as maps of the words that the tokens spell."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import torch
from jaxtyping import Real
from torch import Tensor

from regard.data.corpora.pair import words as divide
from regard.data.text.words_of_tokens import spans_of, words_at
from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map

_ROUNDING = 1e-4  # that a figure allows beyond the ends of its scale
_REPLACED = "\ufffd"  # what most decoders write for bytes that are no character
_BLOCK = 16  # tokens that are decoded with as many before them


class Words(NamedTuple):
    """The words that tokens are parts of."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """For each token, the position of its word among the names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Spelling:
    """The tokens of one side, and how they are written as text."""

    ids: Sequence[int]
    tokens: Sequence[str]
    """Their names."""
    special: Collection[int]
    """Those that spell nothing: each is a word of its own."""
    decode: Callable[[list[int]], str]

    def words(self) -> Words:
        """Find the words that the tokens spell, as `data.corpora.pair.words` divides the text they are decoded to.

        A token belongs to the word that its last character is in, and a space to the word after it.

        >>> pieces = ["<s>", "hou", "ses", " bu", "rn", "!"]
        >>> decode = lambda ids: "".join(pieces[one] for one in ids)
        >>> Spelling(ids=range(6), tokens=pieces, special={0}, decode=decode).words()
        Words(names=('<s>', 'houses', 'burn', '!'), numbers=(0, 1, 1, 2, 2, 3))
        """
        names: list[str] = []
        numbers: list[int] = []
        for alone, run in groupby(range(len(self.ids)), key=lambda index: self.ids[index] in self.special):
            indices = list(run)
            own = Words(tuple(self.tokens[item] for item in indices), tuple(range(len(indices))))
            result = own if alone else self._divide(indices)
            numbers += [len(names) + number for number in result.numbers]
            names += result.names
        return Words(tuple(names), tuple(numbers))

    def _divide(self, positions: list[int]) -> Words:
        """Find the words of a run of tokens, none of them special."""
        text, ends = _spell([self.ids[index] for index in positions], self.decode)
        of_word = words_at([end - 1 for end in ends], spans_of(text, divide(text)))
        names: list[str] = []
        numbers: list[int] = []
        start = 0
        for _, cluster in groupby(range(len(positions)), key=lambda index: of_word[index]):
            members = list(cluster)
            end = ends[members[-1]]
            numbers += [len(names)] * len(members)
            names.append(text[start:end].strip() or "".join(self.tokens[positions[item]] for item in members))
            start = end
        return Words(tuple(names), tuple(numbers))


def _spell(ids: list[int], decode: Callable[[list[int]], str]) -> tuple[str, list[int]]:
    """Give the text of tokens, and where in it each ends; a part of a character ends where the character does."""
    whole = decode(ids)
    spelled = _spell_in_blocks(ids, decode, size=_BLOCK)
    if spelled.text != whole:  # the decoder looks further back
        spelled = _spell_in_blocks(ids, decode, size=len(ids))
    ends = [len(whole)]
    for length, unfinished in zip(spelled.lengths[-2::-1], spelled.unfinished[-2::-1], strict=True):
        ends.append(ends[-1] if unfinished else min(length, ends[-1]))
    return whole, ends[::-1]


class _Spelled(NamedTuple):
    """The text of tokens, its length after each of them, and which of them are parts of the next one's character."""

    text: str
    lengths: list[int]
    unfinished: list[bool]


def _spell_in_blocks(ids: list[int], decode: Callable[[list[int]], str], *, size: int) -> _Spelled:
    """Decode up to each token from the block before its own: how a decoder begins is then the same on both sides.

    Bytes that are no character yet are shown as U+FFFD until they are, or not at all.
    """
    lengths: list[int] = []
    unfinished: list[bool] = []
    start = border = 0
    text = head = before = now = ""  # of all blocks that are done, of the last of them, of tokens from `start` on
    for index, number in enumerate(ids):
        now = decode(ids[start : index + 1])
        if before.endswith(_REPLACED) and not now.startswith(before):
            unfinished[-1] = True
        silent = now == before and not decode([number])
        lengths.append(len(text) + len(now) - len(head))
        unfinished.append(silent)
        before = now
        if index + 1 - border >= size and not silent and not now.endswith(_REPLACED):
            text += now[len(head) :]
            start, border = border, index + 1
            head = before = now = decode(ids[start:border])
    return _Spelled(text + now[len(head) :], lengths, unfinished)


def merge_words(map: Map, *, query: Words | None = None, key: Words | None = None) -> Map:
    r"""Merge the tokens of words: sums over a word that is attended to, means over one that attends.

    $$\bar\alpha_{vw} = \frac{1}{|v|} \sum_{i \in v} \sum_{j \in w} \alpha_{ij}$$

    Rows keep their sum. A cell is masked where all of it was.

    >>> tokens = Map(name="x", values=torch.tensor([0.5, 0.3, 0.2]), axes=("key",), labels=(tuple("abc"),), caveat="")
    >>> merge_words(tokens, key=Words(("ab", "c"), (0, 0, 1))).values
    tensor([0.8000, 0.2000])
    """
    values, mask, labels = map.values, map.mask, list(map.labels)
    for index, axis in enumerate(map.axes):
        words = query if axis == "query" else key
        if words is None:
            continue
        if len(words.numbers) != values.size(index):
            raise ArgumentError(
                f"`{axis}` must tell of the map's {values.size(index)} tokens; received {len(words.numbers)}."
            )
        values = join(values, words.numbers, len(words.names), axis=index, mean=axis == "query")
        mask = None if mask is None else join(mask.to(values.dtype), words.numbers, len(words.names), axis=index) > 0
        labels[index] = words.names
    limits = map.limits
    if values.numel() and (values.min() < limits[0] - _ROUNDING or values.max() > limits[1] + _ROUNDING):
        limits = (min(limits[0], float(values.min())), max(limits[1], float(values.max())))
    return replace(map, values=values, mask=mask, labels=tuple(labels), limits=limits)


def join(
    values: Real[Tensor, "..."], numbers: Sequence[int], count: int, *, axis: int, mean: bool = False
) -> Real[Tensor, "..."]:
    """Add up, or average, the positions of an axis that have one number; `count` is how many numbers there are."""
    indices = torch.tensor(list(numbers), dtype=torch.long, device=values.device)
    shape = list(values.shape)
    shape[axis] = count
    total = values.new_zeros(shape).index_add_(axis, indices, values)
    if not mean:
        return total
    held = torch.bincount(indices, minlength=count).clamp_min(1)
    return total / held.view([-1 if item == axis % values.ndim else 1 for item in range(values.ndim)])
