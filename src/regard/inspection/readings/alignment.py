"""From weights over tokens to links between words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.data.corpora.pair import Link
from regard.errors import ArgumentError
from regard.inspection.readings.words_of_tokens import join

Step: TypeAlias = Literal["produced", "read"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Which of a model's weights are read as an alignment, and how."""

    step: Step = "produced"
    """When the model's weights count: as it is about to predict a word, or one step on, when the word is its input."""
    layer: int | None = None
    """From 0; none: the only one, or the last but one of several."""
    head: int | None = None
    """From 0; none: the mean over all heads."""
    norms: bool = False
    """Scale weights by the norms of the values they carry."""
    threshold: float | None = None
    """Link a target word to every source word with at least this weight; none: to the heaviest alone."""

    def __post_init__(self) -> None:
        if self.step not in ("produced", "read"):
            raise ArgumentError(f'`step` must be produced or read; received "{self.step}".')
        for name in ("layer", "head"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise ArgumentError(f"`{name}` must be at least 0; received {number}.")
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise ArgumentError(f"`threshold` must be above 0, at most 1; received {self.threshold:g}.")

    def __str__(self) -> str:
        """Write what differs from the default, as `--set` takes it.

        >>> print(Reading(step="read", layer=2))
        step=read layer=2
        """
        chosen = [f"step={self.step}"]
        chosen += [
            f"{name}={value}" for name in ("layer", "head", "threshold") if (value := getattr(self, name)) is not None
        ]
        return " ".join(chosen + ["norms=true"] * self.norms)


PLAIN = Reading()
"""What is read where nothing is chosen."""


def word_weights(
    weights: Float[Tensor, "layers heads target source"],
    source_words: Sequence[int],
    target_words: Sequence[int],
    *,
    num_words: tuple[int, int],
    step: Step = "produced",
    norms: Float[Tensor, "layers heads source"] | None = None,
) -> Float[Tensor, "layers heads target_words source_words_and_end"]:
    r"""Merge the weights of tokens into those of words: sums over a source word, means over a target word.

    $$\bar\alpha_{vw} = \frac{1}{|v|} \sum_{i \in v} \sum_{j \in w} \alpha_{r(i)\,j}, \qquad
    r(i) = i \text{ (produced)}, \quad r(i) = i + 1 \text{ (read)}$$

    Row $i$ of `weights` are those with which the model predicts token $i$, `</s>` last, and has read the tokens
    before it alone; so in row $i + 1$ token $i$ is its newest input. The last column is what fell on `</s>`: no word.
    `source_words` and `target_words` say for each token but `</s>` which of the `num_words` it is part of.

    With `norms` weights are scaled by them.

    Reference: Chen et al. (2020), figure 1, arXiv:2004.14837 (both steps); Garg et al. (2019), arXiv:1909.02074 (the
    mean over the heads of the last layer but one); Kobayashi et al. (2020), equation 4, arXiv:2004.10102 (norms).

    >>> weights = torch.tensor([[[[0.5, 0.3, 0.2], [0.1, 0.7, 0.2]]]])  # a word in two pieces, and </s>, on each side
    >>> word_weights(weights, [0, 0], [0], num_words=(1, 1))
    tensor([[[[0.8000, 0.2000]]]])
    """
    num_source, num_target = num_words
    scaled = weights if norms is None else weights * norms.unsqueeze(-2)
    rows = scaled[..., :-1, :] if step == "produced" else scaled[..., 1:, :]
    merged = join(rows, [*source_words, num_source], num_source + 1, axis=-1)
    return join(merged, target_words, num_target, axis=-2, mean=True)


def choose_weights(
    weights: Float[Tensor, "layers heads target source"], reading: Reading
) -> Float[Tensor, "target source"]:
    """Take the layer and head of a reading; rows of scaled weights are made to sum to one again."""
    layers, heads = weights.shape[:2]
    layer = max(layers - 2, 0) if reading.layer is None else reading.layer
    _check_index("layer", layer, layers)
    if reading.head is not None:
        _check_index("head", reading.head, heads)
    chosen = weights[layer].mean(0) if reading.head is None else weights[layer, reading.head]
    if not reading.norms:
        return chosen
    return chosen / chosen.sum(-1, keepdim=True).clamp_min(torch.finfo(chosen.dtype).tiny)


def link_matrix(
    weights: Float[Tensor, "*batch target source_and_end"], *, threshold: float | None = None
) -> Bool[Tensor, "*batch target source"]:
    """Mark for every target word its heaviest source word, or all that weigh at least `threshold`.

    The last column, `</s>`, is left out: without a threshold a word that attends to it is still linked, to the heaviest
    of the words. A row of zeros has no link.

    >>> link_matrix(torch.tensor([[0.1, 0.3, 0.6], [0.7, 0.2, 0.1]]))
    tensor([[False,  True],
            [ True, False]])
    """
    on_words = weights[..., :-1]
    if not on_words.numel():
        return torch.zeros_like(on_words, dtype=torch.bool)
    if threshold is not None:
        return on_words >= threshold
    heaviest, index = on_words.max(-1, keepdim=True)
    return torch.zeros_like(on_words, dtype=torch.bool).scatter_(-1, index, heaviest > 0)


def links_of(matrix: Bool[Tensor, "target source"]) -> tuple[Link, ...]:
    """List the links of a matrix, source before target.

    >>> print(*links_of(torch.tensor([[False, True], [True, False]])))
    0-1 1-0
    """
    return tuple(Link(source, target, sure=True) for source, target in matrix.mT.nonzero().tolist())


def diagonal_links(num_source: int, num_target: int) -> tuple[Link, ...]:
    """Link every target word to the source word that stands as far along its sentence: the blindest of baselines.

    >>> print(*diagonal_links(2, 4))
    0-0 0-1 1-2 1-3
    """
    if not num_source:
        return ()
    return tuple(
        Link((2 * target + 1) * num_source // (2 * num_target), target, sure=True) for target in range(num_target)
    )


def _check_index(name: str, number: int, count: int) -> None:
    if number >= count:
        raise ArgumentError(f"`{name}` must be from 0 to {count - 1}; received {number}.")
