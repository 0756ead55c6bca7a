"""Merged: maps of tokens as maps of the words that the tokens spell."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Real
from torch import Tensor

from regard.data.word_spans import word_spans
from regard.errors import ArgumentError
from regard.inspection.map import Map

_ROUNDING = 1e-4  # that a figure allows beyond the ends of its scale
_UNFINISHED = "\ufffd"  # what bytes are decoded as that are not yet a character


class Words(NamedTuple):
    """The words that tokens are parts of."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    """For each token, the place of its word among the names."""


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
        """Find the words that the tokens spell, as `data.pair.words` divides the text they are decoded to.

        A token belongs to the word that its last character is in, and a space to the word after it.

        >>> pieces = ["<s>", "hou", "ses", " bu", "rn", "!"]
        >>> decode = lambda ids: "".join(pieces[one] for one in ids)
        >>> Spelling(ids=range(6), tokens=pieces, special={0}, decode=decode).words()
        Words(names=('<s>', 'houses', 'burn', '!'), numbers=(0, 1, 1, 2, 2, 3))
        """
        names: list[str] = []
        numbers: list[int] = []
        for alone, run in groupby(range(len(self.ids)), key=lambda place: self.ids[place] in self.special):
            places = list(run)
            own = Words(tuple(self.tokens[one] for one in places), tuple(range(len(places))))
            found = own if alone else self._divide(places)
            numbers += [len(names) + number for number in found.numbers]
            names += found.names
        return Words(tuple(names), tuple(numbers))

    def _divide(self, places: list[int]) -> Words:
        """Find the words of a run of tokens, none of them special."""
        text, ends = _spell([self.ids[place] for place in places], self.decode)
        borders = [span.end for span in word_spans(text, "marks")]
        of_word = np.searchsorted(borders, np.array(ends) - 1, side="right").clip(max=max(len(borders) - 1, 0))
        names: list[str] = []
        numbers: list[int] = []
        start = 0
        for _, cluster in groupby(range(len(places)), key=lambda place: of_word[place]):
            members = list(cluster)
            end = ends[members[-1]]
            numbers += [len(names)] * len(members)
            names.append(text[start:end].strip() or "".join(self.tokens[places[one]] for one in members))
            start = end
        return Words(tuple(names), tuple(numbers))


def _spell(ids: list[int], decode: Callable[[list[int]], str]) -> tuple[str, list[int]]:
    """Give the text of tokens, and where in it each ends; a part of a character ends where the character does."""
    spelled = [decode(ids[: place + 1]) for place in range(len(ids))]
    ends = [len(spelled[-1])]
    for text in reversed(spelled[:-1]):
        ends.append(ends[-1] if text.endswith(_UNFINISHED) else min(len(text), ends[-1]))
    return spelled[-1], ends[::-1]


def merge_words(map: Map, *, query: Words | None = None, key: Words | None = None) -> Map:
    r"""Merge the tokens of words: sums over a word that is looked at, means over one that looks.

    $$\bar\alpha_{vw} = \frac{1}{|v|} \sum_{i \in v} \sum_{j \in w} \alpha_{ij}$$

    Rows keep their sum. A cell is masked where all of it was.

    >>> tokens = Map(name="x", values=torch.tensor([0.5, 0.3, 0.2]), axes=("key",), labels=(tuple("abc"),), caveat="")
    >>> merge_words(tokens, key=Words(("ab", "c"), (0, 0, 1))).values
    tensor([0.8000, 0.2000])
    """
    values, mask, labels = map.values, map.mask, list(map.labels)
    for place, axis in enumerate(map.axes):
        words = query if axis == "query" else key
        if words is None:
            continue
        if len(words.numbers) != values.size(place):
            raise ArgumentError(
                f"`{axis}` must tell of the map's {values.size(place)} tokens; received {len(words.numbers)}."
            )
        values = join(values, words.numbers, len(words.names), axis=place, mean=axis == "query")
        mask = None if mask is None else join(mask.to(values.dtype), words.numbers, len(words.names), axis=place) > 0
        labels[place] = words.names
    limits = map.limits
    if values.numel() and (values.min() < limits[0] - _ROUNDING or values.max() > limits[1] + _ROUNDING):
        limits = (min(limits[0], float(values.min())), max(limits[1], float(values.max())))
    return replace(map, values=values, mask=mask, labels=tuple(labels), limits=limits)


def join(
    values: Real[Tensor, "..."], numbers: Sequence[int], count: int, *, axis: int, mean: bool = False
) -> Real[Tensor, "..."]:
    """Add up, or average, the places of an axis that have one number; `count` is how many numbers there are."""
    places = torch.tensor(list(numbers), dtype=torch.long, device=values.device)
    shape = list(values.shape)
    shape[axis] = count
    total = values.new_zeros(shape).index_add_(axis, places, values)
    if not mean:
        return total
    held = torch.bincount(places, minlength=count).clamp_min(1)
    return total / held.view([-1 if one == axis % values.ndim else 1 for one in range(values.ndim)])
