"""Each row's log normalizer a few query rows at a time, so that the scores are never held."""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention.inputs import Inputs
from regard.attention.kernels.chunked import CHUNK_SIZE
from regard.attention.kernels.reference import Operands, biased_scores, log_normalizer, mask_with_bias, ungroup
from regard.attention.score import Score


def log_normalizers(inputs: Inputs, ready: Operands) -> Float[Tensor, "..."]:
    """Give the log of the sum of exponentials of each row's scores, −∞ where it may attend to nothing."""
    query, key, _, mask, added = ready
    key = ungroup(key, query.size(-3)) if inputs.grouped else key
    mask = mask_with_bias(inputs, mask)
    limit = CHUNK_SIZE["cpu" if query.device.type == "cpu" else "other"]
    count = max(1, limit // max(math.prod(inputs.shape[:-2]) * inputs.shape[-1], 1))
    by_distance = inputs.position is not None and inputs.position.adds_bias
    if torch.compiler.is_compiling() or by_distance or count >= query.size(-2):
        return log_normalizer(biased_scores(inputs, query, key, chunked=False, added=added), mask)
    parts = []
    for first in range(0, query.size(-2), count):
        size = min(count, query.size(-2) - first)
        part = _of_rows(inputs, first, size)
        rows = query.narrow(-2, first, size), key, _narrow(mask, first, size)
        parts.append(checkpoint(_part, part, *rows, use_reentrant=False, preserve_rng_state=False))
    return torch.cat(parts, dim=-1)


def _part(inputs: Inputs, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    return log_normalizer(biased_scores(inputs, query, key, chunked=False), mask)


def _of_rows(inputs: Inputs, first: int, size: int) -> Inputs:
    """Give the call for some of its query rows."""
    assert isinstance(inputs.score, Score)
    return replace(
        inputs,
        score=inputs.score.of_rows(first, size),
        bias=_narrow(inputs.bias, first, size),
        shape=(*inputs.shape[:-2], size, inputs.shape[-1]),
    )


def _narrow(tensor: Tensor | None, first: int, size: int) -> Tensor | None:
    """Take some rows of what broadcasts to the scores."""
    return tensor if tensor is None or tensor.size(-2) == 1 else tensor.narrow(-2, first, size)
