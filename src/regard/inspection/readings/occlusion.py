"""Occlusion: what a model predicts without a part of its input, for tokens, words, cells of an image and keys."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
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
Inputs = TypeVar("Inputs", Tensor, list[list[int]])
Distance = Callable[[Tensor, Tensor], Tensor]


@torch.no_grad()
def occlusion(
    predict: Callable[[Inputs], Float[Tensor, "rows *queries choices"]],
    whole: Inputs,
    without: Inputs,
    *,
    distance: Distance = total_variation,
    at_once: int | None = None,
) -> Float[Tensor, "*queries part"]:
    r"""Measure how far every prediction moves without each part of the input.

    $$\Delta_{ij} = D(\hat y_i(x), \hat y_i(x_{-j}))$$

    where $x$ is `whole`, one row; $x_{-j}$ is row j of `without`, the same with part j removed or covered; $D$ is
    `distance`, by default the total variation. `predict` takes rows and gives logits or log-probabilities of each.
    `at_once` limits the rows of a call.

    Reference: Jain and Wallace (2019), section 4.1, algorithm 1, arXiv:1902.10186; Li, Monroe and Jurafsky (2016),
    arXiv:1612.08220 (words); Zeiler and Fergus (2014), section 4.2, arXiv:1311.2901 (images).
    Differs: from the latter, the distance of the whole prediction, not the probability of one label.

    >>> tokens = torch.tensor([0, 1, 1])
    >>> predict = lambda rows: torch.nn.functional.one_hot(rows, 2).sum(1).float()
    >>> occlusion(predict, tokens[None], without_each(tokens))
    tensor([0.1497, 0.2311, 0.2311])
    """
    before = predict(whole)[0]
    rows = at_once or max(1, len(without))
    after = torch.cat([predict(without[start : start + rows]) for start in range(0, len(without), rows)])
    if before.shape != after.shape[1:]:
        raise ArgumentError(
            f"`run` must give outputs of one shape; received {tuple(before.shape)}, then {tuple(after.shape[1:])}. "
            "Choose the rows that stay."
        )
    return distance(before.expand_as(after), after).movedim(0, -1)


def without_each(tokens: Int[Tensor, " token"], *, instead: int | None = None) -> Int[Tensor, "part kept"]:
    """Give the tokens without each of them in turn, or with `instead` there.

    >>> without_each(torch.tensor([5, 6, 7]))
    tensor([[6, 7],
            [5, 7],
            [5, 6]])
    """
    count = tokens.numel()
    same = torch.eye(count, dtype=torch.bool, device=tokens.device)
    rows = tokens.expand(count, count)
    return rows[~same].view(count, -1) if instead is None else rows.masked_fill(same, instead)


def cells_of(
    image: Float[Tensor, "1 channels height width"], grid: tuple[int, int]
) -> Bool[Tensor, "cell height width"]:
    """Give for each cell of a grid over an image, row by row, which pixels lie in it."""
    height, width = image.shape[2:]
    rows = torch.arange(height, device=image.device) * grid[0] // height
    columns = torch.arange(width, device=image.device) * grid[1] // width
    index = rows[:, None] * grid[1] + columns[None]
    return index[None] == torch.arange(grid[0] * grid[1], device=image.device)[:, None, None]


def cover_each(
    image: Float[Tensor, "1 channels height width"], grid: tuple[int, int]
) -> Float[Tensor, "cell channels height width"]:
    """Give the image with each cell of a grid in turn painted over in the mean color."""
    return torch.where(cells_of(image, grid).unsqueeze(1), image.mean((2, 3), keepdim=True), image)


def leave_one_out(
    run: Callable[[Tensor], Tensor],
    tokens: Int[Tensor, " token"],
    *,
    labels: Sequence[str] | None = None,
    query_labels: Sequence[str] | None = None,
    instead: int | None = None,
) -> Map:
    """Drop each token in turn, or put `instead` there, and measure the change of every prediction: see `occlusion`.

    `run` takes the tokens of one example and gives logits or log-probabilities, (vocabulary,) or (query, vocabulary):
    as many queries whatever the number of tokens.

    >>> bag = lambda tokens: torch.nn.functional.one_hot(tokens, 3).sum(0).float()
    >>> leave_one_out(bag, torch.tensor([0, 2])).values
    tensor([0.2104, 0.2104])
    """
    if instead is None and tokens.numel() < 2:
        raise ArgumentError(
            f"`tokens` must be at least 2 for one to be left out; received {tokens.numel()}. Give `instead`, a token "
            "to put there."
        )
    changes = occlusion(
        lambda rows: _stacked([run(row) for row in rows]), tokens[None], without_each(tokens, instead=instead)
    )
    return _map("leave one out", changes, numbered(labels, tokens.numel(), name="labels"), query_labels, LEFT_OUT)


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
    The layers must have the same keys: those that attend to the source, say.
    """
    with record(model, layers=layers) as trace:
        run()
    lengths = {call.weights.size(-1) for call in trace}
    if len(lengths) != 1:
        raise ArgumentError(
            f"`layers` must match layers with the same keys; received {layers}, with {sorted(lengths)} keys. Choose by "
            f"name: {', '.join(trace.layers)}."
        )
    length = lengths.pop()
    keys = numbered(key_labels, length, name="key_labels")  # perhaps without padding

    def predict(masks: Tensor) -> Tensor:
        outputs = []
        for mask in masks:
            with intervene(model, mask={layers: mask[None]}):
                outputs.append(run())
        return _stacked(outputs)

    closed = torch.eye(length, dtype=torch.bool, device=trace[0].weights.device)[: len(keys)]
    changes = occlusion(predict, torch.ones_like(closed[:1]), ~closed)
    return _map(f"hidden from {layers}", changes, keys, query_labels, HIDDEN)


def _stacked(outputs: list[Tensor]) -> Tensor:
    """Put predictions of one example each into one tensor."""
    first = outputs[0]
    for output in outputs:
        if output.ndim not in (1, 2):
            raise ArgumentError(
                f"`run` must give (vocabulary,) or (query, vocabulary), of one example; received {tuple(output.shape)}."
            )
        if output.shape != first.shape:
            raise ArgumentError(
                f"`run` must give outputs of one shape; received {tuple(first.shape)}, then {tuple(output.shape)}. "
                "Choose the rows that stay."
            )
    return torch.stack([output.detach().float().cpu() for output in outputs])


def _map(name: str, values: Tensor, labels: tuple[str, ...], query_labels: Sequence[str] | None, caveat: str) -> Map:
    if values.ndim == 1:
        return Map(name=name, values=values, axes=("key",), labels=(labels,), caveat=caveat)
    queries = numbered(query_labels, values.size(0), name="query_labels")
    return Map(name=name, values=values[: len(queries)], axes=("query", "key"), labels=(queries, labels), caveat=caveat)
