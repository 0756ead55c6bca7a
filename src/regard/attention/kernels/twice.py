"""Second derivatives for kernels that have none."""

from collections.abc import Callable, Sequence
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


def differentiable_twice_apart(kernel: Computation, plain: Computation, *tensors: Tensor) -> Tensor:
    """Do the same for a compiled kernel, whose own backward pass must not even run where a second derivative is wanted.

    Its graph is kept apart, on leaves of its own, and used up by the first backward pass; a further one, over a graph
    that was retained, is by `plain` too.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = differentiable_twice_apart(torch.square, lambda x: x**2, x)
    >>> (slope,) = torch.autograd.grad(y, x, create_graph=True)
    >>> torch.autograd.grad(slope, x), torch.autograd.grad(y, x, retain_graph=True), torch.autograd.grad(y, x)
    ((tensor(2.),), (tensor(6.),), (tensor(6.),))
    """
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return kernel(*tensors)
    return _Apart.apply(kernel, plain, *tensors)  # type: ignore[no-any-return, no-untyped-call]


def partial_gradients(
    plain: Computation, tensors: Sequence[Tensor | None], needs: Sequence[bool], gradient: Tensor | Sequence[Tensor]
) -> list[Tensor | None]:
    """Differentiate `plain` with respect to each tensor that needs it, the others held fixed.

    The tensors of one call may depend on each other: a key that is also the value, a bias computed from the query.
    Autograd would follow those histories and count them here, though the graph outside counts them too. So each tensor
    is differentiated through a view of its own, at which its history ends.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> [slope.detach() for slope in partial_gradients(torch.mul, [x, x * 2], [True, True], torch.ones(()))]
    [tensor(6.), tensor(3.)]
    """
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        views = [tensor if tensor is None else tensor.view_as(tensor) for tensor in tensors]
        needed = [view for view, need in zip(views, needs, strict=True) if need and view is not None]
        computed = iter(torch.autograd.grad(plain(*views), needed, gradient, create_graph=again))
    return [next(computed) if need else None for need in needs]


class _Enter(torch.autograd.Function):
    """Stands before the kernel and passes its gradients on.

    Where a second derivative is wanted, it drops them and computes them anew by plain operations, from the gradient
    that arrived at `_Leave`, behind the kernel.
    """

    @staticmethod
    def forward(ctx: Any, arrived: list[Tensor], plain: Computation, *tensors: Tensor | None) -> Any:
        ctx.save_for_backward(*tensors)
        ctx.arrived, ctx.plain = arrived, plain
        inside = tuple(tensor if tensor is None else tensor.view_as(tensor) for tensor in tensors)
        # Torch's kernels leave their fused path for a bias that seems to want a gradient.
        needs = ctx.needs_input_grad[2:]
        constant = [view for view, need in zip(inside, needs, strict=True) if view is not None and not need]
        ctx.mark_non_differentiable(*constant)
        return inside

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        if not torch.is_grad_enabled():
            return None, None, *gradients
        needs = ctx.needs_input_grad[2:]
        return None, None, *partial_gradients(ctx.plain, ctx.saved_tensors, needs, ctx.arrived.pop())


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


class _Apart(torch.autograd.Function):
    """Runs the kernel on leaves of its own and differentiates it there."""

    @staticmethod
    def forward(ctx: Any, kernel: Computation, plain: Computation, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        with torch.enable_grad():
            needs = ctx.needs_input_grad[2:]
            leaves = [tensor.detach().requires_grad_(need) for tensor, need in zip(tensors, needs, strict=True)]
            context = kernel(*leaves)
        ctx.plain, ctx.graph = plain, (leaves, context)
        return context.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or ctx.graph is None:
            needs = ctx.needs_input_grad[2:]
            return None, None, *partial_gradients(ctx.plain, ctx.saved_tensors, needs, gradients[0])
        (leaves, context), ctx.graph = ctx.graph, None
        trained = [leaf for leaf in leaves if leaf.requires_grad]
        result = iter(torch.autograd.grad(context, trained, gradients[0]))
        return None, None, *(next(result) if leaf.requires_grad else None for leaf in leaves)
