"""Make some rows of a tensor harmless whatever they hold, NaN included, at next to no cost."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.kernels.transforms import traced


def blank(tensor: Float[Tensor, "*batch row size"], keep: Bool[Tensor, "..."]) -> Float[Tensor, "*batch row size"]:
    """Keep the rows where `keep` is True and zero the others, in the gradient too; a product would keep NaN.

    A weight of zero times a finite number is zero, so on a CPU a tensor that holds no NaN and no infinity is given back
    as it is: its norm tells, without a copy. On a device, asking would wait for it.

    >>> blank(torch.tensor([[1.0], [torch.nan]]), torch.tensor([True, False]))
    tensor([[1.], [0.]])
    """
    return tensor if known_finite(tensor) else torch.where(keep.unsqueeze(-1), tensor, 0.0)


def known_finite(*tensors: Float[Tensor, "..."]) -> bool:
    """Return whether tensors hold no NaN and no infinity, where asking is cheap; False where it is not."""
    if traced() or any(not each.is_cpu or type(each) not in (Tensor, torch.nn.Parameter) for each in tensors):
        return False
    return all(math.isfinite(torch.linalg.vector_norm(each.detach()).item()) for each in tensors)
