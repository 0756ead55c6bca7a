"""The bag of words: every word as likely as it is frequent, whatever came before."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import ArgumentError
from regard.models.language.network import History, NextWord


class BagModel:
    r"""Count words and forget their order.

    $$p(w) = \frac{c(w) + \delta}{N + \delta V}$$

    where $c(w)$ of the $N$ tokens of training were $w$, $V$ is the number of words, and $\delta$ is `smoothing`, what
    each word is counted as besides (Laplace's rule for one).

    Reference: Jurafsky and Martin, Speech and Language Processing (3rd edition), equation 3.24.

    >>> model = BagModel.fit(np.array([1, 1, 2]), vocabulary_size=3, smoothing=1.0)
    >>> np.exp(model.log_probabilities(np.array([1]))).round(3)
    array([0.5])
    """

    def __init__(self, counts: NDArray[np.int64], *, smoothing: float) -> None:
        self.counts, self.smoothing = counts, smoothing
        probabilities = (counts + smoothing) / (counts.sum() + smoothing * len(counts))
        self._logarithms = np.log(probabilities)

    @classmethod
    def fit(cls, tokens: NDArray[np.integer], *, vocabulary_size: int, smoothing: float) -> "BagModel":
        """Count the tokens of a text."""
        return cls(np.bincount(tokens, minlength=vocabulary_size).astype(np.int64), smoothing=smoothing)

    @property
    def vocabulary_size(self) -> int:
        """How many tokens it knows."""
        return len(self.counts)

    @property
    def context(self) -> int:
        """How many words before it a word depends on."""
        return 0

    def log_probabilities(self, tokens: NDArray[np.integer]) -> NDArray[np.float64]:
        """Give how likely each token of a text is."""
        result: NDArray[np.float64] = self._logarithms[tokens]
        return result

    def start(self, rows: int, *, capacity: int | None = None) -> History:
        """Begin; there is nothing to remember."""
        del capacity
        return History.empty(rows, 0)

    def step(self, tokens: Int[Tensor, "rows new"], state: History, *, weights: bool = False) -> NextWord:
        """Predict the same, whatever was read."""
        del weights
        words = torch.from_numpy(self._logarithms).float()
        return NextWord(words.expand(*tokens.shape, -1), state)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Give what it has counted."""
        return {"counts": self.counts, "smoothing": np.array([self.smoothing])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "BagModel":
        """Read what `arrays` gave."""
        counts, smoothing = arrays["counts"], float(arrays["smoothing"].astype(np.float64)[0])
        if counts.dtype != np.int64 or counts.ndim != 1 or (counts < 0).any():
            raise ArgumentError("`counts` must be whole numbers, none below 0, in a row; received others.")
        if not 0 < smoothing < np.inf:
            raise ArgumentError(f"`smoothing` must be a finite number above 0; received {smoothing}.")
        return cls(counts, smoothing=smoothing)
