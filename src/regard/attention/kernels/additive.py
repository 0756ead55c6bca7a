"""Additive attention by the fused Triton kernel: how it is called, its gradients, and when it refuses."""

import importlib.util
import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.attention.inputs import Inputs
from regard.attention.kernels.reference import Operands, operands, ungroup
from regard.attention.kernels.twice import differentiable_twice
from regard.attention.normalize import Softmax, normalize
from regard.attention.score import Additive, Concat, Score
from regard.attention.tensors import name_of

#: Widest values that one program mixes.
WIDEST_VALUE = 512
#: Bytes that gradients of scores, and weights, may take at once in the backward pass.
SCRATCH = 1 << 25
#: Batch elements, times heads, that CUDA numbers along one axis of programs.
MOST_ELEMENTS = 65_535
#: Hidden units that one program of the backward pass takes.
UNITS = 4


class Tile(NamedTuple):
    """How many rows of either side a program takes at once, and its warps of threads."""

    rows: int
    columns: int
    warps: int


#: The quickest of those tried on an H200; see benchmarks/additive-h200.md.
TILES = {
    "forward": Tile(32, 64, 4),
    "wide": Tile(32, 64, 8),
    "weights": Tile(32, 64, 4),
    "operand": Tile(32, 32, 4),
}


def refusal(inputs: Inputs) -> str | None:
    """Describe why this call cannot run here, or None if it can."""
    score = inputs.score
    if type(score) not in (Additive, Concat) or getattr(score, "activation", "tanh") != "tanh":
        return f"{name_of(score)} is not the tanh layer that the kernel computes"
    if type(inputs.normalize) is not Softmax:
        return f"the kernel takes a softmax, not {name_of(inputs.normalize)}"
    if inputs.position is not None or inputs.bias is not None:
        return "the kernel adds nothing to the scores"
    if inputs.dropout:
        return "the kernel has no dropout"
    if inputs.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return f"the kernel computes in float32 or less, not {inputs.dtype}"
    if inputs.value.size(-1) > WIDEST_VALUE:
        return f"values are wider than {WIDEST_VALUE}"
    if not math.prod(inputs.shape) > 0 or not 0 < math.prod(inputs.shape[:-2]) <= MOST_ELEMENTS:
        return f"an axis is empty, or batch and heads have more than {MOST_ELEMENTS:,} elements"
    if not on_device(inputs.query):
        return "it runs on CUDA alone"
    if torch.compiler.is_compiling():
        return "torch.compile traces the scores themselves"
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    return None


def on_device(tensor: Tensor) -> bool:
    """Return whether Triton has a kernel for where a tensor is."""
    return tensor.is_cuda


