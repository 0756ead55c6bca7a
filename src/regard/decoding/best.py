"""The best continuations of a sentence's hypotheses, found without sorting the vocabulary."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

#: Words whose maximum is taken first.
CHUNK = 128


class Picks(NamedTuple):
    """Continuations of each sentence's hypotheses, best first or in the order they were drawn."""

    parent: Int[Tensor, "sentences picks"]
    """Which hypothesis of the sentence is continued."""
    token: Int[Tensor, "sentences picks"]
    """By which word."""


def best(
    start: Float[Tensor, "sentences width"], log_probabilities: Float[Tensor, "sentences width vocabulary"], count: int
) -> Picks:
    r"""Find the `count` largest of $\text{start}_{sw} + \log p_{swv}$ over all hypotheses $w$ and words $v$.

    A maximum over each few words comes first. Among the `count` largest chunks, by their maxima, are `count` numbers at
    least as large as all outside them; so only these chunks are sorted.

    >>> best(torch.tensor([[0.0, -1.0]]), torch.tensor([[[-1.0, -9.0, -3.0], [-0.5, -4.0, -7.0]]]), 3)
    Picks(parent=tensor([[0, 1, 0]]), token=tensor([[0, 0, 2]]))
    """
    _, width, words = log_probabilities.shape
    chunks = words // CHUNK
    if width * chunks < count:
        sums = (log_probabilities + start.unsqueeze(-1)).flatten(1)
        result = sums.topk(min(count, width * words)).indices
        return Picks(result // words, result % words)
    maxima = _maxima(log_probabilities, chunks) + start.unsqueeze(-1)
    per_row = maxima.size(-1)
    chosen = maxima.flatten(1).topk(count).indices  # sentences count
    positions = torch.arange(CHUNK, device=chosen.device)
    word = (chosen % per_row * CHUNK).unsqueeze(-1) + positions  # sentences count chunk
    parent = (chosen // per_row).unsqueeze(-1)
    index = (parent * words + word.clamp_max(words - 1)).flatten(1)
    sums = log_probabilities.flatten(1).gather(1, index) + start.gather(1, chosen // per_row).repeat_interleave(
        CHUNK, 1
    )
    # A word that may not come is still one; what fills the last chunk is none, and must not be taken for the last word.
    sums = sums.clamp_min(torch.finfo(sums.dtype).min).masked_fill((word >= words).flatten(1), -torch.inf)
    result = index.gather(1, sums.topk(count).indices)
    return Picks(result // words, result % words)


def _maxima(log_probabilities: Tensor, chunks: int) -> Tensor:
    """Give the maximum of each `CHUNK` words, and of those left over."""
    even = chunks * CHUNK
    maxima: Tensor = log_probabilities[..., :even].unflatten(-1, (chunks, CHUNK)).amax(-1)
    if even == log_probabilities.size(-1):
        return maxima
    return torch.cat([maxima, log_probabilities[..., even:].amax(-1, keepdim=True)], dim=-1)
