"""Forced decoding: the probability of a known output, and what the model attends to at each of its tokens."""

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
    r"""Score a known output token by token: how likely each was, given those before it.

    $$\log p(y \mid x) = \sum_i \log p(y_i \mid y_{<i}, x)$$

    `target_input` opens with the start token, `target_output` closes with the end token. Row $i$ of the weights is
    what the model attended to when it predicted $y_i$. The score is the mean over tokens, what search ranks by.
    """
    memory = model.encode(source, lengths)
    state = model.start(memory, capacity=target_input.size(1))
    log_probabilities, _, step_weights = model.step(target_input, state, memory, weights=weights)
    of_target = log_probabilities.gather(-1, target_output.unsqueeze(-1)).squeeze(-1)
    result = []
    for row, (width, height) in enumerate(zip(lengths.tolist(), target_lengths.tolist(), strict=True)):
        result.append(
            Hypothesis(
                tokens=tuple(target_output[row, :height].tolist()),
                log_probabilities=tuple(of_target[row, :height].tolist()),
                finished=True,
                score=float(of_target[row, :height].mean()),
                weights=None if step_weights is None else step_weights[row, ..., :height, :width],
            )
        )
    return result
