"""Links between words, laid over the tokens of a batch, however the words are divided into tokens."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import Pair


@dataclass(frozen=True, kw_only=True, eq=False)
class WordLinks:
    """The links of a corpus, and of which word each token is a part.

    >>> source, target = Ragged.from_lists([[0, 0]]), Ragged.from_lists([[0, 1]])
    >>> links = Ragged.from_lists([[0, 1]])  # the first source word and the second target word
    >>> words = WordLinks(source_words=source, target_words=target, links=links)
    >>> words.matrix(np.array([0]), target=3, source=3).astype(int).tolist()
    [[[0, 0, 0], [1, 1, 0], [0, 0, 0]]]
    """

    source_words: Ragged
    """For each source token, the position of the word that it is part of."""
    target_words: Ragged
    """Likewise for each target token."""
    links: Ragged
    """Source and target word of each link, one after the other."""

    def __len__(self) -> int:
        return len(self.links)

    def matrix(
        self, indices: NDArray[np.int64], *, target: int, source: int
    ) -> Bool[np.ndarray, "batch {target} {source}"]:
        """Mark the tokens of these sentences whose words are linked, in a table of so many columns and rows."""
        sources, targets = _padded(self.source_words, indices, source), _padded(self.target_words, indices, target)
        # A row and a column more than there are words: nothing is linked there, and −1, for padding, points there.
        shape = len(indices), int(targets.max(initial=0)) + 2, int(sources.max(initial=0)) + 2
        table, rows = np.zeros(shape, dtype=np.bool_), np.arange(len(indices))
        own = [self.links[int(index)].reshape(-1, 2) for index in indices]
        pairs = np.concatenate([np.zeros((0, 2), dtype=np.int32), *own])
        kept = (pairs[:, 1] < shape[1] - 1) & (pairs[:, 0] < shape[2] - 1)
        sentence = np.repeat(rows, [len(item) for item in own])
        table[sentence[kept], pairs[kept, 1], pairs[kept, 0]] = True
        return table[rows[:, None, None], targets[:, :, None], sources[:, None, :]]


def kept_links(pair: Pair) -> list[int]:
    """Give source and target word of each link of a pair, one after the other.

    Possible links are left out, but for target words that have no others.
    """
    sure = {link.target for link in pair.links if link.sure}
    kept = [link for link in pair.links if link.sure or link.target not in sure]
    return [number for link in kept for number in (link.source, link.target)]


def _padded(words: Ragged, indices: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    rows = np.full((len(indices), width), -1, dtype=np.int64)
    for row, index in zip(rows, indices.tolist(), strict=True):
        own = words[index]
        row[: len(own)] = own
    return rows
