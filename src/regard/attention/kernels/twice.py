"""Second derivatives for kernels that have none."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Computation = Callable[..., Tensor]


def differentiable_twice(kernel: Computation, plain: Computation, *tensors: Tensor | None) -> Tensor:
    """Run `kernel` on the tensors; where its gradients must themselves be differentiated, they come from `plain`.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(differentiable_twice(torch.square, lambda x: x**2, x), x, create_graph=True)
    >>> torch.autograd.grad(slope, x)
    (tensor(2.),)
    """
    tracked = torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)
    if not tracked or torch.compiler.is_compiling():
        return kernel(*tensors)
    arrived: list[Tensor] = []
    inside = _Enter.apply(arrived, plain, *tensors)  # type: ignore[no-untyped-call]
    return _Leave.apply(arrived, kernel(*inside))  # type: ignore[no-any-return, no-untyped-call]


class _Enter(torch.autograd.Function):
    """Stands before the kernel and passes its gradients on.

    Where a second derivative is wanted, it drops them and computes them anew by plain operations, from the gradient
    that arrived at `_Leave`, behind the kernel.
    """

    @staticmethod
    def forward(ctx: Any, arrived: list[Tensor], plain: Computation, *tensors: Tensor | None) -> Any:
        ctx.save_for_backward(*tensors)
        ctx.arrived, ctx.plain = arrived, plain
        return tuple(tensor if tensor is None else tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        if not torch.is_grad_enabled():
            return None, None, *gradients
        tensors, arrived = ctx.saved_tensors, ctx.arrived.pop()
        needed = [index for index, need in enumerate(ctx.needs_input_grad[2:]) if need]
        wanted = [tensors[index] for index in needed]
        computed = torch.autograd.grad(ctx.plain(*tensors), wanted, arrived, create_graph=True)
        found = dict(zip(needed, computed, strict=True))
        return None, None, *(found.get(index) for index in range(len(tensors)))


class _Leave(torch.autograd.Function):
    """Stands behind the kernel and keeps the gradient that arrives, for `_Enter`."""

    @staticmethod
    def forward(ctx: Any, arrived: list[Tensor], context: Tensor) -> Tensor:
        ctx.arrived = arrived
        return context.view_as(context)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, Tensor]:
        if torch.is_grad_enabled():
            ctx.arrived.append(gradients[0])
        return None, gradients[0]
