"""Transforms of torch that only plain operations survive."""

import torch


def transform_in_force() -> str | None:
    """Say which transform is in force that fused paths do not support, or None.

    Any tensor of a call may be the transformed one, a bias or a score's parameter too, so none is looked at.
    """
    if torch.compiler.is_compiling():
        return None
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode derivatives need plain operations"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "torch.func transforms (vmap, jvp, grad) need plain operations"
    return None
