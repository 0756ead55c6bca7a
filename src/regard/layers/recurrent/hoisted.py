r"""A linear layer that is called once per time step, whose matrix gets its gradient in one product after the loop.

$$y_t = x_t W^\top, \qquad \frac{\partial L}{\partial W} = \sum_t \Big(\frac{\partial L}{\partial y_t}\Big)^\top x_t$$

Autograd would multiply and add at every step: two launches each, and as many sums of a matrix's size.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

#: A linear map.
Map: TypeAlias = Callable[[Tensor], Tensor]


@contextmanager
def hoisted(loop: nn.Module, inputs: Float[Tensor, "rows steps size"]) -> Iterator[None]:
    """Let every linear layer of `loop` be a `HoistedLinear` while it goes through `inputs`, where that pays.

    On a GPU launches are what a step of training takes; elsewhere, and in a loop of one step, nothing changes.
    """
    if not pays(inputs):
        yield
        return
    linears = [item for item in loop.modules() if type(item) is nn.Linear and item.weight.requires_grad]
    for linear in linears:
        linear.__dict__["forward"] = HoistedLinear(linear.weight, linear.bias)
    try:
        yield
    finally:
        for linear in linears:
            del linear.__dict__["forward"]


def pays(inputs: Float[Tensor, "rows steps size"]) -> bool:
    """Return whether launches of gradients are what a loop over these costs."""
    return inputs.is_cuda and inputs.size(1) > 1 and torch.is_grad_enabled() and not torch.compiler.is_compiling()


def make_linear(
    weight: Float[Tensor, "output_size input_size"],
    bias: Float[Tensor, " output_size"] | None,
    inputs: Float[Tensor, "rows steps size"],
) -> Map:
    """Give the map of a matrix that is no layer of its own, for a loop over `inputs`."""
    return HoistedLinear(weight, bias) if pays(inputs) else partial(F.linear, weight=weight, bias=bias)


class HoistedLinear:
    """A linear map for the steps of one loop. The result can be differentiated once.

    >>> linear = nn.Linear(3, 2)
    >>> step = HoistedLinear(linear.weight, linear.bias)
    >>> first, second = step(torch.ones(1, 3)), step(torch.zeros(1, 3))
    >>> (first + 2 * second).sum().backward()
    >>> linear.weight.grad, linear.bias.grad
    (tensor([[1., 1., 1.],
            [1., 1., 1.]]), tensor([3., 3.]))
    """

    def __init__(
        self, weight: Float[Tensor, "output_size input_size"], bias: Float[Tensor, " output_size"] | None
    ) -> None:
        self._steps: dict[int, tuple[int, Tensor, Tensor]] = {}
        self._count = 0
        device, dtype = weight.device.type, weight.dtype
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else dtype
        self._weight = _Matrix.apply(weight.to(dtype), self._steps)  # type: ignore[no-untyped-call]
        self._bias = None if bias is None else bias.to(dtype)

    def __call__(self, inputs: Float[Tensor, "*rows input_size"]) -> Float[Tensor, "*rows output_size"]:
        """Map the inputs of one step."""
        self._count += 1
        arguments = (inputs.to(self._weight.dtype), self._weight, self._steps, self._count)
        result: Tensor = _Step.apply(*arguments)  # type: ignore[no-untyped-call]
        return result if self._bias is None else result + self._bias


class _Matrix(torch.autograd.Function):
    """Hands the matrix through; its gradient is computed here, when that of every step is known."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, steps: dict[int, tuple[int, Tensor, Tensor]]) -> Tensor:
        ctx.steps, ctx.shape = steps, weight.shape
        ctx.set_materialize_grads(False)
        return weight.view_as(weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: Any) -> tuple[Tensor | None, None]:
        if not ctx.steps:
            return None, None
        now = torch._C._current_graph_task_id()  # others are left of passes that asked for no gradient of the matrix
        steps = [(inputs, gradient) for task, inputs, gradient in ctx.steps.values() if task == now]
        if not steps:
            return None, None
        sides = zip(*steps, strict=True)
        inputs, gradients = (torch.cat([item.flatten(0, -2) for item in items]) for items in sides)
        ctx.steps.clear()
        return gradients.mT @ inputs, None


class _Step(torch.autograd.Function):
    """One product; keeps its inputs and the gradient of its result for the matrix."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, steps: dict[int, tuple[int, Tensor, Tensor]], number: int
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.steps, ctx.number = steps, number
        return inputs @ weight.mT

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        inputs, weight = ctx.saved_tensors
        ctx.steps[ctx.number] = (torch._C._current_graph_task_id(), inputs, gradient)
        return gradient @ weight, None, None, None
