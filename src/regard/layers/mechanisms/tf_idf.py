"""Term frequency times inverse document frequency: attention before anybody called it so."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import ArgumentError
from regard.layers.checks import check_choice

Variant = Literal["lecture", "scikit-learn"]


@dataclass(frozen=True, eq=False)
class TfIdf:
    r"""Weigh the words of a text by how often they are in it, and how rare elsewhere.

    $$w_{t,d} = \text{count}_{t,d} \cdot \text{idf}_t, \qquad \text{idf}_t = \begin{cases} \log(N / n_t) &
    \text{"lecture"} \\ \log\frac{1 + N}{1 + n_t} + 1 & \text{"scikit-learn"} \end{cases}$$

    where $N$ is the number of documents and $n_t$ in how many of them $t$ occurs. A token in no document weighs 0.
    "lecture" gives a word that is in every document 0 as well; "scikit-learn", its smooth default, does not, and
    scales the weights of a text to length one.

    Reference: Spärck Jones (1972); scikit-learn's TfidfTransformer for the variant.

    >>> texts = [["david", "scored"], ["beckham", "scored", "and", "scored"]]
    >>> model = TfIdf.fit(texts)
    >>> model.weigh(["david", "scored", "unheard"])
    tensor([0.6931, 0.0000, 0.0000])
    """

    vocabulary: Mapping[Hashable, int]
    """The number of each token."""
    idf: Float[Tensor, " vocabulary"]
    """How rare each token is."""
    variant: Variant = "lecture"

    @classmethod
    def fit(
        cls,
        documents: Iterable[Sequence[Hashable]],
        *,
        variant: Variant = "lecture",
        vocabulary_size: int | None = None,
    ) -> "TfIdf":
        """Count in how many documents each token occurs. Documents are lists of strings or of token numbers.

        Strings are numbered as they are met; numbers stay, up to `vocabulary_size` where given.
        """
        check_choice("variant", variant, get_args(Variant))
        total, result = 0, Counter[Hashable]()
        for document in documents:
            total += 1
            result.update(dict.fromkeys(document, 1))
        if not total:
            raise ArgumentError("`documents` must hold at least one document; received none.")
        vocabulary = _number(result, vocabulary_size)
        idf = torch.zeros(max(vocabulary.values(), default=-1) + 1)
        for token, count in result.items():
            smooth = variant == "scikit-learn"
            idf[vocabulary[token]] = math.log((1 + total) / (1 + count)) + 1 if smooth else math.log(total / count)
        return cls(vocabulary, idf, variant)

    def number(self, document: Sequence[Hashable]) -> Int[Tensor, " length"]:
        """Give the number of each token, −1 for one never seen."""
        return torch.tensor([self.vocabulary.get(token, -1) for token in document], dtype=torch.long)

    def terms(self, document: Sequence[Hashable]) -> dict[Hashable, float]:
        """Weigh each different token of a text once: the row of the document in a table of terms."""
        counts = Counter(document)
        weights = {token: count * self._rarity(token) for token, count in counts.items()}
        if self.variant == "scikit-learn":
            length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
            weights = {token: weight / length for token, weight in weights.items()}
        return weights

    def weigh(self, document: Sequence[Hashable]) -> Float[Tensor, " length"]:
        """Weigh the text word by word: each position has the weight of its term."""
        terms = self.terms(document)
        return torch.tensor([terms[token] for token in document])

    def _rarity(self, token: Hashable) -> float:
        number = self.vocabulary.get(token)
        return 0.0 if number is None else float(self.idf[number])


def _number(result: Mapping[Hashable, int], vocabulary_size: int | None) -> dict[Hashable, int]:
    """Number the tokens: integers by themselves, others in the order they were met."""
    if not all(isinstance(token, int) for token in result):
        return {token: number for number, token in enumerate(result)}
    numbers = [token for token in result if isinstance(token, int)]
    largest = max(numbers, default=-1)
    size = largest + 1 if vocabulary_size is None else vocabulary_size
    if largest >= size or min(numbers, default=0) < 0:
        worst = largest if largest >= size else min(numbers)
        raise ArgumentError(f"token numbers must be from 0 to {size - 1}; received {worst}.")
    return {number: number for number in range(size)}
