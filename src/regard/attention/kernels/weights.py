"""Weights beside a fused kernel: by the reference, or on CUDA in half precision by tensor cores and fewer passes."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.inputs import Inputs
from regard.attention.kernels import chunked, reference
from regard.attention.kernels.reference import Operands, ungroup
from regard.attention.normalize import Softmax, softmax_and_log
from regard.attention.prepared import fills_every_row
from regard.attention.score import Dot, ScaledDot
from regard.attention.tensors import Scores


def weigh(inputs: Inputs, ready: Operands) -> tuple[Scores, Float[Tensor, "..."] | None]:
    """Give the weights and, for Softmax, each row's log normalizer."""
    if not _has_products(inputs, ready):
        return reference.weigh(inputs, ready, chunked=chunked.pays(inputs))
    query, key = ready.query, ready.key
    key = ungroup(key, query.size(-3)) if inputs.grouped else key
    inner = inputs.score.inner(query, key)  # type: ignore[union-attr]
    assert inner is not None
    exact = math.frexp(inner.scale)[0] == 0.5  # a power of two: it rounds nothing
    left, right = (item.expand(*inputs.shape[:-2], *item.shape[-2:]).flatten(0, -3) for item in (query, key))
    scores = torch.bmm(left * inner.scale if exact else left, right.mT, out_dtype=torch.float32).view(inputs.shape)
    if not exact:
        scores.mul_(inner.scale)
    if ready.mask is None or not fills_every_row(inputs.mask, inputs.shape):
        return softmax_and_log(scores, ready.mask)
    return softmax_and_log(scores.masked_fill_(~ready.mask, -torch.inf), None)


def _has_products(inputs: Inputs, ready: Operands) -> bool:
    """Return whether the scores are plain products of half precision, which no gradient needs."""
    query, key, score = ready.query, ready.key, inputs.score
    if not query.is_cuda or torch.compiler.is_compiling() or type(inputs.normalize) is not Softmax:
        return False
    if type(score) is not Dot and (type(score) is not ScaledDot or isinstance(score.scale, Tensor)):
        return False
    position = inputs.position
    if position is not None and (position.adds_bias or position.narrows or position.needs_weights):
        return False
    if inputs.bias is not None or 0 in inputs.shape:
        return False
    tracked = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad)
    return query.dtype == key.dtype and query.dtype in (torch.bfloat16, torch.float16) and not tracked
