"""Gradient × weight: how much an output would change with each weight, times the weight."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map, map_of
from regard.inspection.readings.joined import joined
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Call, Trace

CAVEAT = (
    "A gradient holds for small changes only, and each weight is moved alone, though a row of weights moves together."
)


def gradient_weighted(
    model: nn.Module,
    run: Callable[[], Tensor],
    *,
    layer: str,
    head: int | None = None,
    example: int = 0,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
) -> Map:
    r"""Multiply each weight of a layer by the gradient of an output with respect to it.

    $$g_{ij} = \alpha_{ij} \frac{\partial y}{\partial \alpha_{ij}}$$

    where $y$ is what `run` gives: one number that it computes by calling the model, such as the log-probability of a
    word. Gradients of parameters are left as they are.

    Reference: Serrano and Smith (2019), arXiv:1906.03731; Chefer, Gur and Wolf (2021), arXiv:2103.15679.
    Differs: from the latter, negative products are kept.

    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(2)[None].requires_grad_()
    >>> gradient_weighted(layer, lambda: layer(x)[0, 0, 1], layer="SelfAttention").values
    tensor([[0.0000, 0.2689], [0.0000, 0.0000]])
    """
    with torch.enable_grad(), record(model, layers=layer, keep_gradients=True) as trace:
        output = run()
    if output.numel() != 1:
        raise ArgumentError(f"`run` must give one number; received shape {tuple(output.shape)}. Choose one of them.")
    if not output.requires_grad or not any(call.weights.requires_grad for call in trace):
        raise ArgumentError(
            "`run` must compute its number in a graph that holds the weights; received one cut from it. Leave out "
            "torch.no_grad(), and let the parameters or the input require gradients."
        )
    weights = [call.weights for call in trace]
    gradients = torch.autograd.grad(output.sum(), [item for item in weights if item.requires_grad], allow_unused=True)
    result = iter(gradients)
    products = [_product(item, next(result) if item.requires_grad else None) for item in weights]
    call = _one_call([replace(call, weights=product) for call, product in zip(trace, products, strict=True)])
    call.label(query=query_labels, key=key_labels)
    map = map_of(call, call.weights, name=f"{layer}, gradient × weight", caveat=CAVEAT, head=head, example=example)
    largest = float(map.values.abs().max()) if map.values.numel() else 0.0
    return replace(map, limits=(-largest, largest) if largest > 0 else (-1.0, 1.0))


def _product(weights: Tensor, gradient: Tensor | None) -> Tensor:
    return torch.zeros_like(weights) if gradient is None else weights.detach() * gradient


def _one_call(calls: list[Call]) -> Call:
    layers = joined(Trace(calls))
    if len(layers) > 1:
        raise ArgumentError(f"`layer` must match one layer; received a pattern of {', '.join(layers.layers)}.")
    return layers[0]
