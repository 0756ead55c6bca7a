"""What search ranks by: log-probability against length, and what the attention has left out."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import ArgumentError

#: What a source word that was never looked at counts as: its logarithm would be −∞, and sparse attention has many.
NEVER = 1e-8


def score(
    log_probability: Float[Tensor, "..."], length: int, *, length_penalty: float, covered: Float[Tensor, "..."] | float
) -> Float[Tensor, "..."]:
    r"""Rank outputs of different length.

    $$s(y, x) = \frac{\log p(y \mid x)}{|y|^\alpha} + \text{cp}(x, y)$$

    where $\alpha$ is `length_penalty` and cp is `coverage_penalty`'s, `covered`.

    Reference: Wu et al. (2016), equation 14, arXiv:1609.08144.
    Differs: the length is not $(5 + |y|)/6$; with $\alpha = 1$ this is the mean log-probability of a token.
    """
    divided: Tensor = log_probability / length**length_penalty
    return divided + covered


def bound(
    log_probability: Float[Tensor, " sentences"], limits: Int[Tensor, " sentences"], *, length_penalty: float
) -> Float[Tensor, " sentences"]:
    r"""Say what score no continuation of a hypothesis can exceed, if it has at most `limits` words.

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
    r"""Count against an output what it has not looked at.

    $$\text{cp}(x, y) = \beta \sum_j \log \min\Big(\sum_i \alpha_{ij},\, 1\Big)$$

    where $\sum_i \alpha_{ij}$, `coverage`, is how much all words so far looked at source word $j$, in the mean over the
    heads of the last layer, and $\beta$ is `weight`.

    Reference: Wu et al. (2016), equation 14, arXiv:1609.08144.
    Differs: no sum counts as less than 1e-8, or sparse attention would forbid whatever leaves out a word.
    """
    inside = torch.arange(coverage.size(-1), device=coverage.device) < lengths.unsqueeze(-1)
    return weight * coverage.clamp(NEVER, 1.0).log().masked_fill(~inside, 0.0).sum(-1)


def seen(
    coverage: Float[Tensor, "rows source"] | None,
    weights: Float[Tensor, "rows layers heads source"] | None,
    *,
    weight: float,
) -> Float[Tensor, "rows source"]:
    """Add where each row has looked in this step, by its last layer; `weight` is that of the penalty."""
    if weights is None:
        raise ArgumentError(
            f"`coverage_penalty` must be 0 for a model without attention; received {weight}. Nothing says which source "
            "words such a model has covered."
        )
    now = weights[:, -1].mean(1)
    return now if coverage is None else coverage + now
