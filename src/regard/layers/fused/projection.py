"""Several linear maps of the same states as one matrix product: query, key and value, or a memory for every layer."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.fused.choose import product_dtype, serves
from regard.layers.fused.operations import project_rows


def project(
    states: Float[Tensor, "batch length size"], maps: Sequence[nn.Module]
) -> list[Float[Tensor, "batch length _"]]:
    """Give what each map makes of the states.

    >>> [item.shape[-1] for item in project(torch.zeros(1, 2, 4), [nn.Linear(4, 3), nn.Linear(4, 5)])]
    [3, 5]
    """
    linears = [item for item in maps if type(item) is nn.Linear and item.in_features == states.size(-1)]
    if len(linears) < len(maps) or not serves(states, linears):
        return [item(states) for item in maps]
    dtype = product_dtype(states)
    weight = packed([linear.weight for linear in linears]).to(dtype)
    bias = packed_bias(linears)
    parts = project_rows(states.to(dtype).flatten(0, -2), weight, bias, [linear.out_features for linear in linears])
    return [part.unflatten(0, states.shape[:-1]) for part in parts]


def packed(tensors: Sequence[Float[Tensor, "..."]]) -> Float[Tensor, "..."]:
    """Join tensors along their first axis."""
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))


def packed_bias(linears: Sequence[nn.Linear]) -> Float[Tensor, " columns"] | None:
    """Join the biases, zeros where a map has none; None where no map has one."""
    if all(linear.bias is None for linear in linears):
        return None
    if len(linears) == 1:
        return linears[0].bias
    biases = [item.weight.new_zeros(item.out_features) if item.bias is None else item.bias for item in linears]
    return packed([bias.float() for bias in biases])
