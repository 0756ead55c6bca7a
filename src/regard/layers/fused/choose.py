"""Where parts of a block are computed together: plain modules without hooks, in training and in steps of decoding, on a
GPU with Triton."""

import importlib.util
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from regard.attention.kernels.transforms import traced

#: The kinds of device where parts are computed together; empty, every module is called by itself.
DEVICES: tuple[str, ...] = ("cuda",)
_HAS_TRITON = importlib.util.find_spec("triton") is not None
_TORCH = (nn.Linear, nn.LayerNorm, nn.Dropout, nn.Identity, nn.ModuleList)
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def serves(states: Float[Tensor, "..."], modules: Sequence[nn.Module]) -> bool:
    """Return whether what these modules compute from `states` in training may be computed together."""
    return torch.is_grad_enabled() and _are_plain(states, modules) and _one_precision(states, modules)


def serves_decoding(states: Float[Tensor, "..."], modules: Sequence[nn.Module]) -> bool:
    """Return whether what these modules compute from `states` in a step of decoding may be computed together."""
    if torch.is_grad_enabled() or torch.is_autocast_enabled(states.device.type) or not _are_plain(states, modules):
        return False
    linears = [module for module in modules if isinstance(module, nn.Linear)]
    same = all(linear.weight.dtype is states.dtype for linear in linears if type(linear) is nn.Linear)
    return same and len({linear.weight.dtype for linear in linears}) == 1 and not any(item.training for item in modules)


def _are_plain(states: Tensor, modules: Sequence[nn.Module]) -> bool:
    """Return whether kernels read these states, and nobody would see that modules are not called."""
    if states.device.type not in DEVICES or not _HAS_TRITON or traced():
        return False
    if not states.numel() or type(states) is not Tensor or states.dtype not in _DTYPES:
        return False
    return not torch_module._has_any_global_hook() and all(map(_is_plain, modules))


def product_dtype(states: Float[Tensor, "..."]) -> torch.dtype:
    """Give the precision of matrix products of these states."""
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


def _is_plain(module: nn.Module) -> bool:
    """Return whether a module is of a class whose formula is known, and has no hooks.

    A class of ours says so in its own body, as `fusible = True`; one that inherits it may compute otherwise.
    """
    known = type(module) in _TORCH or vars(type(module)).get("fusible", False)
    return bool(known) and unwatched(module)


class Interruption:
    """A hook before a module that may end the pass, and sees nothing of it: parts may be computed together beside it.

    Where they are, or a captured step is replayed, it is called less often, or not at all.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def __call__(self, module: nn.Module, inputs: object) -> None:
        """Raise, if the pass is to end."""
        self._check()


def unwatched(module: nn.Module) -> bool:
    """Return whether nobody would see that a module is not called: it has no hooks and no forward of its own."""
    if module._forward_hooks or module._backward_hooks or module._backward_pre_hooks or "forward" in vars(module):
        return False
    return all(isinstance(hook, Interruption) for hook in module._forward_pre_hooks.values())


def _one_precision(states: Tensor, modules: Sequence[nn.Module]) -> bool:
    """Return whether parameters have a precision that kernels read: any under autocast, else that of the states."""
    wanted = _DTYPES if torch.is_autocast_enabled(states.device.type) else (states.dtype,)
    own = (item for module in modules for item in vars(module)["_parameters"].values() if item is not None)
    return all(item.dtype in wanted and item.device == states.device for item in own)
