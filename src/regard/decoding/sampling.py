"""Sampling: words drawn at random, each sentence from its own stream of random numbers."""

import hashlib
import random
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoding.history import Picks
from regard.decoding.search import Sampling


def uniform_numbers(
    sources: Sequence[Sequence[int]], limits: Sequence[int], *, count: int, seed: int
) -> Float[Tensor, "batch count steps"]:
    """Draw the numbers in [0, 1) that decide every word: one a step, for `count` outputs of each source.

    A stream belongs to the seed, the number of the output and the tokens of the source, all hashed together. So a
    sentence gets the same outputs whatever else is in the batch and whichever row it is; the same sentence twice gets
    the same outputs twice. For several different outputs, ask for them at once.
    """
    numbers = torch.zeros(len(sources), count, max(limits, default=0), dtype=torch.float64)
    for sentence, (source, limit) in enumerate(zip(sources, limits, strict=True)):
        for sample in range(count):
            name = f"{seed}/{sample}/{' '.join(map(str, source))}"
            stream = random.Random(hashlib.sha256(name.encode()).digest())
            drawn = [stream.getrandbits(32) / 2**32 for _ in range(limit)]
            numbers[sentence, sample, :limit] = torch.tensor(drawn, dtype=torch.float64)
    return numbers


def draw(
    log_probabilities: Float[Tensor, "sentences width vocabulary"],
    numbers: Float[Tensor, "sentences count"],
    sampling: Sampling,
) -> Picks:
    r"""Draw a word for each output, from $\text{softmax}(\log p / \text{temperature})$.

    The temperature acts first; then the `top_k` likeliest words are kept, and of these, again a distribution, as many
    of the likeliest as reach `top_p`. Of the first step's one row all outputs are drawn, later each of its own.

    Differs: by the inverse of the distribution function, so that one number decides, not a number per word.

    Reference: Fan, Lewis and Dauphin (2018), section 5.2, arXiv:1805.04833 (top k); Holtzman et al. (2020), section
    3.1, arXiv:1904.09751 (top p).
    """
    width = log_probabilities.size(1)
    highest = log_probabilities.amax(-1, keepdim=True)  # taken away first, so that no temperature is too low
    scores, token = (log_probabilities - highest).double() / sampling.temperature, None
    if sampling.top_k or sampling.top_p < 1:
        scores, token = scores.topk(min(sampling.top_k or scores.size(-1), scores.size(-1)))
    probabilities = scores.softmax(-1)
    if sampling.top_p < 1:
        before = probabilities.cumsum(-1) - probabilities
        probabilities = probabilities.masked_fill(before >= sampling.top_p, 0.0)
    reached = probabilities.cumsum(-1)
    index = (reached <= numbers.unsqueeze(-1) * reached[..., -1:]).sum(-1)  # the first word that goes beyond
    parent = torch.arange(numbers.size(1), device=numbers.device).clamp_max(width - 1).expand_as(numbers)
    if token is None:
        return Picks(parent, index)
    return Picks(parent, token.expand(-1, numbers.size(1), -1).gather(-1, index.unsqueeze(-1)).squeeze(-1))
