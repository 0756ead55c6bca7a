"""Leave one out: take a token away and see how far the prediction moves."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map, numbered
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.record import record

LEFT_OUT = (
    "Leaving a token out shows what the model does without it, in a sentence it may never have learned to read; tokens "
    "that stand in for each other hide each other's share."
)
HIDDEN = (
    "Hiding a token from a layer leaves what other layers already mixed into its neighbors; tokens that stand in for "
    "each other hide each other's share."
)


@torch.no_grad()
def leave_one_out(
    run: Callable[[Tensor], Tensor],
    tokens: Int[Tensor, " token"],
    *,
    labels: Sequence[str] | None = None,
    query_labels: Sequence[str] | None = None,
    instead: int | None = None,
) -> Map:
    r"""Drop each token in turn, or put `instead` there, and measure the change of every prediction.

    $$\Delta_{ij} = \mathrm{TVD}(\hat y_i(x), \hat y_i(x_{-j}))$$

    `run` takes tokens and gives logits or log-probabilities, (vocabulary,) or (query, vocabulary): as many queries
    whatever the number of tokens.

    Reference: Jain and Wallace (2019), section 4.1, algorithm 1, arXiv:1902.10186; Li, Monroe and Jurafsky (2016),
    arXiv:1612.08220.

    >>> bag = lambda tokens: torch.nn.functional.one_hot(tokens, 3).sum(0).float()
    >>> leave_one_out(bag, torch.tensor([0, 2])).values
    tensor([0.2104, 0.2104])
    """
    if instead is None and tokens.numel() < 2:
        raise ArgumentError(
            f"`tokens` must be at least 2 for one to be left out; received {tokens.numel()}. Give `instead`, a token "
            "to put there."
        )
    before = _rows(run(tokens))
    return _changes(
        "leave one out",
        [total_variation(before, _rows(run(_without(tokens, index, instead)))) for index in range(tokens.numel())],
        numbered(labels, tokens.numel(), name="labels"),
        query_labels,
        LEFT_OUT,
    )


@torch.no_grad()
def hide_each(
    model: nn.Module,
    run: Callable[[], Tensor],
    *,
    layers: str = "*",
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
) -> Map:
    r"""Mask each key in turn from the layers that `layers` matches, and measure the change of every prediction.

    `run` calls the model and gives logits or log-probabilities of one example, (vocabulary,) or (query, vocabulary).
    The layers must have the same keys: those that look at the source, say.
    """
    with record(model, layers=layers) as trace:
        before = _rows(run())
    lengths = {call.weights.size(-1) for call in trace}
    if len(lengths) != 1:
        raise ArgumentError(
            f"`layers` must match layers with the same keys; received {layers}, with {sorted(lengths)} keys. Choose by "
            f"name: {', '.join(trace.layers)}."
        )
    length = lengths.pop()
    keys = numbered(key_labels, length, name="key_labels")
    changes = []
    for index in range(len(keys)):
        mask = torch.ones(1, length, dtype=torch.bool, device=trace[0].weights.device)
        mask[0, index] = False
        with intervene(model, mask={layers: mask}):
            changes.append(total_variation(before, _rows(run())))
    return _changes(f"hidden from {layers}", changes, keys, query_labels, HIDDEN)


def _without(tokens: Tensor, place: int, instead: int | None) -> Tensor:
    if instead is None:
        return torch.cat([tokens[:place], tokens[place + 1 :]])
    changed = tokens.clone()
    changed[place] = instead
    return changed


def _rows(output: Float[Tensor, "..."]) -> Tensor:
    if output.ndim not in (1, 2):
        raise ArgumentError(
            f"`run` must give (vocabulary,) or (query, vocabulary), of one example; received {tuple(output.shape)}."
        )
    return output.detach().float().cpu()


def _changes(
    name: str, changes: list[Tensor], labels: tuple[str, ...], query_labels: Sequence[str] | None, caveat: str
) -> Map:
    values = torch.stack(changes, dim=-1)
    if values.ndim == 1:
        return Map(name=name, values=values, axes=("key",), labels=(labels,), caveat=caveat)
    queries = numbered(query_labels, values.size(0), name="query_labels")
    return Map(name=name, values=values[: len(queries)], axes=("query", "key"), labels=(queries, labels), caveat=caveat)
