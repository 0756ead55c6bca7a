"""Every score that is an inner product in disguise, rewritten for torch's fused kernel."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.inputs import Inputs
from regard.attention.kernels import with_log
from regard.attention.kernels.reference import Operands, mask_with_bias, operands, ungroup
from regard.attention.kernels.torch_kernel import Fused, few_keys, run
from regard.attention.mask import Causal
from regard.attention.normalize import Sink, Softmax
from regard.attention.prepared import as_bias
from regard.attention.score import Score
from regard.attention.similarity import Gaussian
from regard.attention.tensors import Keys, Queries, name_of, widened


def refusal(inputs: Inputs) -> str | None:
    """Describe why this call cannot run here, or None if it can."""
    kind = type(inputs.normalize)
    if kind is not Softmax and kind is not Sink:  # a subclass may normalize otherwise
        return f"the fused kernel normalizes by Softmax or Sink only, not {name_of(inputs.normalize)}"
    if not isinstance(inputs.score, Score):
        return f"the score is a function ({name_of(inputs.score)}), whose inner-product form is unknown"
    name = name_of(inputs.score)
    if not inputs.score.has_inner:
        return f"{name} is not an inner product"
    if kind is Sink and inputs.score.inner_shifts:
        return f"the inner product of {name} leaves out a constant per row, which Sink does not ignore"
    if inputs.dtype == torch.float16 and not inputs.score.inner_fits_half:
        return f"the products inside {name} may overflow float16"
    if inputs.generator is not None and inputs.dropout:
        return "the fused kernel takes no generator for its dropout"
    if inputs.position is not None and inputs.position.needs_weights:
        return f"{name_of(inputs.position)} works on the weights, which the fused kernel does not give"
    return None


def attend(inputs: Inputs, ready: Operands | None = None) -> Float[Tensor, "*context query value_size"]:
    """Rewrite the call for torch's kernel and run it; `ready` spares preparing the operands again."""
    fused, sink = lower(inputs, ready), inputs.normalize
    if type(sink) is not Sink:
        return _shaped(inputs, _run(one_width(fused), inputs.dropout), fused)
    kernel = None if inputs.dropout else with_log.choose_kernel(one_width(fused))
    if kernel is not None:
        context, _ = with_log.attend(one_width(fused), kernel, _sink_rows(sink, inputs.shape, fused))
        return _shaped(inputs, context, fused)
    context = run(one_width(with_sink(fused, sink, inputs.shape)), inputs.dropout)
    return _shaped(inputs, context[..., 1:, :] if fused.causal else context, fused)


def attend_with_log(
    inputs: Inputs,
) -> tuple[Float[Tensor, "*batch query value_size"], Float[Tensor, "*batch query"]] | None:
    """Give the context and each row's log normalizer by the kernel, or None where it does not know the latter."""
    assert isinstance(inputs.score, Score)
    if inputs.dropout or inputs.score.inner_shifts:
        return None
    _, masked = lower_mask(inputs)
    ready = operands(inputs, mask=inputs.dense_mask() if masked else None)
    fused = lower(inputs, ready)
    kernel = with_log.choose_kernel(one_width(fused))
    if kernel is None:
        return None
    context, log = with_log.attend(one_width(fused), kernel)
    log = log.reshape(inputs.shape[:-1])
    allowed = mask_with_bias(inputs, ready.mask)
    if allowed is not None:
        log = log.masked_fill(~allowed.any(-1), -torch.inf)
    return _shaped(inputs, context, fused), log