class Exponentials(NamedTuple):
    """What the kernels read: exponentials of either side, hidden units in front, the sides themselves, and the vector.

    The number of hidden units is padded to a multiple of `UNITS`; the vector is zero there.
    """

    query: Float[Tensor, "element padded query"]
    key: Float[Tensor, "element padded key"]
    vector: Float[Tensor, "heads padded"]
    total: Float[Tensor, " heads"]
    query_rows: Float[Tensor, "element query size"]
    key_rows: Float[Tensor, "element key size"]
    large: Int[Tensor, " element"]
    """Not zero where numbers are so large that exponentials are taken term by term."""

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Give the numbers of batch elements, queries, keys, hidden units and padded ones."""
        elements, queries, size = self.query_rows.shape
        return elements, queries, self.key_rows.size(1), size, self.vector.size(1)


def take_exponentials(
    query: Float[Tensor, "element query size"],
    key: Float[Tensor, "element key size"],
    vector: Float[Tensor, "heads size"],
) -> Exponentials:
    """Take exp(2q) and exp(2k) in float32."""
    import triton

    from regard.attention.kernels.additive_triton import prepare_kernel

    elements, _, size = query.shape
    padded = -(-size // UNITS) * UNITS
    vector = F.pad(vector.float(), (0, padded - size)) if padded != size else vector.float().contiguous()
    large = torch.zeros(elements, dtype=torch.int32, device=query.device)
    sides = (query.contiguous(), key.contiguous())
    taken = [torch.empty(elements, padded, rows.size(1), device=query.device) for rows in sides]
    for rows, exponentials in zip(sides, taken, strict=True):
        count = rows.size(1)
        prepare_kernel[triton.cdiv(count, 64), triton.cdiv(padded, 64), elements](
            rows, exponentials, large, count, size, padded, BLOCK=64, BLOCK_SIZE=64
        )
    return Exponentials(taken[0], taken[1], vector, vector.sum(-1), sides[0], sides[1], large)


class _Mask(NamedTuple):
    tensor: Tensor
    strides: tuple[int, int, int]
    there: bool


def _laid_out(mask: Bool[Tensor, "element query key"] | None, like: Tensor) -> _Mask:
    """Give the mask with its strides, zero along axes that were expanded."""
    if mask is None:
        return _Mask(like, (0, 0, 0), False)
    return _Mask(mask.view(torch.uint8), (mask.stride(0), mask.stride(1), mask.stride(2)), True)


def run_forward(ready: Exponentials, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Give context and log normalizer."""
    import triton

    from regard.attention.kernels.additive_triton import forward_kernel

    (elements, queries, keys, size, padded), width = ready.sizes, value.size(-1)
    context = value.new_empty(elements, queries, width)
    normalizer = ready.query.new_empty(elements, queries)
    laid = _laid_out(mask, ready.query)
    tile = TILES["wide" if width > 256 else "forward"]
    forward_kernel[triton.cdiv(queries, tile.rows), elements](
        *ready, laid.tensor, value, context, normalizer,
        queries, keys, size, padded, width, ready.vector.size(0), *laid.strides,
        HAS_MASK=laid.there, FAST=value.is_cuda, PRECISION="ieee",
        BLOCK_QUERY=tile.rows, BLOCK_KEY=tile.columns, BLOCK_WIDTH=max(16, triton.next_power_of_2(width)),
        num_warps=tile.warps,
    )  # fmt: skip
    return context, normalizer


def run_weights(
    ready: Exponentials, mask: Tensor | None, normalizer: Tensor, by_weight: Tensor, by_sum: Tensor, *, start: int
) -> tuple[Tensor, Tensor]:
    """Give the weights of some queries from `start` on, and the gradients of their scores.

    `by_weight` are the gradients of these weights, `by_sum` each query's sum of weights times gradients.
    """
    import triton

    from regard.attention.kernels.additive_triton import weights_kernel

    elements, queries, keys, size, padded = ready.sizes
    weights, slopes, rows = torch.empty_like(by_weight), torch.empty_like(by_weight), by_weight.size(1)
    laid = _laid_out(mask, ready.query)
    tile = TILES["weights"]
    weights_kernel[triton.cdiv(rows, tile.rows), triton.cdiv(keys, tile.columns), elements](
        *ready, laid.tensor, normalizer, by_weight, by_sum, weights, slopes,
        queries, keys, size, padded, ready.vector.size(0), *laid.strides, start, rows,
        HAS_MASK=laid.there, FAST=weights.is_cuda,
        BLOCK_QUERY=tile.rows, BLOCK_KEY=tile.columns, num_warps=tile.warps,
    )  # fmt: skip
    return weights, slopes


def _add_gradients(ready: Exponentials, slopes: Tensor, start: int, by_query: Tensor, by_key: Tensor) -> Tensor:
    """Add what the gradients of some queries' scores bring to queries and keys, and give what they bring the vector."""
    import triton

    from regard.attention.kernels.additive_triton import operand_kernel

    elements, queries, keys, size, padded = ready.sizes
    rows, tile = slopes.size(1), TILES["operand"]
    blocks = triton.cdiv(rows, tile.rows)
    by_vector = ready.query.new_empty(elements, blocks, padded)
    common = {
        "FAST": slopes.is_cuda, "BLOCK_OWN": tile.rows, "BLOCK_OTHER": tile.columns, "num_warps": tile.warps,
    }  # fmt: skip
    operand_kernel[blocks, padded // UNITS, elements](
        ready.query, ready.key, ready.query_rows, ready.key_rows, ready.large, slopes, by_query, by_vector,
        rows, keys, size, padded, queries, keys, start, 0, rows, keys, VECTOR=True, **common,
    )  # fmt: skip
    operand_kernel[triton.cdiv(keys, tile.rows), padded // UNITS, elements](
        ready.key, ready.query, ready.key_rows, ready.query_rows, ready.large, slopes, by_key, by_vector,
        keys, rows, size, padded, keys, queries, 0, start, rows, keys, VECTOR=False, **common,
    )  # fmt: skip
    return by_vector.sum(1)


