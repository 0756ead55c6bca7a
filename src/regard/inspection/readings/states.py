"""Hidden states: what each layer makes of each token, which states are near, and the plane that shows most of them."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ArgumentError

_MAKES_STATES = re.compile(r"(TokenEmbedding|Embeddings|Block|RecurrentEncoder|(?<!Norm)Layer)$")


class Projection(NamedTuple):
    """States on the plane of their first principal components."""

    coordinates: Float[Tensor, "states 2"]
    shares: tuple[float, float]
    """Of the variance, along each axis."""


class Nearest(NamedTuple):
    """For each state the nearest of some others, nearest first."""

    indices: Int[Tensor, "states count"]
    similarities: Float[Tensor, "states count"]


@torch.no_grad()
def record_states(model: nn.Module, run: Callable[[], Any], *, length: int) -> dict[str, Float[Tensor, "tokens size"]]:
    """Give the states of a text of `length` tokens after the embedding and after each layer that reads it.

    `run` calls the model on the one text. A layer is a block of a Transformer or a recurrent encoder; one that was
    called on something else, such as the output so far, is left out, and of several calls the first is taken.
    """
    states: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_: nn.Module, args: Any, output: Any) -> None:
            first = output[0] if isinstance(output, tuple) else output
            if name not in states and isinstance(first, Tensor) and first.shape[:-1] == (1, length):
                states[name] = first[0].detach().float().cpu()

        return hook

    with ExitStack() as stack:
        for name, module in model.named_modules():
            if _MAKES_STATES.search(type(module).__name__):
                stack.callback(module.register_forward_hook(keep(name)).remove)
        run()
    return states


def principal_components(states: Float[Tensor, "states size"]) -> Projection:
    r"""Project states on the plane that keeps most of their variance.

    $$y_i = (x_i - \bar x) V_2, \qquad \tfrac1n \sum_i (x_i - \bar x)(x_i - \bar x)^\top = V \Lambda V^\top$$

    where $V_2$ are the eigenvectors of the two largest eigenvalues, each turned so that its largest entry is positive,
    which makes the picture the same every time; the shares are $\lambda_1, \lambda_2$ over $\sum_k \lambda_k$.

    Reference: Pearson (1901); as in Seq2Seq-Vis, Strobelt et al. (2018), arXiv:1804.09299, section 4.2.

    >>> line = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> [round(share, 4) for share in principal_components(line).shares]
    [1.0, 0.0]
    """
    if states.ndim != 2 or len(states) < 2 or states.size(1) < 2:
        raise ArgumentError(
            f"`states` must be (states, size), at least (2, 2); received {tuple(states.shape)}. Project more states."
        )
    centered = states.double() - states.double().mean(0)
    values, vectors = torch.linalg.eigh(centered.mT @ centered / len(centered))
    plane = vectors[:, [-1, -2]]
    largest = plane.abs().argmax(0)
    plane = plane * plane[largest, [0, 1]].sign()
    total = float(values.clamp_min(0).sum()) or 1.0
    first, second = (max(float(values[index]), 0.0) / total for index in (-1, -2))
    return Projection((centered @ plane).float(), (first, second))


def nearest_states(
    states: Float[Tensor, "states size"], others: Float[Tensor, "others size"], *, count: int
) -> Nearest:
    r"""Find for each state the others that point most the same way.

    $$\cos(x, y) = \frac{x^\top y}{\lVert x \rVert \lVert y \rVert}$$

    Reference: Strobelt et al. (2018), arXiv:1804.09299, section 4.3 (neighborhoods of states).

    >>> near = nearest_states(torch.eye(2), torch.tensor([[0.0, 3.0], [1.0, 1.0]]), count=1)
    >>> near.indices.tolist(), [round(item, 3) for item in near.similarities[:, 0].tolist()]
    ([[1], [0]], [0.707, 1.0])
    """
    if not 1 <= count <= len(others):
        raise ArgumentError(f"`count` must be from 1 to {len(others)}, all others; received {count}.")
    cosines = nn.functional.normalize(states.float(), dim=-1) @ nn.functional.normalize(others.float(), dim=-1).mT
    best = cosines.topk(count, dim=-1)
    return Nearest(best.indices, best.values)
