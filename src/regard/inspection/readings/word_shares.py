"""How much each word of a text mattered to a classifier: by the gradient, and by leaving the word out."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.inspection.readings.gradient_times_input import gradient_times_input
from regard.inspection.readings.occlusion import occlusion
from regard.models.classification.network import Network
from regard.models.classification.tf_idf import TfIdfClassifier


def gradient_shares(
    network: Network, tokens: Int[Tensor, "batch length"], lengths: Int[Tensor, " batch"], *, signed: bool = False
) -> Float[Tensor, "batch length"]:
    r"""Give each token its share of gradient times input, for the label that is chosen.

    $$s_j = \frac{|x_j^\top \partial z_c / \partial x_j|}{\sum_k |x_k^\top \partial z_c / \partial x_k|}$$

    where $x_j$ is the vector of token $j$ and $z_c$ the chosen label's logit less the mean of all. To first order it is
    how much the logit would lose without the token's vector. Tokens that speak for the label and against it are counted
    alike, unless `signed`: those against it then have shares below zero, and the sizes sum to one.

    Reference: Denil, Demiraj and de Freitas (2014), arXiv:1412.6815; Li et al. (2016), arXiv:1506.01066.
    """

    def predict(embedding: Tensor) -> Tensor:
        return _centered(network.read(embedding, tokens, lengths).logits).max(-1).values

    with torch.no_grad():
        embedding = network.embedding(tokens)
    parts = gradient_times_input(predict, embedding).sum(-1)
    parts = parts * (torch.arange(tokens.size(1), device=tokens.device) < lengths.to(tokens.device).unsqueeze(1))
    total = parts.abs().sum(-1, keepdim=True)
    return (parts if signed else parts.abs()) / total.where(total > 0, 1.0)


def removal_shares(
    model: Network | TfIdfClassifier,
    tokens: Sequence[int],
    words: Sequence[int],
    *,
    device: torch.device | str = "cpu",
    cells: int = 16384,
) -> list[float]:
    r"""Give each word of one text its share of what the decision changes by without it.

    $$s_j = \frac{|z_c(x) - z_c(x_{\setminus j})|}{\sum_k |z_c(x) - z_c(x_{\setminus k})|}$$

    where $z_c$ is the logit of the label chosen for the whole text, less the mean of all labels, and $x_{\setminus j}$
    the text without word $j$. `words` says which word each token is part of; the shares are those of words 0, 1, ….
    It takes one pass for each word.

    Reference: Li, Monroe and Jurafsky (2016), section 3, arXiv:1612.08220.
    """
    count = max(words, default=-1) + 1
    if not count:
        return []
    kept = [[token for token, part in zip(tokens, words, strict=True) if part != word] for word in range(count)]

    def predict(texts: list[list[int]]) -> Tensor:
        rows = torch.zeros(len(texts), max(1, *map(len, texts)), dtype=torch.long)
        for row, text in zip(rows, texts, strict=True):
            row[: len(text)] = torch.tensor(text, dtype=torch.long)
        return _centered(model(rows.to(device), torch.tensor([len(text) for text in texts])).logits.double())

    at_once = max(1, cells // max(1, len(tokens)))
    changes = occlusion(predict, [list(tokens)], kept, distance=_change_of_chosen, at_once=at_once)
    total = changes.sum()
    shares: list[float] = (changes / total if total > 0 else changes).tolist()
    return shares


def _centered(logits: Tensor) -> Tensor:
    return logits - logits.mean(-1, keepdim=True)


def _change_of_chosen(before: Tensor, after: Tensor) -> Tensor:
    """Measure the change of the label chosen before, the same in all rows."""
    chosen = int(before[0].argmax())
    return (before - after)[:, chosen].abs()
