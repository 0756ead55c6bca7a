"""What search ranks by: log-probability against length and coverage; and the best continuations by it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.history import Picks
from regard.errors import ArgumentError

#: The least coverage of a source word: the logarithm of none would be −∞, and sparse attention has many such words.
LEAST_COVERAGE = 1e-8
#: Words whose maximum is taken first.
CHUNK = 128


def power(length: int | Int[Tensor, ""], length_penalty: float) -> float | Float[Tensor, ""]:
    r"""Give $|y|^\alpha$, by which a log-probability is divided, for a length that the host or the device counts."""
    divisor: float | Tensor = (length.double() if isinstance(length, Tensor) else length) ** length_penalty
    return divisor


def score(
    log_probability: Float[Tensor, "..."],
    length: int | Int[Tensor, ""],
    *,
    length_penalty: float,
    covered: Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "..."]:
    r"""Rank outputs of different length.

    $$s(y, x) = \frac{\log p(y \mid x)}{|y|^\alpha} + \text{cp}(x, y)$$

    where $\alpha$ is `length_penalty` and cp is `coverage_penalty`'s, `covered`; None for none.

    Reference: Wu et al. (2016), equation 14, arXiv:1609.08144.
    Differs: the length is not $(5 + |y|)/6$; with $\alpha = 1$ this is the mean log-probability of a token.
    """
    divided: Tensor = log_probability / power(length, length_penalty)
    return divided if covered is None else divided + covered


def bound(
    log_probability: Float[Tensor, " sentences"], limits: Int[Tensor, " sentences"], *, length_penalty: float
) -> Float[Tensor, " sentences"]:
    r"""Give the score that no continuation of a hypothesis can exceed, if it has at most `limits` words.

    $$s(y, x) \le \frac{\log p(y_{\le i} \mid x)}{\text{limit}^\alpha} \quad \text{for every } y \text{ that begins with
    } y_{\le i}$$

    Proof: each further word multiplies by a probability, so $\log p(y) \le \log p(y_{\le i}) \le 0$. Dividing a number
    that is not positive by more brings it nearer to zero, and $|y|^\alpha \le \text{limit}^\alpha$ as $\alpha \ge 0$;
    so $\log p(y) / |y|^\alpha \le \log p(y) / \text{limit}^\alpha$. The coverage penalty is never positive. ∎

    So once `n_best` outputs have reached the bound of the likeliest unfinished hypothesis, none of them can change.
    """
    return log_probability / limits**length_penalty


def coverage_penalty(
    coverage: Float[Tensor, "rows source"], lengths: Int[Tensor, " rows"], *, weight: float
) -> Float[Tensor, " rows"]:
    r"""Penalize an output for the source words it has not attended to.

    $$\text{cp}(x, y) = \beta \sum_j \log \min\Big(\sum_i \alpha_{ij},\, 1\Big)$$

    where $\sum_i \alpha_{ij}$, `coverage`, is how much all words so far attended to source word $j$, in the mean over
    the heads of the last layer, and $\beta$ is `weight`.

    Reference: Wu et al. (2016), equation 14, arXiv:1609.08144.
    Differs: no sum counts as less than 1e-8, or sparse attention would forbid whatever leaves out a word.
    """
    inside = torch.arange(coverage.size(-1), device=coverage.device) < lengths.unsqueeze(-1)
    return weight * coverage.clamp(LEAST_COVERAGE, 1.0).log().masked_fill(~inside, 0.0).sum(-1)


def add_coverage(
    coverage: Float[Tensor, "rows source"] | None,
    weights: Float[Tensor, "rows layers heads source"] | None,
    *,
    weight: float,
) -> Float[Tensor, "rows source"]:
    """Add the weights of this step, those of the last layer, to each row's coverage; `weight` is the penalty's."""
    if weights is None:
        raise ArgumentError(
            f"`coverage_penalty` must be 0 for a model without attention; received {weight}. Nothing says which source "
            "words such a model has covered."
        )
    now = weights[:, -1].mean(1)
    return now if coverage is None else coverage + now


def best(
    start: Float[Tensor, "sentences width"], log_probabilities: Float[Tensor, "sentences width vocabulary"], count: int
) -> Picks:
    r"""Give the `count` largest of $\text{start}_{sw} + \log p_{swv}$ over all hypotheses $w$ and words $v$.

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