def run_backward(
    ready: Exponentials, value: Tensor, mask: Tensor | None, outputs: tuple[Tensor, Tensor], by_context: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give the gradients of queries, keys and vector in float32, and of the values."""
    context, normalizer = outputs
    elements, queries, keys, size, padded = ready.sizes
    by_sum = (by_context.float() * context.float()).sum(-1)
    by_query, by_key = torch.zeros_like(ready.query), torch.zeros_like(ready.key)
    by_value, by_vector = torch.zeros_like(value, dtype=torch.float32), ready.query.new_zeros(elements, padded)
    step = max(1, SCRATCH // max(1, 3 * value.element_size() * elements * keys))
    for start in range(0, queries, step):
        part = by_context[:, start : start + step]
        weights, slopes = run_weights(ready, mask, normalizer, part @ value.mT, by_sum, start=start)
        by_value += weights.mT @ part
        by_vector += _add_gradients(ready, slopes, start, by_query, by_key)
    column = ready.vector.repeat(elements // ready.vector.size(0), 1)[:, :, None]
    by_heads = by_vector.view(-1, *ready.vector.shape).sum(0)
    by_query, by_key = ((part * column).mT[..., :size] for part in (by_query, by_key))
    return by_query, by_key, by_heads[:, :size], by_value.to(value.dtype)


class _AdditiveAttention(torch.autograd.Function):
    """The kernel with its gradients, for (element, row, size) and a vector for each head, in turn."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, vector: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        context, normalizer = run_forward(take_exponentials(query, key, vector), value, mask)
        ctx.save_for_backward(query, key, vector, value, mask, context, normalizer)
        return context

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, vector, value, mask, *outputs = ctx.saved_tensors
        ready = take_exponentials(query, key, vector)
        result = run_backward(ready, value, mask, (outputs[0], outputs[1]), gradients[0].contiguous())
        sides = zip(result, (query, key, vector, value), strict=True)
        return *(gradient.to(tensor.dtype) for gradient, tensor in sides), None


def attend(inputs: Inputs, ready: Operands | None = None) -> Tensor:
    """Compute the context; `ready` spares preparing the operands again."""
    assert isinstance(inputs.score, Score)
    query, key, value, mask, _ = operands(inputs, mask=inputs.dense_mask()) if ready is None else ready
    score, query, key = inputs.score.projected(query, key)
    assert isinstance(score, Additive)
    if inputs.grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    lead = inputs.shape[:-2]
    query, key, value = (
        tensor.to(inputs.dtype).expand(*lead, *tensor.shape[-2:]).reshape(-1, *tensor.shape[-2:]).contiguous()
        for tensor in (query, key, value)
    )
    if mask is not None:
        mask = mask.expand(inputs.shape).reshape(-1, *inputs.shape[-2:])
    vector = score.vector.to(inputs.dtype)
    vector = vector if vector.ndim == 2 else vector.unsqueeze(0)

    def kernel(*tensors: Tensor) -> Tensor:
        return _AdditiveAttention.apply(*tensors, mask)  # type: ignore[no-any-return, no-untyped-call]

    def plain(query: Tensor, key: Tensor, vector: Tensor, value: Tensor) -> Tensor:
        return written_out(query, key, vector, value, mask)

    context = differentiable_twice(kernel, plain, query, key, vector, value)
    return context.view(*lead, *context.shape[-2:])


def written_out(query: Tensor, key: Tensor, vector: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Compute the same by plain operations."""
    heads = vector.size(0)
    sides = (side.float().unflatten(0, (-1, heads)) for side in (query, key))
    scores = Additive(vector.float()).dense(*sides).flatten(0, 1)
    weights = normalize(scores, mask, Softmax())
    return (weights @ value.float()).to(value.dtype)
