"""TF-IDF and logistic regression: the baseline in which how rare a word is decides its weight."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import MissingExtraError
from regard.layers.mechanisms.tf_idf import TfIdf
from regard.models.classification.network import Classified


class TfIdfClassifier(nn.Module):
    r"""Classify by the words of a text, each times how rare it is.

    $$p = \text{softmax}(W x + b), \qquad x_t = \frac{\text{count}_t \, \text{idf}_t}
    {\lVert \text{count} \circ \text{idf} \rVert}$$

    where idf is scikit-learn's smooth one and 0 for words not in the training data. The weight of the word at position
    $j$ is its share of what is added up for the label $c$ that is chosen, for or against it: $|W_{ct} x_t| /
    \text{count}_t$ over the sum of these. $W$ is centered over the labels, so that the share does not depend on an
    arbitrary offset.

    >>> model = TfIdfClassifier(5, 2)
    >>> model(torch.tensor([[4, 0]]), torch.tensor([1])).logits
    tensor([[0., 0.]])
    """

    idf: Float[Tensor, " vocabulary"]
    weight: Float[Tensor, "labels vocabulary"]
    bias: Float[Tensor, " labels"]

    def __init__(self, vocabulary_size: int, num_labels: int) -> None:
        super().__init__()
        self.register_buffer("idf", torch.zeros(vocabulary_size))
        self.register_buffer("weight", torch.zeros(num_labels, vocabulary_size))
        self.register_buffer("bias", torch.zeros(num_labels))

    def forward(self, tokens: Int[Tensor, "batch length"], lengths: Int[Tensor, " batch"]) -> Classified:
        """Classify texts, of which the first `lengths` tokens count."""
        terms = self._terms(tokens, lengths)
        logits = torch.einsum("bl,lbc->bc", terms, self.weight.T[tokens.T]) + self.bias
        chosen = self.weight[logits.argmax(-1, keepdim=True), tokens]
        parts = (terms * chosen).abs()
        total = parts.sum(-1, keepdim=True)
        return Classified(logits, parts / total.where(total > 0, 1.0), None)

    def _terms(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Give each position its part of x: idf over the length of the text's vector."""
        mask = torch.arange(tokens.size(1), device=tokens.device) < lengths.to(tokens.device).unsqueeze(1)
        rare = self.idf[tokens] * mask
        # Σ_t (count idf)² = Σ_j Σ_k [x_j = x_k] idf_j idf_k, by adding up over the vocabulary.
        by_term = torch.zeros(tokens.size(0), self.idf.numel(), device=tokens.device).scatter_add_(1, tokens, rare)
        length = by_term.norm(dim=1, keepdim=True)
        terms: Tensor = rare / length.where(length > 0, 1.0)
        return terms


def fit_tf_idf(
    texts: Sequence[Sequence[int]],
    labels: Sequence[int],
    *,
    vocabulary_size: int,
    num_labels: int,
    inverse_penalty: float,
    iterations: int = 1000,
    ignored: Sequence[int] = (),
) -> TfIdfClassifier:
    """Fit to texts in token numbers; tokens that are `ignored`, such as the one for unknown words, have no weight."""
    linear = _scikit_learn()
    weigher = TfIdf.fit(texts, variant="scikit-learn", vocabulary_size=vocabulary_size)
    idf = weigher.idf.clone()
    used = (
        np.unique(np.concatenate([np.asarray(item, dtype=np.int64) for item in texts])) if texts else np.zeros(0, int)
    )
    never = torch.ones(vocabulary_size, dtype=torch.bool)
    never[torch.from_numpy(used.astype(np.int64))] = False
    idf[never], idf[list(ignored)] = 0.0, 0.0
    features = _features(texts, idf.double().numpy())
    regression = linear.LogisticRegression(C=inverse_penalty, max_iter=iterations).fit(features, np.asarray(labels))
    model = TfIdfClassifier(vocabulary_size, num_labels)
    weight, bias = torch.from_numpy(regression.coef_).float(), torch.from_numpy(regression.intercept_).float()
    if num_labels == 2:  # scikit-learn keeps one row for the second label; half of it, for and against, is the same
        weight, bias = torch.cat([-weight / 2, weight / 2]), torch.cat([-bias / 2, bias / 2])
    model.idf, model.weight, model.bias = idf, weight - weight.mean(0), bias - bias.mean()
    return model


def _features(texts: Sequence[Sequence[int]], idf: NDArray[np.float64]) -> Any:
    """Lay the texts out as a sparse matrix, each row of length one."""
    from scipy import sparse  # comes with scikit-learn
    from sklearn.preprocessing import normalize

    offsets = np.cumsum([0, *(len(item) for item in texts)])
    tokens = np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(item, dtype=np.int64) for item in texts)])
    matrix = sparse.csr_matrix((idf[tokens], tokens, offsets), shape=(len(texts), len(idf)))
    matrix.sum_duplicates()
    return normalize(matrix, copy=False)


def _scikit_learn() -> Any:
    try:
        from sklearn import linear_model
    except ImportError as error:
        raise MissingExtraError(
            'The preset "tf-idf" needs the package scikit-learn to be fitted, which is not installed. Install it: '
            "pip install 'regard[sklearn]'. A model that is fitted needs it no longer."
        ) from error
    return linear_model
