"""Search over many sentences of token numbers: those of like length together, none beyond the model's reach."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regard.data.batches.bucketing import make_index_batches
from regard.data.batches.pairs import Examples, make_batch
from regard.data.batches.ragged import Ragged
from regard.data.text.special import END, START
from regard.decoding.forced import force
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search, decode
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.position.learned import LearnedPositions
from regard.models.sequence.protocol import AnyModel

CELLS = 2**18
"""Pairs of a source and a target token, padding included, whose weights are found at once."""
_NOTHING = Hypothesis(tokens=(), log_probabilities=(), finished=True)


class Reach(NamedTuple):
    """How many tokens a model can deal with, `</s>` included."""

    source: int
    target: int | None
    """None where there is no longest length."""


def find_reach(models: Iterable[nn.Module], most: int) -> Reach:
    """Find where the first model's positions end: of the source, at `most` otherwise, and of the target."""
    parts = [part for model in models for part in model.modules()]
    learned = [part.table.size(0) for part in parts if isinstance(part, LearnedPositions)]
    located = [part.matrix.size(1) for part in parts if isinstance(part, LuongAttention) and part.score == "location"]
    return Reach(source=min([most, *learned, *located]), target=min(learned, default=None))


@torch.inference_mode()
def search_batches(
    model: AnyModel,
    source: Ragged,
    search: Search,
    *,
    prefix: Ragged | None = None,
    reach: Reach,
    tokens: int,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Search for the outputs of each sentence; a sentence of nothing gets an output of nothing.

    - `prefix`: what the outputs of each sentence must begin with; fewer tokens than the longest output.
    - `tokens`: how many a batch may have, padding included and counted for each hypothesis.
    """
    result = [[_NOTHING]] * len(source)
    nothing = Ragged.from_lists([[]] * len(source))
    prefix = nothing if prefix is None else prefix
    examples = Examples(source=source, target=nothing)
    for own, indices in _plan(source, prefix.lengths, search, reach, tokens):
        batch = make_batch(examples, indices).to(device)
        begin = [prefix[index].tolist() for index in indices.tolist()]
        outputs = decode(model, batch.source, batch.source_lengths, search=own, start=START, end=END, prefix=begin)
        for index, item in zip(indices.tolist(), outputs, strict=True):
            result[index] = item
    return result


def _plan(
    source: Ragged, begun: NDArray[np.int64], search: Search, reach: Reach, tokens: int
) -> Iterator[tuple[Search, NDArray[np.int64]]]:
    """Give the batches. Sentences whose outputs might pass the reach come last, with a search that stops there."""
    lengths = source.lengths + 1
    budget = max(1, tokens // (search.n_best if search.sampling is not None else search.beam))
    longest = np.maximum(2 * lengths + 20 + begun, search.min_length + 1)
    if search.max_length is not None:
        longest = np.full_like(lengths, search.max_length)
    beyond = longest > (longest.max(initial=0) if reach.target is None else reach.target)
    for chosen, own in ((~beyond, search), (beyond, replace(search, max_length=reach.target))):
        rows = np.flatnonzero(chosen & (lengths > 1))
        for indices in make_index_batches(lengths[rows], lengths[rows], tokens=budget, shuffle=False):
            yield own, rows[indices]


def add_weights(
    model: AnyModel,
    source: Ragged,
    results: Sequence[Sequence[Hypothesis]],
    *,
    wanted: Callable[[Hypothesis], bool],
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Give the weights to those outputs that are wanted, by reading each once more, whole.

    That costs less than keeping the weights of every hypothesis during the search.
    """
    chosen = [
        (row, rank)
        for row, outputs in enumerate(results)
        for rank, item in enumerate(outputs)
        if item.tokens and wanted(item)
    ]
    outputs = [results[row][rank] for row, rank in chosen]
    examples = Examples(
        source=Ragged.from_lists([source[row].tolist() for row, _ in chosen]),
        target=Ragged.from_lists([item.tokens[:-1] for item in outputs]),  # what is read when the last is predicted
    )
    plan = plan_by_cells(examples.source.lengths + 1, examples.target.lengths + 1)
    with_weights = [list(item) for item in results]
    for index, forced in force_batches(model, examples, plan, weights=True, device=device):
        (row, rank), item = chosen[index], outputs[index]
        attended = None if forced.weights is None else forced.weights[..., : len(item.tokens), :]
        with_weights[row][rank] = replace(item, weights=attended)
    return with_weights


def plan_by_cells(
    source_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64], *, cells: int = CELLS, tokens: int = CELLS
) -> Iterator[NDArray[np.int64]]:
    """Group sentences whose weights are wanted, from short to long.

    The matrices of a batch, rows · longest source · longest target, have at most `cells` entries, and either side at
    most `tokens`, padding included; a sentence that alone has more is alone.

    >>> [batch.tolist() for batch in plan_by_cells(np.array([2, 9, 2]), np.array([9, 2, 9]), cells=100)]
    [[0, 2], [1]]
    """
    for batch in make_index_batches(source_lengths, target_lengths, tokens=tokens, shuffle=False):
        rest = batch
        while len(rest):
            sides = (np.maximum.accumulate(lengths[rest]) for lengths in (source_lengths, target_lengths))
            padded = np.arange(1, len(rest) + 1) * next(sides) * next(sides)
            rows = max(1, int(np.searchsorted(padded, cells, side="right")))
            yield rest[:rows]
            rest = rest[rows:]


def force_batches(
    model: AnyModel,
    examples: Examples,
    plan: Iterable[NDArray[np.int64]],
    *,
    weights: bool,
    device: torch.device,
) -> Iterator[tuple[int, Hypothesis]]:
    """Score each target along its source, batch by batch; give the index with the scored output."""
    for indices in plan:
        batch = make_batch(examples, indices).to(device)
        with torch.inference_mode():
            forced = force(
                model,
                batch.source,
                batch.source_lengths,
                batch.target_input,
                batch.target_output,
                batch.target_lengths,
                weights=weights,
            )
        for index, item in zip(indices.tolist(), forced, strict=True):
            # A copy on the CPU is an ordinary tensor, which may take part in training too.
            yield index, item if item.weights is None else replace(item, weights=item.weights.cpu().clone())
