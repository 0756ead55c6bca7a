"""The shortest way to torch's kernel, for plain calls whose checks would cost more than the kernel does.

A step of decoding attends from one query to a few keys, in some microseconds, and a GPU waits for whoever launches its
kernels. Whatever is not recognized here at once goes the usual way, which checks, explains and computes the same.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.checks import PRECISIONS
from regard.attention.kernels import few_queries
from regard.attention.kernels.blank import known_finite
from regard.attention.kernels.torch_kernel import FEW_KEYS, call, differentiable_again
from regard.attention.kernels.transforms import transform_in_force
from regard.attention.mask import Causal, Dense, Harmless, Mask
from regard.attention.prepared import prepare_known, promises_finite
from regard.attention.tensors import kernel_dtype

#: Biases of nothing for up to so many keys: torch's CPU kernel loses NaN without one.
_NOTHING = tuple(torch.zeros(1, keys, device="cpu") for keys in range(FEW_KEYS))


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Mask | Tensor | None) -> Tensor | None:
    """Give scaled dot-product attention over four axes, or None: take the usual way."""
    if not (type(query) is type(key) is type(value) is Tensor):
        return None
    shape, key_shape = query.shape, key.shape
    if key_shape != value.shape or len(shape) != 4 or len(key_shape) != 4:
        return None
    batch, heads, queries, width = shape
    if not heads or key_shape[0] != batch or key_shape[1] != heads or key_shape[3] != width:
        return None
    if not _alike(query, key, value) or torch.compiler.is_compiling() or transform_in_force() is not None:
        return None
    keys = key_shape[2]
    tracked = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
    if tracked and query.is_cpu and kernel_dtype(query).itemsize < 4:
        return None  # torch's backward pass may be slow
    if query.is_cuda and queries <= few_queries.MOST_QUERIES and not tracked:
        context = _attend_few(query, key, value, mask)
        if context is not None:
            return context
    causal, bias = False, None
    if type(mask) is Causal and mask.positions is None:
        causal = queries != 1  # a single query stands at the last key
        if queries != keys if causal else mask.align != "end":
            return None
    elif mask is not None:
        if not isinstance(mask, Mask):
            return None
        ready = _masked(query, key, value, mask, (batch, heads, queries, keys))
        if ready is None:
            return None
        query, key, value, bias = ready
    if keys < FEW_KEYS and bias is None and query.is_cpu:
        if not keys or tracked or query.dtype is not torch.float32:
            return None
        if causal and not math.isfinite(query.sum() + key.sum() + value.sum()):  # torch would lose NaN here
            return None
        bias = None if causal else _NOTHING[keys]
    if query.is_cuda and kernel_dtype(query) is query.dtype:  # else autocast rounds them
        context = call(query, key, value, bias, causal=causal)
    else:
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal)
    return differentiable_again(context) if tracked else context


def _masked(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask, shape: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """Zero what nobody may attend to and give the mask as the kernel takes it, or None: take the usual way."""
    prepared = prepare_known(mask, shape, query.device) if shape[-1] else None
    if prepared is None:
        return None
    keys_finite = all_finite = promises_finite(mask)
    keys_finite = keys_finite or type(mask) is Harmless
    if query.is_cpu:
        if not all_finite and not known_finite(*([query] if keys_finite else [query, key, value])):
            return None
        return query, key, value, prepared.bias(kernel_dtype(value))
    if not all_finite and not prepared.fills_rows:
        query = prepared.blank(query, prepared.query_rows)
    if not keys_finite:
        same = value is key
        key = prepared.blank(key, prepared.key_rows)
        value = key if same else prepared.blank(value, prepared.key_rows)
    return query, key, value, prepared.bias(kernel_dtype(value))


def _attend_few(query: Tensor, key: Tensor, value: Tensor, mask: Mask | Tensor | None) -> Tensor | None:
    """Attend by the kernel for few queries, where nothing but keys is masked; else None."""
    allowed = None
    if isinstance(mask, Dense):
        allowed = mask.tensor
        if allowed.ndim != 4 or allowed.shape[1:] != (1, 1, key.size(2)) or allowed.size(0) not in (1, key.size(0)):
            return None
        if allowed.dtype is not torch.bool or allowed.device != query.device:
            return None
    elif mask is not None:
        return None
    return few_queries.attend(query, key, value, allowed) if few_queries.refusal(query, key) is None else None


def _alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return whether all three have one precision that is computed in, one device and no special layout."""
    dtype, device = query.dtype, query.device
    if not (key.dtype is dtype and value.dtype is dtype and dtype in PRECISIONS):
        return False
    plain = query.layout is key.layout is value.layout is torch.strided
    return plain and ((query.is_cpu and key.is_cpu and value.is_cpu) or key.device == device == value.device)
