"""Search over many sentences of token numbers: those of like length together, none beyond the model's reach."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regard.data.batches import Examples, make_batch
from regard.data.bucketing import make_index_batches
from regard.data.ragged import Ragged
from regard.data.special import END, START
from regard.decoding.decode import decode
from regard.decoding.forced import force
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.layers.learned_positions import LearnedPositions
from regard.layers.luong import LuongAttention
from regard.models.protocol import AnyModel

_CELLS = 2**18
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
    reach: Reach,
    tokens: int,
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Search for the outputs of each sentence; a sentence of nothing gets an output of nothing.

    `tokens` is how many a batch may have, padding included and counted for each hypothesis.
    """
    found = [[_NOTHING]] * len(source)
    examples = Examples(source=source, target=Ragged.from_lists([[]] * len(source)))
    for own, indices in _plan(source, search, reach, tokens):
        batch = make_batch(examples, indices).to(device)
        outputs = decode(model, batch.source, batch.source_lengths, search=own, start=START, end=END)
        for index, one in zip(indices.tolist(), outputs, strict=True):
            found[index] = one
    return found


def _plan(source: Ragged, search: Search, reach: Reach, tokens: int) -> Iterator[tuple[Search, NDArray[np.int64]]]:
    """Give the batches. Sentences whose outputs might pass the reach come last, with a search that stops there."""
    lengths = source.lengths + 1
    budget = max(1, tokens // (search.n_best if search.sampling is not None else search.beam))
    longest = 2 * lengths + 20 if search.max_length is None else np.full_like(lengths, search.max_length)
    beyond = longest > (longest.max(initial=0) if reach.target is None else reach.target)
    for chosen, own in ((~beyond, search), (beyond, replace(search, max_length=reach.target))):
        rows = np.flatnonzero(chosen & (lengths > 1))
        for indices in make_index_batches(lengths[rows], lengths[rows], tokens=budget, shuffle=False):
            yield own, rows[indices]


def look_again(
    model: AnyModel,
    source: Ragged,
    found: Sequence[Sequence[Hypothesis]],
    *,
    wanted: Callable[[Hypothesis], bool],
    device: torch.device,
) -> list[list[Hypothesis]]:
    """Give the weights to those outputs that are wanted, by reading each once more, whole.

    This costs less than keeping the weights of every hypothesis during the search.
    """
    chosen = [
        (row, rank)
        for row, outputs in enumerate(found)
        for rank, one in enumerate(outputs)
        if one.tokens and wanted(one)
    ]
    outputs = [found[row][rank] for row, rank in chosen]
    examples = Examples(
        source=Ragged.from_lists([source[row].tolist() for row, _ in chosen]),
        target=Ragged.from_lists([one.tokens[: len(one.tokens) - one.finished] for one in outputs]),
    )
    # What a sentence needs grows with the product of both lengths, as its matrix of weights does.
    cells = (examples.source.lengths + 1) * (examples.target.lengths + 1)
    plan = make_index_batches(cells, cells, tokens=_CELLS, shuffle=False)
    with_weights = [list(one) for one in found]
    for index, heard in force_batches(model, examples, plan, weights=True, device=device):
        (row, rank), one = chosen[index], outputs[index]
        looks = None if heard.weights is None else heard.weights[..., : len(one.tokens), :]
        with_weights[row][rank] = replace(one, weights=looks)
    return with_weights


def force_batches(
    model: AnyModel,
    examples: Examples,
    plan: Iterable[NDArray[np.int64]],
    *,
    weights: bool,
    device: torch.device,
) -> Iterator[tuple[int, Hypothesis]]:
    """Let the model hear each target along its source, batch by batch, and give the index with what it thought."""
    for indices in plan:
        batch = make_batch(examples, indices).to(device)
        with torch.inference_mode():
            heard = force(
                model,
                batch.source,
                batch.source_lengths,
                batch.target_input,
                batch.target_output,
                batch.target_lengths,
                weights=weights,
            )
        for index, one in zip(indices.tolist(), heard, strict=True):
            # A copy on the CPU is an ordinary tensor, which may take part in training too.
            yield index, one if one.weights is None else replace(one, weights=one.weights.cpu().clone())
