"""Answers to chapters 16 to 21."""

import math
from collections import Counter

import torch
from torch import Tensor


def split_heads(vectors: Tensor, heads: int) -> Tensor:
    """Answer 16.1."""
    batch, words, size = vectors.shape
    return vectors.view(batch, words, heads, size // heads).transpose(1, 2)


def multi_head(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Answer 16.2."""
    contexts = []
    for one, two, three in zip(query.chunk(heads, -1), key.chunk(heads, -1), value.chunk(heads, -1), strict=True):
        contexts.append(torch.softmax(one @ two.T / one.size(-1) ** 0.5, dim=-1) @ three)
    return torch.cat(contexts, dim=-1)


def multi_head_parameters(size: int, heads: int) -> int:
    """Answer 16.3."""
    return 4 * (size * size + size)


def normalize_layer(states: Tensor) -> Tensor:
    """Answer 17.1."""
    centered = states - states.mean(-1, keepdim=True)
    return centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def residual(states: Tensor, matrix: Tensor, norm: str) -> Tensor:
    """Answer 17.2."""

    def normalized(x: Tensor) -> Tensor:
        centered = x - x.mean(-1, keepdim=True)
        return centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()

    return normalized(states + states @ matrix) if norm == "post" else states + normalized(states) @ matrix


def learning_rate(step: int, size: int, warm_up: int) -> float:
    """Answer 17.3."""
    return float(size**-0.5 * min(step**-0.5, step * warm_up**-1.5))


def cut_patches(image: Tensor, size: int) -> Tensor:
    """Answer 18.1."""
    patches = [
        image[:, top : top + size, left : left + size].flatten()
        for top in range(0, image.size(1), size)
        for left in range(0, image.size(2), size)
    ]
    return torch.stack(patches)


def attend_to_image(words: Tensor, patches: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    """Answer 18.2."""
    scores = (words @ query_map) @ (patches @ key_map).T / query_map.size(-1) ** 0.5
    return torch.softmax(scores, dim=-1) @ (patches @ value_map)


def map_of_word(weights: Tensor, rows: int, size: int) -> Tensor:
    """Answer 18.3."""
    return weights.view(rows, -1).repeat_interleave(size, 0).repeat_interleave(size, 1)


def squeeze_and_excite(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Answer 19.1."""
    gate = torch.sigmoid(second @ torch.relu(first @ features.mean((1, 2))))
    return features * gate[:, None, None]


def channel_gate(features: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Answer 19.2."""
    mean, largest = features.mean((1, 2)), features.amax((1, 2))
    return torch.sigmoid(second @ torch.relu(first @ mean) + second @ torch.relu(first @ largest))


def spatial_gate(features: Tensor, kernel: Tensor) -> Tensor:
    """Answer 19.3."""
    pictures = torch.stack([features.mean(0), features.amax(0)])
    convolved = torch.nn.functional.conv2d(pictures[None], kernel[None], padding=kernel.size(-1) // 2)
    return torch.sigmoid(convolved)[0, 0]


def inverse_document_frequency(documents: list[list[str]], word: str) -> float:
    """Answer 20.1."""
    count = sum(word in document for document in documents)
    return math.log(len(documents) / count) if count else 0.0


def static_weights(documents: list[list[str]], text: list[str]) -> Tensor:
    """Answer 20.2."""

    def rarity(word: str) -> float:
        count = sum(word in document for document in documents)
        return math.log(len(documents) / count) if count else 0.0

    weights = torch.tensor([rarity(word) for word in text])
    return weights / weights.sum() if weights.sum() > 0 else weights


def smooth_weights(documents: list[list[str]], text: list[str]) -> dict[str, float]:
    """Answer 20.3."""
    weights = {}
    for word, count in Counter(text).items():
        number = sum(word in document for document in documents)
        if number:
            weights[word] = count * (math.log((1 + len(documents)) / (1 + number)) + 1)
    length = math.sqrt(sum(weight**2 for weight in weights.values()))
    return {word: weight / length for word, weight in weights.items()}


def attention_operations(length: int, size: int) -> int:
    """Answer 21.1."""
    return 3 * length * size**2 + 2 * length**2 * size


def crossover(size: int) -> int:
    """Answer 21.2."""
    return size + 1


def cache_bytes(layers: int, key_value_heads: int, head_size: int, length: int, bytes_each: int) -> int:
    """Answer 21.3."""
    return 2 * layers * key_value_heads * head_size * length * bytes_each
