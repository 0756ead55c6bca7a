"""Which tokens of a vocabulary never occur on a side of the training pairs; a file of the model folder says so.

A joint vocabulary gives both sides every token: `Canada`, which only English has, gets a source vector too, which
training leaves at its random start.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.batches.pairs import Examples
from regard.data.text.special import SPECIAL_TOKENS
from regard.data.text.tokenizer import TokenizerPair
from regard.files import LARGE, Entry, json_text, read_json, write_text

FILE = "untrained.json"
_AT_ONCE = 1 << 22


class Untrained(NamedTuple):
    """The tokens that never occurred, of each side; none where it was not recorded."""

    source: frozenset[int] = frozenset()
    target: frozenset[int] = frozenset()

    @classmethod
    def of_corpora(cls, corpora: Iterable[Examples], tokenizers: TokenizerPair) -> "Untrained":
        """List the tokens that no corpus has. Special tokens count as trained.

        >>> from regard.data.corpora.pair import Pair
        >>> from regard.data.batches.ragged import Ragged
        >>> from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
        >>> both = train_tokenizers([Pair(source="sí", target="yes")] * 2, TokenizerConfig(kind="word"))
        >>> sides = [Ragged.from_lists([side.encode(word).ids]) for side, word in zip(both, ("sí", "yes"))]
        >>> untrained = Untrained.of_corpora([Examples(source=sides[0], target=sides[1])], both)
        >>> both.source.pieces(sorted(untrained.source)), both.target.pieces(sorted(untrained.target))
        (['yes'], ['sí'])
        """
        used = [np.zeros(tokenizer.size, dtype=np.bool_) for tokenizer in tokenizers]
        for examples in corpora:
            _mark(used[0], examples.source.values)
            _mark(used[1], examples.target.values)
        source, target = (
            frozenset(number for number in np.flatnonzero(~side).tolist() if number >= len(SPECIAL_TOKENS))
            for side in used
        )
        return cls(source, target)

    @classmethod
    def common(cls, several: Sequence["Untrained"]) -> "Untrained":
        """List what is untrained in all of several models."""
        return cls(*(frozenset.intersection(*sides) for sides in zip(*several, strict=True)))

    def mark(self, tokenizers: TokenizerPair) -> TokenizerPair:
        """Let tokenizers read these tokens as `<unk>`."""
        return TokenizerPair(*(side.with_untrained(lacking) for side, lacking in zip(tokenizers, self, strict=True)))

    def merge_sides(self) -> "Untrained":
        """List what neither side has, for a model whose sides share their vectors."""
        return Untrained(self.source & self.target, self.source & self.target)

    def save(self, folder: Path) -> None:
        """Write the file into a model folder."""
        table = {side: sorted(tokens) for side, tokens in self._asdict().items()}
        write_text(folder / FILE, json_text(table) + "\n")

    @classmethod
    def load(cls, folder: Path, tokenizers: TokenizerPair) -> "Untrained":
        """Read the file of a model folder; without one, every token counts as trained."""
        path = folder / FILE
        if not path.is_file():
            return cls()
        table = read_json(path, most=LARGE)
        return cls(*(_read(table[side], item.size) for side, item in zip(cls._fields, tokenizers, strict=True)))


def _read(tokens: Entry, size: int) -> frozenset[int]:
    return frozenset(token.whole(least=len(SPECIAL_TOKENS), most=size - 1) for token in tokens.items())


def _mark(used: NDArray[np.bool_], tokens: NDArray[np.int32]) -> None:
    for start in range(0, len(tokens), _AT_ONCE):  # the tokens may be a file larger than memory
        used[tokens[start : start + _AT_ONCE]] = True
