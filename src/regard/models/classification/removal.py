"""How much each word mattered, by leaving it out: slow, and the same question to every model."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.models.classification.network import Network
from regard.models.classification.tf_idf import TfIdfClassifier


@torch.no_grad()
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
    number = max(words, default=-1) + 1
    if not number:
        return []
    kept = [[token for token, word in zip(tokens, words, strict=True) if word != item] for item in range(number)]
    whole = _centered(model, [list(tokens)], device)[0]
    chosen = int(whole.argmax())
    at_once = max(1, cells // max(1, len(tokens)))
    parts = torch.cat(
        [_centered(model, kept[start : start + at_once], device)[:, chosen] for start in range(0, number, at_once)]
    )
    changes = (whole[chosen] - parts).abs()
    total = changes.sum()
    shares: list[float] = (changes / total if total > 0 else changes).tolist()
    return shares


def _centered(model: Network | TfIdfClassifier, texts: Sequence[Sequence[int]], device: torch.device | str) -> Tensor:
    rows = torch.zeros(len(texts), max(1, *map(len, texts)), dtype=torch.long)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = torch.tensor(text, dtype=torch.long)
    logits: Tensor = model(rows.to(device), torch.tensor([len(text) for text in texts])).logits.double()
    return logits - logits.mean(-1, keepdim=True)
