r"""Mixing: how much of each token's state comes from which other, layer by layer, with what is carried along.

$$\tilde A_l = \tfrac12 A_l + \tfrac12 I$$

where $A_l$ is the mean over the heads of layer $l$, its rows summing to one, and $I$ the residual connection. `rollout`
multiplies these matrices, `flow` sends water through them.

A block of a decoder that attends to a source mixes twice: its own tokens, then the source's in. Source and target
tokens stand in one row, so that a square matrix says either, and those of the encoder leave the target as it is.

Reference: Abnar and Zuidema (2020), section 3, arXiv:2005.00928.
Differs: the paper has encoders alone; for decoders the same rule is carried on.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.drawing.map import check_index, numbered, words_of
from regard.inspection.trace.trace import Call, Trace


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixing:
    """The matrices from the first layer to the last; the tokens they mix, the source's before the target's, if both."""

    matrices: tuple[Float[Tensor, "token token"], ...]
    tokens: tuple[str, ...]
    first_query: int
    """From which token on one asks about last states: 0, or where the target begins."""


def mixing(
    trace: Trace, *, decoder: Trace | None = None, cross: Trace | None = None, example: int = 0, carried: float = 0.5
) -> Mixing:
    """Give the matrices of a stack of self-attention layers, or of an encoder and a decoder that attends to it.

    `trace` has one call per layer, in order; so have, for an encoder with a decoder, `decoder` (its self-attention) and
    `cross`. `joined` makes such traces of word by word decoding. `carried` is the share of the residual connection.
    """
    if not 0 <= carried < 1:
        raise ArgumentError(f"`carried` must be a share, from 0 to below 1; received {carried}.")
    if decoder is None or cross is None or len(decoder) != len(cross):
        counts = [0 if item is None else len(item) for item in (decoder, cross)]
        if counts != [0, 0]:
            raise ArgumentError(
                f"`decoder` and `cross` must both have one call for each block; received {counts[0]} and {counts[1]}."
            )
        stack, words = _stack("trace", trace, example)
        return Mixing(matrices=tuple(_carry(item, carried) for item in stack), tokens=words, first_query=0)
    encoder, source = _stack("trace", trace, example)
    own, target = _stack("decoder", decoder, example)
    size = (len(source), len(target))
    matrices = [_embed(size, top=_carry(item, carried)) for item in encoder]
    for inner, call in zip(own, cross, strict=True):
        matrices += [_embed(size, bottom=_carry(inner, carried)), _across(_mean(call, example), size, call, carried)]
    return Mixing(matrices=tuple(matrices), tokens=source + target, first_query=len(source))


def _stack(name: str, trace: Trace, example: int) -> tuple[list[Tensor], tuple[str, ...]]:
    """Take the weights of layers of self-attention, each called once, over the tokens that count."""
    if not len(trace) or len(trace) != len(trace.layers):
        raise ArgumentError(
            f"`{name}` must have one call for each layer, and a layer; received {len(trace)} calls of "
            f"{len(trace.layers)} layers. Choose layers by trace[pattern]; joined(trace) joins word by word steps."
        )
    tables = [_mean(call, example) for call in trace]
    for call, table in zip(trace, tables, strict=True):
        if table.size(0) != table.size(1) or table.shape != tables[0].shape:
            raise ArgumentError(
                f"`{name}` must hold self-attention over {tables[0].size(1)} tokens; received {table.size(0)} queries "
                f"× {table.size(1)} keys in {call.layer}. Choose layers by trace[pattern]."
            )
    words = words_of(trace[0].key_labels or trace[0].query_labels, example)
    tokens = numbered(words, tables[0].size(0))
    return [table[: len(tokens), : len(tokens)] for table in tables], tokens


def _mean(call: Call, example: int) -> Float[Tensor, "query key"]:
    """Give the mean over heads, its rows made to sum to one; a row with nothing to attend to stays zero."""
    check_index("example", example, call.weights.size(0))
    mean = call.weights[example].detach().double().cpu().mean(0)
    return mean / mean.sum(-1, keepdim=True).clamp_min(torch.finfo(mean.dtype).tiny)


def _carry(weights: Tensor, carried: float) -> Tensor:
    """Add the residual connection; a token that attended to nothing is carried whole."""
    own = torch.eye(len(weights), dtype=weights.dtype)
    mixed = carried * own + (1 - carried) * weights
    return torch.where(weights.sum(-1, keepdim=True) > 0, mixed / mixed.sum(-1, keepdim=True), own)


def _embed(size: tuple[int, int], *, top: Tensor | None = None, bottom: Tensor | None = None) -> Tensor:
    """Put a matrix of source or target tokens among both."""
    source, target = size
    blocks = [
        torch.eye(source, dtype=torch.double) if top is None else top,
        torch.eye(target, dtype=torch.double) if bottom is None else bottom,
    ]
    placed: Tensor = torch.block_diag(*blocks)
    return placed


def _across(weights: Tensor, size: tuple[int, int], call: Call, carried: float) -> Tensor:
    """Mix the source into the target."""
    source, target = size
    if weights.size(0) < target or weights.size(1) < source:
        raise ArgumentError(
            f"`cross` must have weights for {target} target and {source} source tokens; received {weights.size(0)} "
            f"queries × {weights.size(1)} keys in {call.layer}."
        )
    attended = weights[:target, :source]
    matrix = torch.eye(source + target, dtype=torch.double)
    some = attended.sum(-1, keepdim=True) > 0
    matrix[source:, :source] = (1 - carried) * attended
    matrix[source:, source:] = torch.where(some, carried, 1.0) * torch.eye(target, dtype=torch.double)
    return matrix / matrix.sum(-1, keepdim=True)
