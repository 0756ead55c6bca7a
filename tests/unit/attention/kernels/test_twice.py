"""Second derivatives for kernels that have none."""

from typing import Any

import torch
from torch import Tensor

from regard.attention.kernels.twice import differentiable_twice


class Once(torch.autograd.Function):
    """x · y, as a kernel that can be differentiated once only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return gradients[0] * y, gradients[0] * x


def product(x: Tensor, y: Tensor) -> Tensor:
    return differentiable_twice(Once.apply, torch.mul, x, y)


def test_both_derivatives() -> None:
    x, y = torch.randn(3, dtype=torch.float64).requires_grad_(), torch.randn(3, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(product, (x, y))
    assert torch.autograd.gradgradcheck(product, (x, y))


def test_the_first_derivative_is_the_kernels_own() -> None:
    x, y, asked = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0), []

    def plain(x: Tensor, y: Tensor) -> Tensor:
        asked.append(True)
        return x * y

    torch.autograd.grad(differentiable_twice(Once.apply, plain, x, y), x)
    assert not asked
    torch.autograd.grad(differentiable_twice(Once.apply, plain, x, y), x, create_graph=True)
    assert asked


def test_what_needs_no_gradient_is_left_alone() -> None:
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    result = product(x, y)
    (slope,) = torch.autograd.grad(result.square().sum(), x, create_graph=True)
    torch.testing.assert_close(torch.autograd.grad(slope.sum(), x)[0], 2 * y**2)
    assert not product(y, y).requires_grad


def test_two_walks_at_once_do_not_mix_up_their_gradients() -> None:
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    result = product(x, y)
    first = torch.autograd.grad(result, x, torch.ones(3), create_graph=True)[0]
    second = torch.autograd.grad(result, x, torch.full((3,), 2.0), create_graph=True)[0]
    torch.testing.assert_close(second, 2 * first)
    torch.testing.assert_close(torch.autograd.grad(second.sum(), y)[0], torch.full((3,), 2.0))
    torch.testing.assert_close(torch.autograd.grad(first.sum(), y)[0], torch.ones(3))
