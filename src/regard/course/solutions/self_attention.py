"""Answers to chapters 11 to 15."""

import math

import torch
from torch import Tensor


def mix_by_likeness(vectors: Tensor) -> Tensor:
    """Answer 11.1."""
    return torch.softmax(vectors @ vectors.T, dim=-1) @ vectors


def asymmetry(vectors: Tensor) -> float:
    """Answer 11.2."""
    weights = torch.softmax(vectors @ vectors.T, dim=-1)
    return float((weights - weights.T).abs().max())


def positive_information(counts: Tensor) -> Tensor:
    """Answer 11.3."""
    joint = counts / counts.sum()
    ratio = joint / (joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True))
    return ratio.nan_to_num(1.0).clamp_min(1.0).log()


def self_attention(vectors: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    """Answer 12.1."""
    query, key, value = vectors @ query_map, vectors @ key_map, vectors @ value_map
    return torch.softmax(query @ key.T, dim=-1) @ value


def count_parameters(size: int, key_size: int, value_size: int) -> int:
    """Answer 12.2."""
    return size * (2 * key_size + value_size)


def joined_map(query_map: Tensor, key_map: Tensor) -> Tensor:
    """Answer 12.3."""
    return query_map @ key_map.T


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    """Answer 13.1."""
    return query @ key.T / math.sqrt(query.size(-1))


def product_variance(width: int, query_deviation: float, key_deviation: float) -> float:
    """Answer 13.2."""
    return width * query_deviation**2 * key_deviation**2


def softmax_derivative(weights: Tensor) -> Tensor:
    """Answer 13.3."""
    return torch.diag(weights) - weights[:, None] * weights


def causal_mask(queries: int, keys: int) -> Tensor:
    """Answer 14.1."""
    return torch.ones(queries, keys).tril(diagonal=keys - queries).bool()


def masked_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Answer 14.2."""
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return weights.masked_fill(~mask, 0.0)


def packed_mask(documents: Tensor, window: int) -> Tensor:
    """Answer 14.3."""
    back = torch.arange(len(documents))[:, None] - torch.arange(len(documents))
    return (documents[:, None] == documents) & (back >= 0) & (back <= window)


def allowed(ignored: Tensor) -> Tensor:
    """Answer 14.4."""
    return ~ignored[:, None, None, :]


def sinusoidal_table(length: int, size: int) -> Tensor:
    """Answer 15.1."""
    frequencies = 10000 ** (-torch.arange(0, size, 2) / size)
    angle = torch.arange(length)[:, None] * frequencies
    table = torch.zeros(length, size)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
    return table


def shift_matrix(size: int, offset: int) -> Tensor:
    """Answer 15.2."""
    matrix = torch.zeros(size, size)
    for i in range(0, size, 2):
        angle = torch.tensor(offset * 10000 ** (-i / size))
        matrix[i, i], matrix[i, i + 1] = angle.cos(), angle.sin()
        matrix[i + 1, i], matrix[i + 1, i + 1] = -angle.sin(), angle.cos()
    return matrix


def turn_pairs(features: Tensor, position: int) -> Tensor:
    """Answer 15.3."""
    angle = position * 10000 ** (-torch.arange(0, len(features), 2) / len(features))
    first, second = features[0::2], features[1::2]
    turned = torch.zeros(len(features))
    turned[0::2] = first * angle.cos() - second * angle.sin()
    turned[1::2] = first * angle.sin() + second * angle.cos()
    return turned


def alibi_bias(heads: int, length: int) -> Tensor:
    """Answer 15.4."""
    slopes = torch.tensor([2 ** (-8 * (head + 1) / heads) for head in range(heads)])
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    return -slopes[:, None, None] * distance
