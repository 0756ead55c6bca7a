r"""Bahdanau's decoder over all words of a batch: additive attention and a `ConditionalGRU`, step after step.

$$c_i = \text{attention}(s_{i-1}, h), \qquad s_i = \text{GRU}(e_i, s_{i-1}, c_i)$$

What a step computes between its matrix products is one kernel each: attention, and what stands before and behind the
candidate's product. A step is six launches forward and six backward, where modules called one by one take about
ninety. Of the backward pass only what the step before needs is computed in the loop. The gradients of matrices, keys,
values and vector are one product or kernel each, when all steps are done.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attention import Softmax
from regard.attention.observe import OBSERVERS
from regard.layers.fused.choose import product_dtype, serves
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.memory import Memory
from regard.layers.recurrent.conditional_gru import ConditionalGRU

#: What a program takes at once: keys, hidden units that are compared, features of a context; and units of gates.
KEYS, UNITS, WIDTH, BLOCK = 32, 128, 256, 256
#: Rows are an axis of a grid that has so many.
MOST_ROWS = 65_535


class Loop(NamedTuple):
    """The operands that are needed again for the gradients, all in one precision but the vector, and the lengths."""

    state: Float[Tensor, "row size"]
    """Before the first step."""
    key: Float[Tensor, "row key compared"]
    value: Float[Tensor, "row key width"]
    from_state: Float[Tensor, "columns size"]
    """The matrices of query, reset and update, one below the other."""
    candidate: Float[Tensor, "size size"]
    context: Float[Tensor, "gates width"]
    vector: Float[Tensor, " compared"]
    lengths: Int[Tensor, " row"] | None


class Steps(NamedTuple):
    """What is kept of every step."""

    states: Float[Tensor, "states row size"]
    """The state before each step, and after the last."""
    from_state: Float[Tensor, "step row columns"]
    """The query, and the open gates: reset and update."""
    kept: Float[Tensor, "step row size"]
    """What the reset gate lets through of the state."""
    candidates: Float[Tensor, "step row size"]
    contexts: Float[Tensor, "step row width"]
    weights: Float[Tensor, "step row key"]


def can_run(
    attention: nn.Module,
    cell: nn.Module,
    words: Float[Tensor, "row step input_size"],
    state: Float[Tensor, "row size"],
    memory: Memory,
) -> bool:
    """Return whether this loop computes what the modules would: they are as they were made, and nobody watches."""
    if type(attention) is not AdditiveAttention or type(cell) is not ConditionalGRU or words.size(1) < 2:
        return False
    attend = attention.attend
    if attention.activation != "tanh" or type(attend.normalize) is not Softmax or (attend.training and attend.dropout):
        return False
    if memory.key.ndim != 3 or memory.key.size(0) != state.size(0) or not memory.key.numel() or OBSERVERS:
        return False
    if (memory.mask is not None and memory.padding is None) or state.size(0) > MOST_ROWS:
        return False
    matrices = attention.query, cell.gates, cell.candidate, cell.context
    if any(type(item) is not nn.Linear or item.bias is not None for item in matrices):
        return False
    parts = [attention, attend, attention.query, cell, cell.input, cell.context, cell.gates, cell.candidate]
    return serves(words, parts)


def run(
    attention: AdditiveAttention,
    cell: ConditionalGRU,
    words: Float[Tensor, "row step input_size"],
    state: Float[Tensor, "row size"],
    memory: Memory,
) -> tuple[Float[Tensor, "row step size"], Float[Tensor, "row step width"]]:
    """Give the state after each step and its context. Where `can_run` says so; can be differentiated once."""
    dtype = product_dtype(words)
    projected = cell.project(words.transpose(0, 1)).contiguous()
    matrices = torch.cat([attention.query.weight, cell.gates.weight]), cell.candidate.weight, cell.context.weight
    tensors = projected, state, memory.key, memory.value, *matrices
    lengths = None if memory.mask is None else memory.length.contiguous()
    operands = *(item.to(dtype).contiguous() for item in tensors), attention.vector.float(), lengths
    states, contexts = _Run.apply(*operands)  # type: ignore[no-untyped-call]
    return states.transpose(0, 1), contexts.transpose(0, 1)


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *operands: Tensor | None) -> tuple[Tensor, Tensor]:
        projected, loop = operands[0], Loop(*operands[1:])  # type: ignore[arg-type]
        assert projected is not None
        with torch.autocast(loop.state.device.type, enabled=False), torch.cuda.device_of(loop.state):
            steps = forward(projected, loop)
        ctx.save_for_backward(*loop, *steps)
        return steps.states[1:], steps.contexts

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_states: Tensor, by_contexts: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        loop, steps = Loop(*saved[: len(Loop._fields)]), Steps(*saved[len(Loop._fields) :])
        with torch.autocast(loop.state.device.type, enabled=False), torch.cuda.device_of(loop.state):
            return *backward(loop, steps, by_states.contiguous(), by_contexts.contiguous()), None


def forward(projected: Float[Tensor, "step row gates"], loop: Loop) -> Steps:
    """Take every step; `projected` is the words' share of reset, update and candidate."""
    from regard.layers.fused import conditional_triton as kernels

    (count, rows, _), size = projected.shape, loop.state.size(1)
    keys, width, compared = loop.key.size(1), loop.value.size(2), loop.key.size(2)
    new = loop.state.new_empty
    steps = Steps(
        states=new(count + 1, rows, size),
        from_state=new(count, rows, compared + 2 * size),
        kept=new(count, rows, size),
        candidates=new(count, rows, size),
        contexts=new(count, rows, width),
        weights=new(count, rows, keys, dtype=torch.float32),
    )
    steps.states[0] = loop.state
    of_context, product = new(rows, 3 * size), new(rows, size)
    columns = compared + 2 * size
    blocks = -(-size // BLOCK), rows
    for step in range(count):
        state, from_state, context = steps.states[step], steps.from_state[step], steps.contexts[step]
        torch.mm(state, loop.from_state.mT, out=from_state)
        kernels.attend_kernel[-(-width // WIDTH), rows](
            from_state, loop.key, loop.vector, loop.value, _lengths(loop), context, steps.weights[step],
            keys, compared, width, columns, **_flags(loop),
            BLOCK_KEY=KEYS, BLOCK_SIZE=UNITS, BLOCK_WIDTH=WIDTH, num_warps=4,
        )  # fmt: skip
        torch.mm(context, loop.context.mT, out=of_context)
        gates = from_state[:, compared:]
        words = projected[step]
        kernels.open_kernel[blocks](words, of_context, gates, state, steps.kept[step], size, columns, BLOCK=BLOCK)
        torch.mm(steps.kept[step], loop.candidate.mT, out=product)
        kernels.close_kernel[blocks](
            words, of_context, product, gates[:, size:], state, steps.candidates[step], steps.states[step + 1],
            size, columns, BLOCK=BLOCK,
        )  # fmt: skip
    return steps


def backward(
    loop: Loop, steps: Steps, by_states: Float[Tensor, "step row size"], by_contexts: Float[Tensor, "step row width"]
) -> tuple[Float[Tensor, "..."], ...]:
    """Give the gradients of the operands but the lengths, from those of the states after each step and of contexts."""
    from regard.layers.fused import conditional_triton as kernels

    count, rows, size = steps.kept.shape
    keys, width, compared = loop.key.size(1), loop.value.size(2), loop.key.size(2)
    columns, wide = compared + 2 * size, compared + 3 * size
    new = loop.state.new_empty
    slopes = new(count, rows, wide)  # of query, reset, update and candidate, side by side
    of_scores, of_contexts = torch.empty_like(steps.weights), torch.empty_like(steps.contexts)
    carried = new(rows, size, dtype=torch.float32)
    by_products, by_kept, by_context = new(rows, size), new(rows, size), new(rows, width)
    blocks = -(-size // BLOCK), rows
    for step in reversed(range(count)):
        state, from_state, slope = steps.states[step], steps.from_state[step], slopes[step]
        gates = from_state[:, compared:]
        kernels.close_backward_kernel[blocks](
            by_states[step], by_products, carried, steps.candidates[step], gates[:, size:], state,
            slope[:, compared + size :], slope[:, columns:], size, columns, wide, LAST=step == count - 1, BLOCK=BLOCK,
        )  # fmt: skip
        torch.mm(slope[:, columns:], loop.candidate, out=by_kept)
        kernels.open_backward_kernel[blocks](
            by_kept, carried, gates, state, slope[:, compared:], size, columns, wide, BLOCK=BLOCK
        )
        torch.mm(slope[:, compared:], loop.context, out=by_context)
        kernels.attend_backward_kernel[-(-compared // UNITS), rows](
            from_state, loop.key, loop.vector, loop.value, _lengths(loop), steps.weights[step],
            by_context, by_contexts[step], slope, of_contexts[step], of_scores[step],
            keys, compared, width, columns, wide, **_flags(loop), ONE=keys <= KEYS,
            BLOCK_KEY=KEYS, BLOCK_SIZE=UNITS, BLOCK_WIDTH=UNITS, num_warps=4,
        )  # fmt: skip
        torch.mm(slope[:, :columns], loop.from_state, out=by_products)
    by_state = (carried + by_products.float()).to(loop.state.dtype)
    by_key, by_vector = _by_memory(loop, steps, of_scores)
    by_value = torch.einsum("trk,trw->rkw", steps.weights.to(of_contexts.dtype), of_contexts)
    flat = slopes.flatten(0, 1)
    by_matrices = (
        flat[:, :columns].mT @ steps.states[:-1].flatten(0, 1),
        flat[:, columns:].mT @ steps.kept.flatten(0, 1),
        flat[:, compared:].mT @ steps.contexts.flatten(0, 1),
    )
    return slopes[..., compared:], by_state, by_key, by_value, *by_matrices, by_vector


def _by_memory(loop: Loop, steps: Steps, of_scores: Tensor) -> tuple[Tensor, Tensor]:
    """Give the gradients of keys and vector, from those of the scores of all steps."""
    from regard.layers.fused.conditional_triton import memory_gradients_kernel

    count, rows, columns = steps.from_state.shape
    keys, compared = loop.key.shape[1:]
    blocks = -(-keys // KEYS)
    by_key, by_vector = torch.empty_like(loop.key), of_scores.new_empty(rows * blocks, compared)
    memory_gradients_kernel[-(-compared // 64), blocks, rows](
        steps.from_state, loop.key, loop.vector, _lengths(loop), of_scores, by_key, by_vector,
        count, rows, keys, compared, rows * columns, columns, **_flags(loop),
        BLOCK_KEY=KEYS, BLOCK_SIZE=64, num_warps=4,
    )  # fmt: skip
    return by_key, by_vector.sum(0)


def _lengths(loop: Loop) -> Tensor:
    """Give the lengths; where there are none, what a kernel takes in their place and does not read."""
    return loop.vector if loop.lengths is None else loop.lengths


def _flags(loop: Loop) -> dict[str, bool]:
    return {"HAS_LENGTHS": loop.lengths is not None, "FAST": loop.state.is_cuda}
