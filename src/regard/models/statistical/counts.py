"""From sentence pairs to a translator that counts."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from regard.config.model import StatisticalSpec
from regard.errors import ArgumentError
from regard.models.language.ngram import NGramModel
from regard.models.statistical.ibm_model_1 import IbmModel1
from regard.models.statistical.translator import STEPS, Counts, StatisticalModel

LEAST = 1e-6
"""Translations less likely than this are not kept."""


def count_translator(
    spec: StatisticalSpec,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    source_vocabulary: int,
    target_vocabulary: int,
    end: int,
) -> StatisticalModel:
    """Count sentence pairs in token numbers, to which `end` is added.

    >>> spec = StatisticalSpec(order=2)
    >>> sources, targets = [[4, 5], [4, 6], [7, 6]] * 5, [[4, 5], [4, 6], [7, 6]] * 5
    >>> model = count_translator(spec, sources, targets, source_vocabulary=8, target_vocabulary=8, end=3)
    >>> model.encode(torch.tensor([[4, 6, 3]])).translations[0].argmax(-1)
    tensor([4, 6, 3])
    """
    if not len(sources):
        raise ArgumentError("`sources` must hold at least one sentence; received none.")
    source_texts, target_texts = ([[*map(str, side), str(end)] for side in both] for both in (sources, targets))
    table = IbmModel1.train(source_texts, target_texts, iterations=spec.iterations)
    links = table.align(source_texts, target_texts)
    counts = Counts(
        *_translations(table, source_vocabulary),
        torch.from_numpy(_jumps(links, spec.reach)).float(),
        torch.from_numpy(_fertility(source_texts, links, source_vocabulary)).float(),
    )
    stream = np.concatenate([[end], *([*sentence, end] for sentence in targets)])
    return StatisticalModel(
        counts,
        NGramModel.fit(stream, vocabulary_size=target_vocabulary, order=spec.order),
        end=end,
        language_weight=spec.language_weight,
        coverage_weight=spec.coverage_weight,
    )


def _translations(table: IbmModel1, source_vocabulary: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Give Model 1's table by token numbers: where each source token begins, target tokens, probabilities."""
    number, word = np.divmod(table.entries, len(table.target_words))
    kept = (number > 0) & (table.probabilities >= LEAST)  # 0 is NULL, which no best link ever names here
    source = np.array([-1, *map(int, table.source_words)])[number[kept]]
    target = np.array([*map(int, table.target_words)])[word[kept]]
    order = np.argsort(source, kind="stable")
    starts = np.searchsorted(source[order], np.arange(source_vocabulary + 1))
    probabilities = table.probabilities[kept][order].astype(np.float32)
    return torch.from_numpy(starts), torch.from_numpy(target[order]), torch.from_numpy(probabilities)


def _jumps(links: Iterable[Sequence[int | None]], reach: int) -> NDArray[np.float64]:
    """Count the distances between the sources of neighboring target words; each is counted once besides.

    >>> (_jumps([[0, 1, 1]], 1) * 6).round(1).tolist()
    [1.0, 2.0, 3.0]
    """
    steps = []
    for row in links:
        positions = [-1, *(position for position in row if position is not None)]
        steps.append(np.diff(positions))
    counts = np.bincount(np.clip(np.concatenate(steps), -reach, reach) + reach, minlength=2 * reach + 1) + 1.0
    return counts / counts.sum()  # type: ignore[no-any-return]


def _fertility(
    sources: Sequence[Sequence[str]], links: Sequence[Sequence[int | None]], vocabulary: int
) -> NDArray[np.float64]:
    """Give how often a source token with so many translations has another; of rare tokens, as of all."""
    counts = np.zeros((vocabulary, STEPS + 1))
    for source, row in zip(sources, links, strict=True):
        linked = np.bincount([position for position in row if position is not None], minlength=len(source))
        np.add.at(counts, (np.array([*map(int, source)]), np.minimum(linked, STEPS)), 1)
    at_least = counts[:, ::-1].cumsum(-1)[:, ::-1]  # how often it had so many or more
    of_all = at_least.sum(0)
    usual = (of_all[1:] + 0.5) / (of_all[:-1] + 1)
    shares: NDArray[np.float64] = (at_least[:, 1:] + usual) / (at_least[:, :-1] + 1)
    return np.minimum(shares, 0.999)
