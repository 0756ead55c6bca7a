"""Uniform weights: the baseline that a map must differ from, and what a model predicts with them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.inspection.drawing.map import Map, weights_of
from regard.inspection.trace.attention_layers import layers_with
from regard.inspection.trace.distribution import distribution
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.trace import Call


def uniform(call: Call, *, head: int | None = None, example: int = 0) -> Map:
    """Give every key that may be attended to the same weight: the baseline that a map must differ from to say anything.

    Reference: Wiegreffe and Pinter (2019), section 3.2, arXiv:1908.04626.
    """
    map = weights_of(call, head=head, example=example)
    shares = distribution(torch.zeros_like(map.values), map.mask)
    return replace(
        map, name=f"{map.name}: uniform", values=shares, caveat="No model computed these weights: all keys count alike."
    )


@torch.no_grad()
def predict_with_uniform_weights(
    model: nn.Module, run: Callable[[], Float[Tensor, "..."]], *, layers: Sequence[str] | None = None
) -> Float[Tensor, "..."] | None:
    """Run a model with uniform weights in its attention layers, or in those named; None where there are none.

    `run` calls the model and gives its prediction, which is returned as it is. Masked keys stay masked.

    Reference: Wiegreffe and Pinter (2019), section 3.2, arXiv:1908.04626.
    Differs: the paper trains a model with uniform weights; here a trained one is made to use them.

    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(2)[None]
    >>> predict_with_uniform_weights(layer, lambda: layer(x))
    tensor([[[0.5000, 0.5000], [0.5000, 0.5000]]])
    """
    names = layers_with(model) if layers is None else layers
    if not names:
        return None
    with intervene(model, weights=dict.fromkeys(names, "uniform")):
        return run()
