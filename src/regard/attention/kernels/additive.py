"""Additive attention by the fused Triton kernel: when it serves, and how a call is lowered to it."""

import importlib.util
import math
from contextlib import nullcontext

import torch
from torch import Tensor

from regard.attention.inputs import Inputs
from regard.attention.kernels import additive_few, additive_op
from regard.attention.kernels.additive_call import Call, Masking
from regard.attention.kernels.reference import Attended, operands, ungroup
from regard.attention.mask import And, Causal, Mask, Padding, Window
from regard.attention.normalize import Softmax
from regard.attention.score import Additive, Concat, Score
from regard.attention.tensors import name_of

#: Widest values that one program mixes; for a few queries they are divided.
WIDEST_VALUE = 512
#: Batch elements, times heads, that CUDA numbers along one axis of programs.
MOST_ELEMENTS = 65_535
#: Whether Triton is installed.
TRITON = importlib.util.find_spec("triton") is not None


def refusal(inputs: Inputs) -> str | None:
    """Describe why this call cannot run here, or None if it can."""
    score = inputs.score
    if type(score) not in (Additive, Concat) or getattr(score, "activation", "tanh") != "tanh":
        return f"{name_of(score)} is not the tanh layer that the kernel computes"
    if type(inputs.normalize) is not Softmax:
        return f"the kernel takes a softmax, not {name_of(inputs.normalize)}"
    if inputs.position is not None or inputs.bias is not None:
        return "the kernel adds nothing to the scores"
    if inputs.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return f"the kernel computes in float32 or less, not {inputs.dtype}"
    if inputs.value.size(-1) > WIDEST_VALUE and inputs.shape[-2] > additive_few.FEW:
        return f"values are wider than {WIDEST_VALUE}, and there are more than {additive_few.FEW} queries"
    if not math.prod(inputs.shape) > 0 or not 0 < math.prod(inputs.shape[:-2]) <= MOST_ELEMENTS:
        return f"an axis is empty, or batch and heads have more than {MOST_ELEMENTS:,} elements"
    if not on_device(inputs.query):
        return "it runs on CUDA alone"
    if inputs.dropout and inputs.generator is not None and inputs.generator.device.type != inputs.query.device.type:
        return "its dropout takes a generator of the device it runs on"
    return None if TRITON else "Triton is not installed"


def on_device(tensor: Tensor) -> bool:
    """Return whether Triton has a kernel for where a tensor is."""
    return tensor.is_cuda


def attend(inputs: Inputs, *, weighted: bool = False) -> Attended:
    """Compute context and log normalizer and, if asked for, the weights before dropout, else an empty tensor."""
    here = nullcontext() if torch.compiler.is_compiling() else torch.cuda.device_of(inputs.query)
    with here:  # Triton asks which device is the current one
        context, normalizer, weights = additive_op.attend(lower(inputs), weighted=weighted)
    lead, (queries, keys) = inputs.shape[:-2], inputs.shape[-2:]
    weights = weights.view(*lead, queries, keys) if weighted else weights
    return Attended(context.view(*lead, *context.shape[1:]), weights, normalizer.view(*lead, queries))


def lower(inputs: Inputs) -> Call:
    """Lay the operands out as the kernel takes them: one axis of batch elements and heads."""
    assert isinstance(inputs.score, Score)
    masking = span(inputs.mask, inputs.shape, inputs.query.device) if type(inputs.score) is Additive else None
    query, key, value = inputs.query, inputs.key, inputs.value
    if masking is None:
        query, key, value, mask, _ = operands(inputs, mask=inputs.dense_mask())
        masking = Masking(None if mask is None else mask.expand(inputs.shape).reshape(-1, *inputs.shape[-2:]))
    score, query, key = inputs.score.projected(query, key)
    assert isinstance(score, Additive)
    if inputs.grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    lead = inputs.shape[:-2]
    query, key, value = (_fold(tensor, lead) for tensor in (query, key, value.to(inputs.dtype)))
    vector = (score.vector if score.vector.ndim == 2 else score.vector.unsqueeze(0)).contiguous()
    seed = None
    if inputs.dropout:
        seed = torch.randint(2**62, (1,), device=query.device, generator=inputs.generator)
    return Call(query, key, vector, value, masking, seed, inputs.dropout)


def _fold(tensor: Tensor, lead: tuple[int, ...]) -> Tensor:
    """Lay all leading axes along one."""
    if tensor.shape[:-2] != lead:
        tensor = tensor.expand(*lead, *tensor.shape[-2:])
    return (tensor if len(lead) == 1 else tensor.reshape(-1, *tensor.shape[-2:])).contiguous()


def span(mask: Mask | None, shape: tuple[int, ...], device: torch.device) -> Masking | None:
    """Give a mask as a span of keys for each query, for the kernel to skip what is outside; None where it is none.

    A subclass may allow other keys, so only the masks themselves are known.

    >>> span(Causal() & Padding(torch.tensor([3, 2])), (2, 4, 4), torch.device("cpu"))
    Masking(mask=None, lengths=tensor([3, 2]), low=-1073741824, high=0)
    """
    ends = shape[-1] - shape[-2]
    if mask is None:
        return Masking()
    if type(mask) is Causal and mask.positions is None:
        return Masking(high=ends if mask.align == "end" else 0)
    if type(mask) is Window and mask.positions is None:
        shift, everything = ends if mask.align == "end" else 0, Masking()
        low = everything.low if mask.left is None else shift - mask.left
        return Masking(low=low, high=everything.high if mask.right is None else shift + mask.right)
    if type(mask) is Padding:
        batch = (1, shape[0]) if len(shape) > 2 else (1,)
        if mask.lengths.ndim > 1 or mask.lengths.numel() not in batch or (mask.lengths.ndim == 1 and len(shape) < 3):
            return None  # the mask itself says what is wrong
        return Masking(lengths=mask.lengths.to(device=device).reshape(-1))
    if type(mask) is And:
        return _both(span(mask.left, shape, device), span(mask.right, shape, device))
    return None


def _both(left: Masking | None, right: Masking | None) -> Masking | None:
    if left is None or right is None or (left.lengths is not None and right.lengths is not None):
        return None
    lengths = right.lengths if left.lengths is None else left.lengths
    return Masking(lengths=lengths, low=max(left.low, right.low), high=min(left.high, right.high))
