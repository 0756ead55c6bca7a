"""Forced decoding: what a model thinks of a given output, and where it looks while it hears it."""

import torch
from jaxtyping import Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.models.sequence.protocol import AnyModel


@torch.no_grad()
def force(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    target_input: Int[Tensor, "batch target"],
    target_output: Int[Tensor, "batch target"],
    target_lengths: Int[Tensor, " batch"],
    *,
    weights: bool = False,
) -> list[Hypothesis]:
    r"""Say what is given, token by token, and report how likely each was.

    $$\log p(y \mid x) = \sum_i \log p(y_i \mid y_{<i}, x)$$

    `target_input` opens with the start token, `target_output` closes with the end token. Row $i$ of the weights is
    where the model looked when it was about to say $y_i$. The score is the mean over tokens, what search ranks by.
    """
    memory = model.encode(source, lengths)
    state = model.start(memory, capacity=target_input.size(1))
    log_probabilities, _, attended = model.step(target_input, state, memory, weights=weights)
    of_given = log_probabilities.gather(-1, target_output.unsqueeze(-1)).squeeze(-1)
    result = []
    for row, (width, height) in enumerate(zip(lengths.tolist(), target_lengths.tolist(), strict=True)):
        result.append(
            Hypothesis(
                tokens=tuple(target_output[row, :height].tolist()),
                log_probabilities=tuple(of_given[row, :height].tolist()),
                finished=True,
                score=float(of_given[row, :height].mean()),
                weights=None if attended is None else attended[row, ..., :height, :width],
            )
        )
    return result
