"""Chapter 21: cost and parallelism."""

import torch

from regard.course.exercise import Exercise, Mistake
from regard.layers import SelfAttention


def attention_operations(length: int, size: int) -> int:
    """Count the multiplications of one self-attention layer over a sentence.

    Three maps of `size` to `size` make Q, K and V; then come `Q Kᵀ` and `α V`. A product of an (a, b) and a (b, c)
    matrix takes a · b · c multiplications. There is no output map; the softmax is not counted.
    """
    counted = 0
    layer = SelfAttention(size)
    for map_ in (layer.query, layer.key, layer.value):
        counted += length * sum(one.numel() for one in map_.parameters())
    return counted + length * size * length + length * length * size


def crossover(size: int) -> int:
    """Give the shortest sentence for which attention costs more than recurrence.

    A recurrent layer takes `2 · length · size²` multiplications: one matrix for the input, one for the state, at
    every word. The products of attention, `Q Kᵀ` and `α V`, take `2 · length² · size`. Give the smallest length for
    which these are more.
    """
    length = 1
    while 2 * length**2 * size <= 2 * length * size**2:
        length += 1
    return length


def cache_bytes(layers: int, key_value_heads: int, head_size: int, length: int, bytes_each: int) -> int:
    """Give the memory that the keys and values of one sequence take in a cache.

    Every layer keeps a key and a value of `head_size` numbers for each key-value head and each position.
    """
    tensor = torch.empty(2, layers, key_value_heads, length, head_size, dtype=torch.uint8, device="meta")
    return tensor.numel() * bytes_each


EXERCISES = (
    Exercise(
        number="21.1",
        title="Count the multiplications",
        reference=attention_operations,
        cases=lambda: [{"length": n, "size": size} for n, size in ((1, 1), (2, 3), (10, 4), (512, 64))],
        hints=(
            "Each map is a product of (length, size) and (size, size).",
            "Q Kᵀ is (length, size) by (size, length).",
        ),
        mistakes=(
            Mistake(
                answer=lambda length, size: 2 * length**2 * size,
                reason="The three maps are left out: 3 · length · size².",
            ),
            Mistake(
                answer=lambda length, size: 3 * length * size**2 + length**2 * size,
                reason="There are two products with length²: the scores, and the sum of the values.",
            ),
        ),
    ),
    Exercise(
        number="21.2",
        title="Where attention becomes dearer",
        reference=crossover,
        cases=lambda: [{"size": size} for size in (1, 2, 8, 64, 512)],
        hints=("Divide both sides by 2 · length · size.",),
        mistakes=(
            Mistake(answer=lambda size: size, reason="At that length both cost the same; it must be more."),
            Mistake(answer=lambda size: size**2, reason="Compare 2 n² d with 2 n d²: which n makes the first larger?"),
        ),
    ),
    Exercise(
        number="21.3",
        title="The size of a cache",
        reference=cache_bytes,
        cases=lambda: [
            {"layers": layers, "key_value_heads": heads, "head_size": size, "length": n, "bytes_each": each}
            for layers, heads, size, n, each in ((1, 1, 1, 1, 4), (2, 4, 16, 10, 4), (32, 8, 128, 4096, 2))
        ],
        hints=("Keys *and* values.",),
        mistakes=(
            Mistake(
                answer=lambda layers, key_value_heads, head_size, length, bytes_each: (
                    layers * key_value_heads * head_size * length * bytes_each
                ),
                reason="Both a key and a value are kept: twice as much.",
            ),
        ),
    ),
)
