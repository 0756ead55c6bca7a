"""Answers to chapters 5 to 10."""

import torch
from torch import Tensor


def softmax(scores: Tensor) -> Tensor:
    """Answer 5.1."""
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def soft_lookup(query: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    """Answer 5.2."""
    return torch.softmax(keys @ query / temperature, dim=0) @ values


def weight_entropy(weights: Tensor) -> Tensor:
    """Answer 5.3."""
    return -(weights * weights.clamp_min(1e-30).log()).sum(-1)


def additive_scores(state: Tensor, memory: Tensor, state_map: Tensor, memory_map: Tensor, vector: Tensor) -> Tensor:
    """Answer 6.1."""
    return torch.tanh(state_map @ state + memory @ memory_map.T) @ vector


def padded_context(scores: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
    """Answer 6.2."""
    real = torch.arange(scores.size(1)) < lengths[:, None]
    weights = torch.softmax(scores.masked_fill(~real, -torch.inf), dim=-1)
    return (weights[:, :, None] * memory).sum(dim=1)


def links_of(weights: Tensor) -> set[tuple[int, int]]:
    """Answer 6.3."""
    words = weights[:, :-1]
    return {(int(row.argmax()), target) for target, row in enumerate(words)}


def general_scores(state: Tensor, memory: Tensor, matrix: Tensor) -> Tensor:
    """Answer 7.1."""
    return memory @ (state @ matrix)


def predicted_position(state: Tensor, length: int, matrix: Tensor, vector: Tensor) -> Tensor:
    """Answer 7.2."""
    share = 1 / (1 + torch.exp(-(vector * torch.tanh(matrix @ state)).sum()))
    return share * length


def local_weights(scores: Tensor, center: float, half_width: float) -> Tensor:
    """Answer 7.3."""
    distance = torch.arange(len(scores)) - center
    weights = torch.softmax(scores.masked_fill(distance.abs() > half_width, -torch.inf), dim=0)
    return weights * torch.exp(-(distance**2) / (2 * (half_width / 2) ** 2))


def prediction_change(before: Tensor, after: Tensor) -> Tensor:
    """Answer 8.1."""
    return (before - after).abs().sum(-1) / 2


def agreement(one: Tensor, other: Tensor) -> float:
    """Answer 8.2."""
    total, pairs = 0.0, 0
    for i in range(len(one)):
        for j in range(i):
            total += float(torch.sign((one[i] - one[j]) * (other[i] - other[j])))
            pairs += 1
    return total / pairs


def other_weights(weights: Tensor, values: Tensor) -> Tensor:
    """Answer 8.3."""
    constraints = torch.cat([values.T, torch.ones(1, len(values))])
    direction: Tensor = torch.linalg.svd(constraints).Vh[-1]
    limits = [float(-weight / change) for weight, change in zip(weights, direction, strict=True) if change < -1e-6]
    return weights + min(limits) * direction


def kernel_regression(query: Tensor, inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    """Answer 9.1."""
    scores = -((query[:, None] - inputs) ** 2) / (2 * width**2)
    return torch.softmax(scores, dim=-1) @ outputs


def guess_from_others(inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    """Answer 9.2."""
    scores = -((inputs[:, None] - inputs) ** 2) / (2 * width**2)
    scores = scores.masked_fill(torch.eye(len(inputs)).bool(), -torch.inf)
    return torch.softmax(scores, dim=-1) @ outputs


def mean_of_words(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Answer 9.3."""
    real = torch.arange(vectors.size(1)) < lengths[:, None]
    return (vectors * real[:, :, None]).sum(dim=1) / lengths[:, None]


def hop_weights(states: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Answer 10.1."""
    return torch.softmax(second @ torch.tanh(first @ states.T), dim=-1)


def overlap_penalty(weights: Tensor) -> Tensor:
    """Answer 10.2."""
    difference = weights @ weights.T - torch.eye(len(weights))
    return (difference**2).sum()


def weights_without_penalty(hops: int, words: int) -> Tensor:
    """Answer 10.3."""
    weights = torch.zeros(hops, words)
    for hop in range(hops):
        weights[hop, words - 1 - hop] = 1.0
    return weights
