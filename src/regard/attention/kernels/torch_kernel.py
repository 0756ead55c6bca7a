"""Torch's fused kernel: its arguments, the call, the same by plain operations, and its second derivatives."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.kernels.reference import ungroup
from regard.attention.kernels.twice import partial_gradients
from regard.attention.mask import Causal
from regard.attention.normalize import Softmax, normalize
from regard.attention.prepared import ALIGNMENT
from regard.attention.tensors import Keys, Queries, widened

#: With fewer keys torch's CPU kernel gives zeros for a row of NaN, unless it is given a mask.
FEW_KEYS = 16
#: Up to so many queries and keys the memory-efficient kernel is the quickest on CUDA (benchmarks/attention-h200.md).
FEW_TOKENS = 64

_KERNELS = ("FlashAttention", "EfficientAttention", "CudnnAttention", "FlashAttentionForCpu")
#: What torch chooses between, by its numbers.
KERNEL_NAMES = {0: "unfused", 1: "flash", 2: "memory-efficient", 3: "cuDNN"}
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


def few_keys(key: Keys) -> bool:
    """Return whether torch's kernel would lose NaN without a mask; compiled code is one for all lengths."""
    return key.device.type == "cpu" and not torch.compiler.is_compiling() and key.size(-2) < FEW_KEYS


def favors_efficient(query: Queries, key: Keys) -> bool:
    """Return whether torch's memory-efficient kernel is quicker than those it prefers, and takes these tensors.

    On an H200 it takes two thirds of their time up to 64 keys, and a single launch; from 128 keys on, twice.
    """
    if not query.is_cuda or query.dtype not in (torch.bfloat16, torch.float16) or torch.compiler.is_compiling():
        return False
    if query.size(-1) % 8 or key.shape[:-2] != query.shape[:-2]:
        return False
    few = query.size(-2) <= FEW_TOKENS and 0 < key.size(-2) <= FEW_TOKENS and query.numel() > 0
    return few and query.stride(-1) == 1 and key.stride(-1) == 1 and torch.backends.cuda.mem_efficient_sdp_enabled()


def call(
    query: Float[Tensor, "batch heads query width"],
    key: Float[Tensor, "batch shared key width"],
    value: Float[Tensor, "batch shared key size"],
    bias: Float[Tensor, "..."] | Bool[Tensor, "..."] | None,
    *,
    dropout: float = 0.0,
    causal: bool = False,
    scale: float | None = None,
    grouped: bool = False,
) -> Float[Tensor, "batch heads query size"]:
    """Call torch's kernel, for few tokens on CUDA the one that is quickest there."""
    if favors_efficient(query, key) and value.stride(-1) == 1 and not (grouped or _learned(bias)):
        tracked = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad)
        wide = None if bias is None else bias.expand(*query.shape[:-1], key.size(-2))
        context: Tensor = torch._scaled_dot_product_efficient_attention(
            query, key, value, wide, tracked, dropout, causal, scale=scale
        )[0]
        return context
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, dropout_p=dropout, is_causal=causal, scale=scale, enable_gqa=grouped
    )


def kernel_name(fused: Fused, dropout: float) -> str:
    """Name the kernel of torch's that `run` would call."""
    query, key, value, bias, causal, scale, grouped = fused
    if favors_efficient(query, key) and not (grouped or _learned(bias)):
        return KERNEL_NAMES[2]
    choice = torch._fused_sdp_choice(query, key, value, bias, dropout, causal, scale=scale, enable_gqa=grouped)
    return KERNEL_NAMES.get(choice, "own")


def _learned(bias: Tensor | None) -> bool:
    """Return whether a bias wants a gradient, or may lie in memory as no kernel takes it: only ours is aligned."""
    return bias is not None and (bias.requires_grad or any(step % ALIGNMENT for step in bias.stride()[:-1]))


def run(fused: Fused, dropout: float) -> Float[Tensor, "batch heads query size"]:
    """Call torch's kernel; without dropout, in a way that can be differentiated twice."""
    query, key, value, bias, causal, scale, grouped = fused
    if not torch.compiler.is_compiling() and (key.size(-2) == 0 or query.size(1) == 0):
        return plain(fused)  # the kernel would pass on a query of NaN; without heads torch 2.11 divides by zero
    if bias is None and not causal and few_keys(key):
        bias = key.new_zeros(1, key.size(-2))
    if (
        bias is not None
        and bias.requires_grad
        and not (query.requires_grad or key.requires_grad or value.requires_grad)
    ):
        query = query.detach().requires_grad_()  # torch's CUDA kernels prepare no backward pass for a bias alone
    context = call(query, key, value, bias, dropout=dropout, causal=causal, scale=scale, grouped=grouped)
    return context if dropout else differentiable_again(context)


def differentiable_again(context: Float[Tensor, "batch heads query size"]) -> Float[Tensor, "batch heads query size"]:
    """Let the gradients of what torch's kernel gave be differentiated, where they are asked for with a graph.

    A hook on the kernel's node costs the call two microseconds, and a first derivative nothing. It holds no tensor:
    those that the node saved decide, and autograd, how long they live.
    """
    node = None if torch.compiler.is_compiling() else context.grad_fn
    if node is None:
        return context
    name = node.name()
    if name == "SliceBackward0":  # torch cuts off features that it added
        node = node.next_functions[0][0]
        name = "" if node is None else node.name()
    if node is not None and name in ONCE:
        node.register_hook(_with_graph)
    return context


def _with_graph(
    gradients: Sequence[Tensor | None], arrived: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...] | None:
    """Replace the gradients of the node that has just run by those of plain operations, where a graph is wanted."""
    gradient = arrived[0]
    if not torch.is_grad_enabled() or gradient is None:
        return None
    node: Any = torch._C._current_autograd_node()
    query, key, value = node._saved_query, node._saved_key, node._saved_value
    bias = getattr(node, "_saved_attn_bias", None)
    bias = getattr(node, "_saved_attn_mask", None) if bias is None else bias
    scale = 1 / math.sqrt(query.size(-1)) if node._saved_scale is None else node._saved_scale
    causal, grouped = node._saved_is_causal, key.size(-3) != query.size(-3)
    needs = [item is not None for item in gradients]

    def compute(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = bias) -> Tensor:
        return plain(Fused(query, key, value, bias, causal, scale, grouped))

    return tuple(partial_gradients(compute, (query, key, value, bias)[: len(needs)], needs, gradient))


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
