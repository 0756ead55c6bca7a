"""Scaled dot-product attention of a few queries over a short memory on a GPU: a step of decoding.

Torch's kernels are made for many queries: one row for each of 5,000 hypotheses takes them ten times as long as reading
the keys and values does. This one does nothing but read them, once; it has no gradient.
"""

import importlib.util
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

MOST_QUERIES = 8
MOST_NUMBERS = 8192
"""Of the keys of one head, which are held in registers."""
_SIZES = (16, 32, 64, 128)


def refusal(query: Float[Tensor, "batch heads query size"], key: Float[Tensor, "batch heads key size"]) -> str | None:
    """Say why this kernel does not serve these tensors; None where it does."""
    queries, size = query.shape[-2:]
    if not query.is_cuda or importlib.util.find_spec("triton") is None:
        return "it needs a CUDA device and Triton"
    if query.dtype is torch.float64:
        return "it adds up in float32"
    if not 1 <= queries <= MOST_QUERIES:
        return f"it is for 1 to {MOST_QUERIES} queries; there are {queries}"
    if size not in _SIZES:
        return f"it is for heads of {', '.join(map(str, _SIZES))} numbers; these have {size}"
    if not query.numel() or not key.numel():
        return "an axis is empty"
    keys = key.size(-2)
    if size * _padded(keys) > MOST_NUMBERS:
        return f"it holds {MOST_NUMBERS // size} keys at most; there are {keys}"
    return None


def attend(
    query: Float[Tensor, "batch heads query size"],
    key: Float[Tensor, "rows heads key size"],
    value: Float[Tensor, "rows heads key size"],
    mask: Bool[Tensor, "batch_or_one 1 1 key"] | None,
    table: Int[Tensor, "batch key"] | None = None,
) -> Float[Tensor, "batch heads query size"]:
    """Attend to the keys that the mask allows.

    With a `table`, key and value j of batch element i lie in row `table[i, j]`; without one, in row i.
    """
    from regard.attention.kernels.few_queries_triton import few_queries_kernel

    batch, heads, queries, size = query.shape
    keys = key.size(2)
    query, key, value = (item if item.stride(-1) == 1 else item.contiguous() for item in (query, key, value))
    context = query.new_empty(batch, queries, heads, size)
    block = _padded(keys)
    strides = [stride for item in (query, key, value) for stride in item.stride()[:3]]
    mask_strides = (0, 0) if mask is None else (mask.stride(0) * (mask.size(0) > 1), mask.stride(3))
    table_strides = (0, 0) if table is None else table.stride()
    with torch.cuda.device(query.device) if query.is_cuda else torch.no_grad():
        few_queries_kernel[batch * heads,](
            query, key, value, query if mask is None else mask, query if table is None else table, context,
            1 / math.sqrt(size), heads, queries, keys, *strides, *mask_strides, *table_strides,
            MASKED=mask is not None, TABLE=table is not None, BLOCK=block, SIZE=size,
            num_warps=max(1, min(4, block * size // 1024)),
        )  # fmt: skip
    return context.transpose(1, 2)


def _padded(keys: int) -> int:
    """Round up to a power of two."""
    return 1 << (keys - 1).bit_length()
