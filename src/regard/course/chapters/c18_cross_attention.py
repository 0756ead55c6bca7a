"""Chapter 18: cross-attention, and questions about images."""

import torch
from torch import Tensor, nn

from regard.attention import attention
from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import PatchEmbedding


def cut_patches(image: Tensor, size: int) -> Tensor:
    """Cut an image into square patches, row by row, each as one vector.

    `image` is (channels, height, width), both divided by `size`; the result is (patches, channels · size · size).
    Within a patch the features are ordered by channel, then row, then column.
    """
    layer = PatchEmbedding(size, image.size(0), image.size(0) * size * size)
    with torch.no_grad():
        layer.projection.weight.copy_(torch.eye(len(layer.projection.weight)))
        nn.init.zeros_(layer.projection.bias)
        patches: Tensor = layer(image[None]).embedding[0]
    return patches


def _reshaped(image: Tensor, size: int) -> Tensor:
    return image.reshape(-1, image.size(0) * size * size)


def _by_position(image: Tensor, size: int) -> Tensor:
    cut = image.unfold(1, size, size).unfold(2, size, size)
    return cut.permute(1, 2, 3, 4, 0).flatten(0, 1).flatten(1)


def attend_to_image(words: Tensor, patches: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    """Let the words of a question attend to the patches of an image.

    Queries are `words @ query_map`, keys `patches @ key_map`, values `patches @ value_map`; scores are scaled dot
    products. `words` is (words, size), `patches` (patches, image size). The result is (words, value size).
    """
    context: Tensor = attention(words @ query_map, patches @ key_map, patches @ value_map)
    return context


def _from_image(words: Tensor, patches: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    scores = words @ query_map @ (patches @ key_map).T / query_map.size(-1) ** 0.5
    return torch.softmax(scores, 0) @ (patches @ value_map)


def _unscaled(words: Tensor, patches: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    return torch.softmax(words @ query_map @ (patches @ key_map).T, -1) @ (patches @ value_map)


def _question_cases() -> list[Case]:
    return [
        {
            "words": torch.randn(words, size),
            "patches": torch.randn(patches, image),
            "query_map": torch.randn(size, key),
            "key_map": torch.randn(image, key),
            "value_map": torch.randn(image, value),
        }
        for words, size, patches, image, key, value in ((1, 1, 2, 1, 2, 1), (2, 2, 3, 3, 2, 2), (3, 4, 4, 3, 5, 2))
    ]


def map_of_word(weights: Tensor, rows: int, size: int) -> Tensor:
    """Lay a word's weights over the image they are of.

    `weights` is (patches,), row by row, with `rows` rows. Every pixel of a patch of `size` × `size` pixels gets the
    weight of its patch. The result is (rows · size, columns · size).
    """
    grid = weights.view(1, 1, rows, -1)
    return nn.functional.interpolate(grid, scale_factor=float(size), mode="nearest")[0, 0]


EXERCISES = (
    Exercise(
        number="18.1",
        title="Patches",
        reference=cut_patches,
        cases=lambda: [
            {"image": torch.arange(float(c * h * w)).view(c, h, w), "size": size}
            for c, h, w, size in ((1, 2, 2, 1), (1, 2, 4, 2), (2, 4, 4, 2), (3, 4, 6, 2))
        ],
        hints=(
            "Cut both axes in two: (channels, rows, y, columns, x).",
            "Then `permute` to (rows, columns, channels, y, x) and flatten twice.",
        ),
        mistakes=(
            Mistake(answer=_reshaped, reason="A reshape takes strips of neighboring pixels of one row, not squares."),
            Mistake(answer=_by_position, reason="Within a patch the channel must come first."),
        ),
    ),
    Exercise(
        number="18.2",
        title="Words ask, patches answer",
        reference=attend_to_image,
        cases=_question_cases,
        hints=("Queries come from one side, keys and values from the other.",),
        mistakes=(
            Mistake(
                answer=_from_image,
                reason="The softmax runs over the words; each word must share itself out over patches.",
            ),
            Mistake(answer=_unscaled, reason="The scores are not divided by the root of the key size."),
        ),
    ),
    Exercise(
        number="18.3",
        title="A map over the image",
        reference=map_of_word,
        cases=lambda: [
            {"weights": torch.tensor([0.2, 0.8]), "rows": 1, "size": 2},
            {"weights": torch.softmax(torch.randn(6), -1), "rows": 2, "size": 2},
            {"weights": torch.softmax(torch.randn(6), -1), "rows": 3, "size": 3},
        ],
        hints=("`repeat_interleave` repeats each entry beside itself; `repeat` repeats the whole row.",),
        mistakes=(
            Mistake(
                answer=lambda weights, rows, size: weights.view(rows, -1).repeat(size, size),
                reason="That lays copies of the whole map side by side.",
            ),
        ),
    ),
)
