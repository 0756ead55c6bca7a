"""The operations that puzzles are made of: each puzzle allows some of them, and every operator and index of torch.

`from regard.course.operations import *` brings all into a file of answers. All work on tensors of any leading axes;
rows are along the last axis.
"""

import math

import torch
from torch import Tensor

__all__ = [
    "abs",
    "arange",
    "attend",
    "causal",
    "clip",
    "cos",
    "exp",
    "pi",
    "row_max",
    "row_sum",
    "sigmoid",
    "sin",
    "softmax",
    "tanh",
    "total",
    "where",
]

pi = math.pi
"""Half the way round a circle of radius one."""


def arange(count: int) -> Tensor:
    """Give the numbers 0, 1, … below `count`."""
    return torch.arange(count)


def where(condition: Tensor, one: Tensor | float, other: Tensor | float) -> Tensor:
    """Take `one` where the condition holds, else `other`."""
    return torch.where(condition, torch.as_tensor(one), torch.as_tensor(other))


def exp(value: Tensor) -> Tensor:
    """Take e to the power of each number."""
    return value.float().exp()


def tanh(value: Tensor) -> Tensor:
    """Take the hyperbolic tangent of each number."""
    return value.tanh()


def sigmoid(value: Tensor) -> Tensor:
    """Take 1 / (1 + exp(−x)) of each number."""
    return value.sigmoid()


def sin(value: Tensor) -> Tensor:
    """Take the sine of each number."""
    return value.sin()


def cos(value: Tensor) -> Tensor:
    """Take the cosine of each number."""
    return value.cos()


def abs(value: Tensor) -> Tensor:
    """Take each number without its sign."""
    return value.abs()


def clip(value: Tensor, low: float, high: float) -> Tensor:
    """Bring each number between two others."""
    return value.clamp(low, high)


def row_sum(value: Tensor) -> Tensor:
    """Add up each row; the last axis stays, with one number."""
    return value.sum(dim=-1, keepdim=True)


def row_max(value: Tensor) -> Tensor:
    """Take the largest number of each row; the last axis stays, with one number."""
    return value.amax(dim=-1, keepdim=True)


def total(value: Tensor) -> Tensor:
    """Add up all numbers."""
    return value.sum()


def softmax(scores: Tensor) -> Tensor:
    """Make each row positive with a sum of one: puzzle 3, once it is solved."""
    return torch.softmax(scores.float(), dim=-1)


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend by scaled dot products: puzzle 4, once it is solved."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)


def causal(count: int) -> Tensor:
    """Let each position attend to itself and to those before it: puzzle 5, once it is solved."""
    return torch.ones(count, count, dtype=torch.bool).tril()
