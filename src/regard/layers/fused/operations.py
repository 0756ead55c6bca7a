r"""What stands between the matrix products of a Transformer block, as three operations with their gradients.

$$\text{add and norm:}\ t = x + \text{dropout}(p + b),\ n = \text{norm}(t), \qquad
\text{activate:}\ \text{dropout}(\phi(p + b)), \qquad \text{project:}\ [W_1; W_2; \dots] x + [b_1; b_2; \dots]$$

where $p$ is the product of a matrix, its bias left out. Each has a plain form, `plain_…`, which is its specification:
the kernels agree with it, and it gives the gradients where these are differentiated once more.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.attention.kernels.transforms import mapped
from regard.attention.kernels.twice import partial_gradients

#: Numbers that a program holds at once, and the most programs of a backward pass, each with a row of sums.
TILE, MOST_PROGRAMS = 4096, 528
#: Columns of a tile at most where a row need not be held whole.
MOST_COLUMNS = 512
_ONES = 0xFFFFFFFF


class Draw(NamedTuple):
    """Where dropout draws from: an integer on the device for a whole pass, and the number of the call within it."""

    seed: Int[Tensor, " one"]
    call: int
    probability: float


class Norm(NamedTuple):
    """A layer norm, and the precision of what it gives."""

    weight: Float[Tensor, " size"]
    shift: Float[Tensor, " size"] | None
    epsilon: float
    dtype: torch.dtype


def add_and_norm(
    states: Float[Tensor, "rows size"],
    product: Float[Tensor, "rows size"] | None,
    bias: Float[Tensor, " size"] | None,
    norm: Norm | None,
    draw: Draw | None,
) -> tuple[Float[Tensor, "rows size"], Float[Tensor, "rows size"]]:
    """Add what a sublayer gave, unless it is None, and normalize the sum, unless the norm is; give both."""
    weight, shift = (None, None) if norm is None else (norm.weight, norm.shift)
    total, normed = _AddAndNorm.apply(states, product, bias, weight, shift, norm, draw)  # type: ignore[no-untyped-call]
    return states if product is None else total, normed


def plain_add_and_norm(
    states: Float[Tensor, "rows size"],
    product: Float[Tensor, "rows size"] | None,
    bias: Float[Tensor, " size"] | None,
    norm: Norm | None,
    draw: Draw | None,
) -> tuple[Float[Tensor, "rows size"], Float[Tensor, "rows size"]]:
    """Do the same by plain operations."""
    total = states
    if product is not None:
        added = product.float() if bias is None else product.float() + bias.float()
        if draw is not None:
            added = added * factors(draw, product)
        total = (states.float() + added).to(torch.promote_types(states.dtype, product.dtype))
    if norm is None:
        return total, total
    shift = None if norm.shift is None else norm.shift.float()
    normed = F.layer_norm(total.float(), total.shape[-1:], norm.weight.float(), shift, norm.epsilon)
    return total, normed.to(norm.dtype)


class _AddAndNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        product: Tensor | None,
        bias: Tensor | None,
        weight: Tensor | None,
        shift: Tensor | None,
        norm: Norm | None,
        draw: Draw | None,
    ) -> tuple[Tensor, Tensor]:
        from regard.layers.fused.block_triton import add_norm_kernel

        rows, size = states.shape
        total = states
        if product is not None:
            total = torch.empty_like(states, dtype=torch.promote_types(states.dtype, product.dtype))
        normed = states.new_empty(states.shape if norm else 0, dtype=norm.dtype if norm else None)
        means, scales = states.new_empty(2, rows if norm else 0, dtype=torch.float32)
        tile = _tile(size)
        with torch.cuda.device_of(states):
            add_norm_kernel[(-(-rows // tile["ROWS"]),)](
                states, _or(product, states), _or(bias, states), _or(weight, states), _or(shift, states),
                draw.seed if draw else states, total, normed, means, scales, rows, size,
                norm.epsilon if norm else 0.0, draw.probability if draw else 0.0, draw.call if draw else 0,
                PRODUCT=product is not None, BIAS=bias is not None, DROPOUT=draw is not None, NORM=norm is not None,
                SHIFT=shift is not None, **tile,
            )  # fmt: skip
        kept = None if product is None else total
        ctx.save_for_backward(states, product, bias, weight, shift, kept, means, scales)
        ctx.set_materialize_grads(False)
        ctx.norm, ctx.draw = norm, draw
        if product is None:
            total = states.new_empty(0)
        ctx.mark_non_differentiable(*([total] if product is None else []), *([] if norm else [normed]))
        return total, normed

    @staticmethod
    def backward(ctx: Any, by_total: Tensor | None, by_normed: Tensor | None) -> tuple[Tensor | None, ...]:
        states, product, bias, weight, shift, total, means, scales = ctx.saved_tensors
        by_total = None if product is None else by_total
        by_normed = None if ctx.norm is None else by_normed
        arrived = [item for item in (by_total, by_normed) if item is not None]
        if not arrived:
            return (None,) * 7
        if torch.is_grad_enabled() or any(map(mapped, arrived)):
            inputs, plain = (states, product, bias, weight, shift), _plain_parts(ctx, by_total, by_normed)
            needs = (*ctx.needs_input_grad[:3], *(need and by_normed is not None for need in ctx.needs_input_grad[3:5]))
            return *partial_gradients(plain, inputs, needs, arrived), None, None
        from regard.layers.fused.block_triton import add_norm_backward_kernel

        (rows, size), draw = states.shape, ctx.draw
        total = states if product is None else total
        by_total, by_normed = (None if item is None else item.contiguous() for item in (by_total, by_normed))
        has_norm = by_normed is not None
        by_states = torch.empty_like(states) if has_norm else by_total
        by_product = None if product is None else torch.empty_like(product)
        tile = _tile(size)
        programs = _programs(rows, tile["ROWS"])
        sums = torch.empty(programs, 3, size, dtype=torch.float32, device=states.device)
        with torch.cuda.device_of(states):
            add_norm_backward_kernel[(programs,)](
                _or(by_total, states), _or(by_normed, states), total, _or(weight, states), means, scales,
                draw.seed if draw else states, by_states, _or(by_product, states), sums, rows, size,
                draw.probability if draw else 0.0, draw.call if draw else 0,
                TOTAL=by_total is not None, NORM=has_norm, PRODUCT=product is not None, DROPOUT=draw is not None,
                **tile,
            )  # fmt: skip
        of_weight = of_shift = of_bias = None
        if has_norm or bias is not None:
            added = sums.sum(0)
            of_weight = added[0].to(weight.dtype) if has_norm else None
            of_shift = added[1].to(shift.dtype) if has_norm and shift is not None else None
            of_bias = added[2].to(bias.dtype) if bias is not None else None
        assert by_states is not None
        return by_states.to(states.dtype), by_product, of_bias, of_weight, of_shift, None, None


def _plain_parts(ctx: Any, by_total: Tensor | None, by_normed: Tensor | None) -> Callable[..., Any]:
    def plain(
        states: Tensor, product: Tensor | None, bias: Tensor | None, weight: Tensor | None, shift: Tensor | None
    ) -> Any:
        norm = None if ctx.norm is None or weight is None else ctx.norm._replace(weight=weight, shift=shift)
        total, normed = plain_add_and_norm(states, product, bias, norm, ctx.draw)
        parts = ((total, by_total), (normed, by_normed))
        return tuple(part for part, arrived in parts if arrived is not None)

    return plain


def activate(
    product: Float[Tensor, "rows columns"], bias: Float[Tensor, " columns"] | None, activation: str, draw: Draw | None
) -> Float[Tensor, "rows width"]:
    """Add the bias and apply the nonlinearity; that of "swiglu" has a gate in the second half of the columns."""
    return _Activate.apply(product, bias, activation, draw)  # type: ignore[no-any-return, no-untyped-call]


def plain_activate(
    product: Float[Tensor, "rows columns"], bias: Float[Tensor, " columns"] | None, activation: str, draw: Draw | None
) -> Float[Tensor, "rows width"]:
    """Do the same by plain operations."""
    hidden = product.float() if bias is None else product.float() + bias.float()
    if activation == "swiglu":
        own, gate = hidden.chunk(2, dim=-1)
        hidden = F.silu(own) * gate
    else:
        hidden = {"relu": torch.relu, "gelu": F.gelu, "swish": F.silu}[activation](hidden)
    if draw is not None:
        hidden = hidden * factors(draw, hidden)
    return hidden.to(product.dtype)


class _Activate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, bias: Tensor | None, activation: str, draw: Draw | None) -> Tensor:
        from regard.layers.fused.block_triton import activate_kernel

        rows, columns = product.shape
        gated = activation == "swiglu"
        hidden = product.new_empty(rows, columns // 2 if gated else columns)
        width = hidden.size(1)
        tile = _tile(width, most=MOST_COLUMNS)
        with torch.cuda.device_of(product):
            activate_kernel[(-(-rows // tile["ROWS"]), -(-width // tile["BLOCK"]))](
                product, _or(bias, product), draw.seed if draw else product, hidden, rows, width,
                draw.probability if draw else 0.0, draw.call if draw else 0,
                ACTIVATION=activation, GATED=gated, BIAS=bias is not None, DROPOUT=draw is not None, **tile,
            )  # fmt: skip
        ctx.save_for_backward(product, bias)
        ctx.activation, ctx.draw = activation, draw
        return hidden

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        product, bias = ctx.saved_tensors
        activation, draw = ctx.activation, ctx.draw
        if torch.is_grad_enabled() or mapped(gradients[0]):

            def plain(product: Tensor, bias: Tensor | None) -> Tensor:
                return plain_activate(product, bias, activation, draw)

            return *_again(ctx, plain, (product, bias), gradients[0]), None, None
        from regard.layers.fused.block_triton import activate_backward_kernel

        by_hidden = gradients[0].contiguous()
        by_product = torch.empty_like(product)
        rows, width = by_hidden.shape
        tile = _tile(width, most=MOST_COLUMNS)
        programs = _programs(rows, tile["ROWS"], -(-width // tile["BLOCK"]))
        sums = product.new_empty(programs if bias is not None else 0, product.size(1), dtype=torch.float32)
        with torch.cuda.device_of(product):
            activate_backward_kernel[(programs, -(-width // tile["BLOCK"]))](
                by_hidden, product, _or(bias, product), draw.seed if draw else product, by_product, sums, rows, width,
                draw.probability if draw else 0.0, draw.call if draw else 0,
                ACTIVATION=activation, GATED=activation == "swiglu", BIAS=bias is not None, DROPOUT=draw is not None,
                **tile,
            )  # fmt: skip
        return by_product, None if bias is None else sums.sum(0).to(bias.dtype), None, None


def project_rows(
    rows: Float[Tensor, "rows size"],
    weight: Float[Tensor, "columns size"],
    bias: Float[Tensor, " columns"] | None,
    widths: Sequence[int],
) -> tuple[Float[Tensor, "rows _"], ...]:
    """Multiply by several matrices in one product, and give what each of them makes, as views."""
    return _Project.apply(rows, weight, bias, tuple(widths))  # type: ignore[no-any-return, no-untyped-call]


def _plain_project(rows: Tensor, weight: Tensor, bias: Tensor | None, widths: tuple[int, ...]) -> tuple[Tensor, ...]:
    product = F.linear(rows, weight, None if bias is None else bias.to(weight.dtype))
    return tuple(torch.split(product, list(widths), dim=1))


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None, widths: tuple[int, ...]
    ) -> tuple[Tensor, ...]:
        ctx.save_for_backward(rows, weight, bias)
        ctx.widths = widths
        return _plain_project(rows, weight, bias, widths)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        rows, weight, bias = ctx.saved_tensors
        if torch.is_grad_enabled() or any(map(mapped, gradients)):

            def plain(rows: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
                return _plain_project(rows, weight, bias, ctx.widths)

            return *_again(ctx, plain, (rows, weight, bias), gradients), None
        merged, sums = merge(gradients, summed=bias is not None)
        needs = ctx.needs_input_grad
        by_rows = merged @ weight if needs[0] else None
        by_weight = merged.mT @ rows if needs[1] else None
        return by_rows, by_weight, None if bias is None or sums is None else sums.to(bias.dtype), None


def merge(
    parts: Sequence[Float[Tensor, "rows _"]], *, summed: bool
) -> tuple[Float[Tensor, "rows columns"], Float[Tensor, " columns"] | None]:
    """Lay gradients side by side, and add up their rows, in one pass for each three of them."""
    from regard.layers.fused.block_triton import merge_kernel

    parts = [part if part.stride(1) == 1 else part.contiguous() for part in parts]
    rows, widths = parts[0].size(0), [part.size(1) for part in parts]
    alone = len(parts) == 1 and parts[0].is_contiguous()
    if alone and not summed:
        return parts[0], None
    merged = parts[0] if alone else parts[0].new_empty(rows, sum(widths))
    tile = _tile(max(widths), most=MOST_COLUMNS)
    blocks = -(-max(widths) // tile["BLOCK"])
    programs = _programs(rows, tile["ROWS"], blocks * min(3, len(parts)))
    sums = merged.new_empty(programs if summed else 0, sum(widths), dtype=torch.float32)
    for first in range(0, len(parts), 3):
        some = parts[first : first + 3]
        padded = [some[index % len(some)] for index in range(3)]
        with torch.cuda.device_of(merged):
            merge_kernel[(programs, blocks, len(some))](
                *padded, merged, sums, rows, *(part.stride(0) for part in padded), *(part.size(1) for part in padded),
                sum(widths[:first]), sum(widths), STORE=not alone, SUMS=summed, **tile,
            )  # fmt: skip
    return merged, sums.sum(0) if summed else None


def factors(draw: Draw, like: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    """Give what dropout multiplies by, 0 or 1 / (1 − probability), by plain operations."""
    (rows, columns), device, drawn = like.shape, like.device, draw.seed
    low, high = drawn & _ONES, drawn >> 32
    row, unit = torch.arange(rows, device=device), torch.arange(columns, device=device)
    key = _mix((_mix(row ^ _mix((_mix(low) + draw.call) & _ONES)) + high) & _ONES)
    bits = _mix((key[:, None] + unit * 0x9E3779B9) & _ONES)
    kept = (bits >> 8).float() * 2.0**-24 >= draw.probability
    return torch.where(kept, 1.0 / (1.0 - draw.probability) if draw.probability < 1 else 0.0, 0.0)


def _mix(bits: Tensor) -> Tensor:
    bits = ((bits ^ (bits >> 16)) * 0x7FEB352D) & _ONES
    bits = ((bits ^ (bits >> 15)) * 0x846CA68B) & _ONES
    return bits ^ (bits >> 16)


def _again(ctx: Any, plain: Callable[..., Any], tensors: Sequence[Tensor | None], arrived: Any) -> list[Tensor | None]:
    return partial_gradients(plain, tensors, ctx.needs_input_grad[: len(tensors)], arrived)


def _or(tensor: Tensor | None, other: Tensor) -> Tensor:
    """Give the tensor, or the other where there is none: a kernel takes no None that it does not read."""
    return other if tensor is None else tensor


def _tile(width: int, *, most: int = TILE) -> dict[str, int]:
    """Give rows and columns of a tile, with the warps that hold it."""
    block = max(16, min(most, 1 << (width - 1).bit_length()))
    return {"ROWS": TILE // block, "BLOCK": block, "num_warps": 4}


def _programs(rows: int, at_once: int, beside: int = 1) -> int:
    """Give how many programs go over the rows, where some stand `beside` each other."""
    return max(1, min(-(-rows // at_once), -(-MOST_PROGRAMS // beside)))