def lower(inputs: Inputs, ready: Operands | None) -> Fused:
    """Rewrite the call as the arguments of torch's kernel, but for the sink and for widths that differ."""
    assert isinstance(inputs.score, Score)
    causal, masked = lower_mask(inputs)
    if ready is None:
        ready = operands(inputs, mask=inputs.dense_mask() if masked else None)
    query, key, value, dense, offset = ready
    mask = dense if masked else None
    shared = inputs.grouped and inputs.score.linear and key.size(-3) == value.size(-3)
    grouped = True if shared else False  # noqa: SIM210 - the kernel takes no symbolic truth
    if inputs.grouped and not grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    center = None
    if mask is not None and not grouped and isinstance(inputs.score, Gaussian):
        center = attended(mask.any(-2), key)
    inner = inputs.score.inner(query, key, center)
    assert inner is not None
    if causal and (inner.bias is not None or not inner.scale > 0):  # torch's causal kernels want a positive scale
        causal, mask = False, inputs.dense_mask() if dense is None else dense
    if offset is None:
        offset = position_bias(inputs, query, key)
    bias = lower_bias(inputs, (offset, inner.bias), mask)
    dtype = _kernel_dtype(inputs.dtype, bias)
    if bias is not None and bias is mask and query.is_cuda:
        kept = inputs.kept_mask(bias)
        bias = as_bias(bias, dtype) if kept is None else kept.bias(dtype)
    query, key, value = inner.query.to(dtype), inner.key.to(dtype), value.to(dtype)
    query, key, value, bias = as_four_axes(query, key, value, bias, inputs.shape, grouped)
    return Fused(query, key, value, bias, causal, inner.scale, grouped)


def _run(fused: Fused, dropout: float) -> Tensor:
    """Run torch's kernel, with our own backward pass where torch's is slow."""
    tracked = torch.is_grad_enabled() and any(item.requires_grad for item in fused[:3])
    if not tracked or dropout or torch.compiler.is_compiling():
        return run(fused, dropout)
    if not with_log.widens_backward(fused.query, fused.key):
        return run(fused, dropout)
    if fused.bias is None and not fused.causal and few_keys(fused.key):
        fused = fused._replace(bias=fused.key.new_zeros(1, fused.key.size(-2)))  # else a row of NaN is lost
    kernel = with_log.choose_kernel(fused)
    return run(fused, dropout) if kernel is None else with_log.attend(fused, kernel)[0]


def _shaped(inputs: Inputs, context: Tensor, fused: Fused) -> Tensor:
    """Give what a kernel gave the width, the precision and the axes of the call."""
    width = fused.value.size(-1)
    context = (context if context.size(-1) == width else context[..., :width]).to(inputs.dtype)
    return context if len(inputs.shape) == 4 else context.reshape(*inputs.shape[:-1], width)


def _sink_rows(sink: Sink, shape: tuple[int, ...], fused: Fused) -> Tensor:
    """Lay the sink's score along the rows of the kernel's four axes."""
    score = widened(sink.score).to(fused.query.device)
    heads_first = len(shape) == 3 and not fused.grouped  # the kernel takes them for the batch then
    return score.reshape(-1, 1, 1) if heads_first else score.reshape(1, -1, 1)


def with_sink(fused: Fused, sink: Sink, shape: tuple[int, ...]) -> Fused:
    """Put a key before the others whose score is the sink's for every query and whose value is zero.

    The score is two more features of the query, so that half precision does not round it, which meet ones in that key
    and zeros in all others. Where the kernel masks the future, a query goes before the others too.
    """
    query, key, value, bias, causal, scale, grouped = fused
    if not scale > 0:
        query, scale = query * scale, 1.0
    score = widened(sink.score).to(query.device).reshape(-1, 1, 1) / scale
    if len(shape) == 3 and not grouped:  # the heads are the first axis then, which the kernel takes for the batch
        score = score.unsqueeze(-3)
    high = score.to(query.dtype)
    low = (score - high.to(score.dtype)).to(query.dtype)
    features = torch.cat([high, low], dim=-1).expand(*query.shape[:-1], 2)
    query = torch.cat([query, features], dim=-1)
    null = F.pad(key.new_ones(2), (key.size(-1), 0)).expand(*key.shape[:-2], 1, -1)
    key = torch.cat([null, F.pad(key, (0, 2))], dim=-2)
    value = F.pad(value, (0, 0, 1, 0))
    if causal:
        query = F.pad(query, (0, 0, 1, 0))
    if bias is not None:
        bias = F.pad(bias.expand(*bias.shape[:-1], shape[-1]), (1, 0), value=bias.dtype == torch.bool)
    return Fused(query, key, value, bias, causal, scale, grouped)


