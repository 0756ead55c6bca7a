"""What a training pass gives, in one shape for all models, and the checks of what it is given."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from regard.errors import ArgumentError, ArgumentTypeError


class Read(NamedTuple):
    """A target read along its source, up to the output matrix."""

    features: Float[Tensor, "batch target features"]
    """What the output matrix reads."""
    weights: Float[Tensor, "batch layers heads target source"] | None
    """How much each target token attended to each source token, if asked for and if the model attends."""


class Predicted(NamedTuple):
    """What a training pass gives when asked for its weights."""

    logits: Float[Tensor, "batch target vocabulary"]
    """Of the word after each target token."""
    weights: Float[Tensor, "batch layers heads target source"] | None
    """How much each target token attended to each source token; None where the model does not attend."""


def log_probabilities(logits: Float[Tensor, "*batch vocabulary"]) -> Float[Tensor, "*batch vocabulary"]:
    """Normalize logits, in float32 at least: half precision cannot tell apart the likeliest of many words."""
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def check_some(name: str, tokens: Int[Tensor, "..."]) -> None:
    """Raise unless there is a token to read."""
    if tokens.ndim != 2 or not tokens.size(1):
        raise ArgumentError(
            f"`{name}` must have shape (rows, tokens) with at least one token; received {tuple(tokens.shape)}."
        )


def check_lengths(lengths: Shaped[Tensor, "..."], source: Int[Tensor, "batch source"]) -> None:
    """Raise unless there is a length for each source; its size is checked on a CPU only, where that is free."""
    if lengths.dtype.is_floating_point or lengths.dtype == torch.bool:
        raise ArgumentTypeError(f"`lengths` must be a tensor of integers; received {lengths.dtype}.")
    batch, longest = source.shape
    if tuple(lengths.shape) != (batch,):
        raise ArgumentError(f"`lengths` must have one number per row, ({batch},); received {tuple(lengths.shape)}.")
    if torch.compiler.is_compiling() or lengths.device.type != "cpu" or not batch:
        return
    low, high = int(lengths.min()), int(lengths.max())
    if low < 0 or high > longest:
        raise ArgumentError(
            f"`lengths` must be from 0 to the length of `source`, {longest}; received numbers from {low} to {high}."
        )


def check_same_rows(source: Int[Tensor, "batch source"], target: Int[Tensor, "rows target"]) -> None:
    """Raise unless there is a target for each source."""
    if source.size(0) != target.size(0):
        raise ArgumentError(
            f"`target` must have one row for each of the {source.size(0)} rows of `source`; received {target.size(0)}."
        )
