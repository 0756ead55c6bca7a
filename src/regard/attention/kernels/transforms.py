"""Transforms of torch that only plain operations survive."""

import torch
from torch import Tensor


def traced() -> bool:
    """Return whether a graph is being made of what is computed: then nothing may depend on the numbers in a tensor."""
    if torch.compiler.is_compiling() or transform_in_force() is not None or torch._C._get_tracing_state() is not None:
        return True
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None


def mapped(gradient: Tensor) -> bool:
    """Return whether vmap runs over a gradient: `is_grads_batched` uses an older form of it, on no stack."""
    return torch._C._functorch.is_legacy_batchedtensor(gradient) or transform_in_force() is not None


def transform_in_force() -> str | None:
    """Return which transform is in force that fused paths do not support, or None.

    Any tensor of a call may be the transformed one, a bias or a score's parameter too, so none is inspected.
    """
    if torch.compiler.is_compiling():
        return None
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode derivatives need plain operations"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "torch.func transforms (vmap, jvp, grad) need plain operations"
    return None
