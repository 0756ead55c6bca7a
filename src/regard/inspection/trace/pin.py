"""Pin: give some keys a share of the weight, the others the rest."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def pin_weights(
    weights: Float[Tensor, "batch heads query key"],
    *,
    shares: Mapping[int, float],
    hidden: Sequence[int] = (),
    head: int | None = None,
) -> Float[Tensor, "batch heads query key"]:
    r"""Give some keys a share of each row's weight, and let the others keep their proportions in what is left.

    $$\alpha'_j = \begin{cases} r_j & j \in P \\ \alpha_j\,(1 - \sum_{k \in P} r_k) \,/ \sum_{k \notin P} \alpha_k
    & \text{else} \end{cases}$$

    times the sum that the row had, which is one for softmax. Shares that are more than all are divided by their sum.
    Where the other keys have no weight, they get equal ones, unless they are `hidden`.

    >>> pin_weights(torch.tensor([[[[0.5, 0.3, 0.2]]]]), shares={0: 0.0})
    tensor([[[[0.0000, 0.6000, 0.4000]]]])
    """
    total = weights.sum(-1, keepdim=True)
    indices = list(shares)
    pinned = weights.new_tensor([shares[index] for index in indices])
    pinned = pinned / pinned.sum().clamp_min(1.0)
    free = weights.new_ones(weights.size(-1))
    free[indices] = 0.0
    others = weights * free
    free = free.clone()  # the other one is in the graph
    free[list(hidden)] = 0.0
    rest = others.sum(-1, keepdim=True)
    others = torch.where(
        rest > 0, others / rest.clamp_min(torch.finfo(weights.dtype).tiny), free / free.sum().clamp_min(1)
    )
    changed = others * (1 - pinned.sum())
    changed[..., indices] = pinned
    if not bool(free.any()) and bool(pinned.any()):  # nobody is left to share: the pinned have all
        changed[..., indices] = pinned / pinned.sum()
    changed = changed * total
    if head is None:
        return changed
    mixed = weights.clone()
    mixed[:, head] = changed[:, head]
    return mixed
