"""Torch's fused kernel: its arguments, the call, the same by plain operations, and its second derivatives."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.kernels.reference import ungroup
from regard.attention.kernels.twice import partial_gradients
from regard.attention.mask import Causal
from regard.attention.normalize import Softmax, normalize
from regard.attention.tensors import widened

#: With fewer keys torch's CPU kernel gives zeros for a row of NaN, unless it is given a mask.
FEW_KEYS = 16

_KERNELS = ("FlashAttention", "EfficientAttention", "CudnnAttention", "FlashAttentionForCpu")
#: The nodes of torch's graph whose gradients cannot be differentiated again.
ONCE = frozenset(f"ScaledDotProduct{kernel}Backward0" for kernel in _KERNELS)


class Fused(NamedTuple):
    """The arguments of torch's kernel, four axes each."""

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    causal: bool
    scale: float
    grouped: bool


def few_keys(key: Tensor) -> bool:
    """Return whether torch's kernel would lose NaN without a mask; compiled code is one for all lengths."""
    return key.device.type == "cpu" and not torch.compiler.is_compiling() and key.size(-2) < FEW_KEYS


def run(fused: Fused, dropout: float) -> Float[Tensor, "batch heads query size"]:
    """Call torch's kernel; without dropout, in a way that can be differentiated twice."""
    query, key, value, bias, causal, scale, grouped = fused
    if not torch.compiler.is_compiling() and key.size(-2) == 0:
        return plain(fused)  # the kernel would pass on a query of NaN
    if bias is None and not causal and few_keys(key):
        bias = key.new_zeros(1, key.size(-2))
    if (
        bias is not None
        and bias.requires_grad
        and not (query.requires_grad or key.requires_grad or value.requires_grad)
    ):
        query = query.detach().requires_grad_()  # torch's CUDA kernels prepare no backward pass for a bias alone
    context = F.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, dropout_p=dropout, is_causal=causal, scale=scale, enable_gqa=grouped
    )
    return context if dropout else differentiable_again(context)


def differentiable_again(context: Float[Tensor, "batch heads query size"]) -> Float[Tensor, "batch heads query size"]:
    """Let the gradients of what torch's kernel gave be differentiated, where they are asked for with a graph.

    A hook on the kernel's node costs the call two microseconds, and a first derivative nothing. It holds no tensor:
    those that the node saved decide, and autograd, how long they live.
    """
    if torch.compiler.is_compiling():
        return context
    node = context.grad_fn
    if node is not None and node.name() == "SliceBackward0":  # torch cuts off features that it added
        node = node.next_functions[0][0]
    if node is not None and node.name() in ONCE:
        node.register_hook(_with_graph)
    return context


def _with_graph(gradients: Sequence[Tensor | None], arrived: Sequence[Tensor]) -> tuple[Tensor | None, ...] | None:
    """Replace the gradients of the node that has just run by those of plain operations, where a graph is wanted."""
    if not torch.is_grad_enabled():
        return None
    node: Any = torch._C._current_autograd_node()
    query, key, value = node._saved_query, node._saved_key, node._saved_value
    bias = getattr(node, "_saved_attn_bias", None)
    bias = getattr(node, "_saved_attn_mask", None) if bias is None else bias
    scale = 1 / math.sqrt(query.size(-1)) if node._saved_scale is None else node._saved_scale
    settings = node._saved_is_causal, scale, key.size(-3) != query.size(-3)
    needs = [gradient is not None for gradient in gradients]
    tensors = (query, key, value, bias)[: len(needs)]

    def compute(*views: Tensor) -> Tensor:
        return plain(Fused(*(*views, bias)[:4], *settings))

    return tuple(partial_gradients(compute, tensors, needs, arrived[0]))


def plain(fused: Fused, change: Callable[[Tensor], Tensor] | None = None) -> Float[Tensor, "batch heads query size"]:
    """Compute what the kernel computes by operations that can be differentiated any number of times."""
    query, key, value = widened(fused.query), widened(fused.key), widened(fused.value)
    if fused.grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    scores = query * fused.scale @ key.mT
    scores = scores if change is None else change(scores)
    mask = None
    if fused.causal:
        mask = Causal().dense(scores.shape, scores.device)
    elif fused.bias is not None and fused.bias.dtype == torch.bool:
        mask = fused.bias
    elif fused.bias is not None:
        scores, mask = scores + fused.bias, fused.bias != -torch.inf
    return (normalize(scores, mask, Softmax()) @ value).to(fused.value.dtype)
