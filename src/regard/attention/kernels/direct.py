"""The shortest way to torch's kernel, for plain calls whose checks would cost more than the kernel does.

A step of decoding attends from one query to a few keys, in some microseconds. Whatever is not recognized here at once
goes the usual way, which checks, explains and computes the same.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.checks import PRECISIONS
from regard.attention.kernels.sdpa import FEW_KEYS
from regard.attention.kernels.transforms import transform_in_force
from regard.attention.mask import Causal, Mask

#: Biases of nothing for up to so many keys: torch's CPU kernel loses NaN without one.
_NOTHING = tuple(torch.zeros(1, keys, device="cpu") for keys in range(FEW_KEYS))


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Mask | Tensor | None) -> Tensor | None:
    """Give scaled dot-product attention over four axes where no gradient is wanted, or None: take the usual way."""
    if not (type(query) is type(key) is type(value) is Tensor):
        return None
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        return None  # a second derivative may be wanted
    shape, key_shape = query.shape, key.shape
    if key_shape != value.shape or len(shape) != 4 or len(key_shape) != 4:
        return None
    batch, heads, queries, width = shape
    if key_shape[0] != batch or key_shape[1] != heads or key_shape[3] != width:
        return None
    causal, keys = False, key_shape[2]
    if mask is not None:
        if type(mask) is not Causal or mask.positions is not None:
            return None
        causal = queries != 1  # a single query stands at the last key
        if queries != keys if causal else mask.align != "end":
            return None
    if not _alike(query, key, value) or torch.compiler.is_compiling() or transform_in_force() is not None:
        return None
    nothing = None
    if keys < FEW_KEYS and query.is_cpu:
        if not keys or query.dtype is not torch.float32:
            return None
        if causal and not math.isfinite(query.sum() + key.sum() + value.sum()):  # torch would lose NaN here
            return None
        nothing = None if causal else _NOTHING[keys]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=nothing, is_causal=causal)


def _alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return whether all three have one precision that is computed in, one device and no special layout."""
    dtype, device = query.dtype, query.device
    if not (key.dtype is dtype and value.dtype is dtype and dtype in PRECISIONS):
        return False
    plain = query.layout is key.layout is value.layout is torch.strided
    return plain and ((query.is_cpu and key.is_cpu and value.is_cpu) or key.device == device == value.device)