def one_width(fused: Fused) -> Fused:
    """Give query, key and value one width, which the fused kernels want."""
    width = max(fused.query.size(-1), fused.value.size(-1))
    query, key, value = (widen(tensor, width) for tensor in fused[:3])
    return Fused(query, key, value, *fused[3:])


def attended(flags: Bool[Tensor, "... key"], key: Keys) -> Bool[Tensor, "... key"]:
    """Lay flags that say which keys any query may attend to along the keys, to center them."""
    return flags[(None,) * (key.ndim - 1 - flags.ndim)].expand(*torch.broadcast_shapes(flags.shape, key.shape[:-1]))


def widen(tensor: Float[Tensor, "*rows size"], width: int) -> Float[Tensor, "*rows wider"]:
    """Add features of zero up to `width`."""
    return F.pad(tensor, (0, width - tensor.size(-1))) if tensor.size(-1) < width else tensor


def lower_mask(inputs: Inputs) -> tuple[bool, bool]:
    """Return whether the kernel's own causal path serves, and whether it needs a dense mask instead."""
    position = inputs.position
    if position is not None and position.narrows:
        return False, True
    if inputs.mask is None:
        return False, False
    biased = inputs.bias is not None or (position is not None and position.adds_bias)
    if type(inputs.mask) is Causal and inputs.mask.positions is None and not biased:  # a subclass may allow other keys
        queries, keys = inputs.shape[-2:]
        if queries == 1 and inputs.mask.align == "end":
            return False, False  # a single query stands at the last key
        if queries == keys and not few_keys(inputs.key):
            return True, False
    return False, True


def position_bias(inputs: Inputs, query: Queries, key: Keys) -> Float[Tensor, "..."] | None:
    """Give what the position adds to the scores, if anything."""
    if inputs.position is None or not inputs.position.adds_bias:
        return None
    if inputs.grouped and key.size(-3) != query.size(-3):
        key = ungroup(key, query.size(-3))
    return inputs.position.bias(inputs.score, widened(query), widened(key), inputs.shape)


def lower_bias(inputs: Inputs, more: tuple[Tensor | None, ...], mask: Tensor | None) -> Tensor | None:
    """Add up the biases and the mask, as the one tensor the kernel takes: boolean if there is a mask alone."""
    parts = [part for part in (inputs.bias, *more) if part is not None]
    if not parts:
        return mask
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    # Rounded to half precision, numbers of size 10 would be off by 0.04, and −10⁹ would be −∞.
    total = total.to(inputs.dtype) if inputs.dtype.itemsize >= 4 or total.dtype == inputs.dtype else total.float()
    return total if mask is None else torch.where(mask, total, -torch.inf)


def _kernel_dtype(dtype: torch.dtype, bias: Tensor | None) -> torch.dtype:
    """Give the precision to compute in: where a wider bias goes with half precision, the bias's.

    Torch's CPU kernel takes both as they are; on CUDA one refuses and another gives NaN.
    """
    if bias is None or bias.dtype == torch.bool or bias.device.type == "cpu":
        return dtype
    return torch.promote_types(dtype, bias.dtype)


def as_four_axes(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, shape: tuple[int, ...], grouped: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Shape everything as (batch, heads, length, width): with fewer or more axes torch leaves its fused path.

    A single leading axis becomes the batch, or the heads where heads are grouped.
    """
    lead = shape[:-2]
    key_lead = (*lead[:-1], key.size(-3)) if grouped else lead
    missing = -4 if grouped else -3  # where the axis that is missing belongs

    def fold(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
        if tensor.shape[:-2] != axes:
            tensor = tensor.expand(*axes, *tensor.shape[-2:])
        if len(axes) > 2:
            return tensor.flatten(0, -4)
        return tensor if len(axes) == 2 else tensor.unsqueeze(missing) if axes else tensor[None, None]

    if bias is not None and bias.ndim > 2:
        if len(lead) > 2:
            bias = bias.expand(*lead, *bias.shape[-2:]).flatten(0, -4)
        elif len(lead) == 1:
            bias = bias.unsqueeze(missing)
        elif bias.ndim == 3:  # one for each head
            bias = bias.unsqueeze(0)
    return fold(query, lead), fold(key, key_lead), fold(value, key_lead), bias
