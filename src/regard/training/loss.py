"""What a batch costs, as sums over its target tokens: the loop divides by the number of all tokens of the step."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class Loss(NamedTuple):
    """Sums over the target tokens of a batch."""

    total: Float[Tensor, ""]
    """What is minimized."""
    cross_entropy: Float[Tensor, ""]
    """Without smoothing and additions, detached: perplexity is the exponential of its mean."""


def smoothed_cross_entropy(
    logits: Float[Tensor, "*positions vocabulary"],
    target: Int[Tensor, "*positions"],
    *,
    smoothing: float = 0.0,
    padding: int = 0,
) -> Loss:
    r"""Sum the cross-entropy with smoothed targets over all positions that are not padding.

    $$L = \sum_t -(1 - \epsilon) \log p(y_t) - \frac{\epsilon}{V} \sum_v \log p(v)$$

    Reference: Szegedy et al. (2016), section 7, arXiv:1512.00567.

    >>> loss = smoothed_cross_entropy(torch.zeros(1, 2, 4), torch.tensor([[3, 0]]), smoothing=0.1)
    >>> round(loss.total.item(), 4), round(loss.cross_entropy.item(), 4)
    (1.3863, 1.3863)
    """
    log_probabilities = logits.log_softmax(-1, dtype=torch.float32)
    real = target != padding
    right = log_probabilities.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    cross_entropy = -right.where(real, 0).sum()
    if not smoothing:
        return Loss(cross_entropy, cross_entropy.detach())
    spread = -log_probabilities.mean(-1).where(real, 0).sum()
    return Loss((1 - smoothing) * cross_entropy + smoothing * spread, cross_entropy.detach())


def gold_weights(links: Bool[Tensor, "batch target source"]) -> Float[Tensor, "batch target source"]:
    """Spread each target token's weight evenly over the source tokens it is linked to; rows without links are zero.

    >>> gold_weights(torch.tensor([[[True, True, False], [False, False, False]]]))
    tensor([[[0.5000, 0.5000, 0.0000],
             [0.0000, 0.0000, 0.0000]]])
    """
    gold = links.float()
    return gold / gold.sum(-1, keepdim=True).clamp_min(1.0)


def agreement_loss(
    forward: Float[Tensor, "batch target source"],
    backward: Float[Tensor, "batch source target"],
    real: Bool[Tensor, "batch target source"],
) -> Float[Tensor, ""]:
    r"""Sum the squared differences between the attention of two directions, over the pairs of tokens that are `real`.

    $$\sum_{ts} (\alpha_{ts} - \beta_{st})^2$$

    Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162.
    """
    return (forward.float() - backward.mT.float()).square().where(real, 0).sum()


def even_entropy(
    weights: Float[Tensor, "batch query key"], real: Bool[Tensor, "batch query key"], *, even: float
) -> Float[Tensor, ""]:
    r"""Sum the entropy of attention weights over the pairs of tokens that are `real`, all made more alike before.

    $$-\sum_{ij} \tilde\alpha_{ij} \log \tilde\alpha_{ij}, \qquad
    \tilde\alpha_{ij} = \frac{\alpha_{ij} + \lambda}{\sum_{j'} (\alpha_{ij'} + \lambda)}$$

    where $\lambda$ is `even`: a row whose weight is nearly all on nothing has little to decide.

    Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162.
    """
    raised = (weights.float() + even).where(real, 0)
    shares = raised / raised.sum(-1, keepdim=True).clamp_min(1e-9)
    return -(shares * shares.clamp_min(1e-9).log()).sum()


def alignment_loss(
    weights: Float[Tensor, "batch target source"], gold: Float[Tensor, "batch target source"]
) -> Float[Tensor, ""]:
    r"""Sum the cross-entropy of attention weights against known links.

    $$-\sum_t \sum_s g_{ts} \log \alpha_{ts}$$

    where each row of `gold` sums to one, or is zero where nothing is known.

    Reference: Chen et al. (2016), section 3.1, arXiv:1607.01628.
    """
    return -(gold * weights.float().clamp_min(1e-8).log()).sum()
