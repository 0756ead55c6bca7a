"""Maps: what every reading of a model gives. Numbers, what they stand along, what they are, and what they are not."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.files import finite
from regard.inspection.trace.trace import Call, Labels

if TYPE_CHECKING:
    from regard.inspection.drawing.picture import Picture

Axis = Literal["query", "key"]

WEIGHTS_CAVEAT = "Weights say what a layer attended to, not what mattered."


@dataclass(frozen=True, kw_only=True, eq=False)
class Map:
    """A number for every query and key, or for every query, or for every key, of one example.

    >>> import torch
    >>> words = (("a", "b"), ("c", "d"))
    >>> map = Map(name="x", values=torch.eye(2), axes=("query", "key"), labels=words, caveat="It is not y.")
    >>> print(map.to_csv())
    query,c,d
    a,1.0,0.0
    b,0.0,1.0
    """

    name: str
    """What it is."""
    values: Float[Tensor, "..."]
    """On the CPU, outside any graph."""
    axes: tuple[Axis, ...]
    """What each axis of `values` is."""
    labels: tuple[tuple[str, ...], ...]
    """The words along each axis; positions are numbered where nobody named them."""
    caveat: str
    """What it does not mean: a sentence to show beside it."""
    mask: Bool[Tensor, "..."] | None = None
    """True where a query could attend; None where it could everywhere."""
    limits: tuple[float, float] = (0.0, 1.0)
    """The ends of the scale it is drawn on."""

    def __post_init__(self) -> None:
        shape, named = tuple(self.values.shape), tuple(len(words) for words in self.labels)
        if shape != named or len(shape) != len(self.axes):
            raise ArgumentError(f"`labels` must name the positions of {self.axes} = {shape}; received {named}.")

    def __repr__(self) -> str:
        sizes = " × ".join(f"{len(words)} {axis}" for axis, words in zip(self.axes, self.labels, strict=True))
        return f"Map({self.name!r}: {sizes})"

    def figure(self) -> "Picture":
        """Draw it: a map where it has two axes, else bars."""
        from regard.inspection.drawing.bar_chart import bars
        from regard.inspection.drawing.figures import heatmap

        if len(self.axes) == 1:
            picture = bars(
                self.values,
                labels=self.labels[0],
                title=self.name,
                limits=self.limits,
                mask=self.mask,
                axis=self.axes[0],
            )
        else:
            picture = heatmap(
                self.values,
                query_labels=self.labels[0],
                key_labels=self.labels[1],
                mask=self.mask,
                title=self.name,
                limits=self.limits,
                label="",
            )
        picture.caveat = self.caveat
        return picture

    def _repr_html_(self) -> str:
        """Show the figure in a notebook."""
        return self.figure()._repr_html_()

    def _repr_png_(self) -> bytes:
        """Show the figure where a notebook has no space for more."""
        return self.figure()._repr_png_()

    def to_numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Give the values as an array."""
        array: np.ndarray[Any, np.dtype[Any]] = self.values.numpy()
        return array

    def to_json(self) -> dict[str, Any]:
        """Give a dictionary that `json.dumps` takes; numbers are exact, and what is no number is none."""
        return {
            "name": self.name,
            "caveat": self.caveat,
            "axes": list(self.axes),
            "labels": [list(words) for words in self.labels],
            "limits": list(self.limits),
            "values": finite(self.values.tolist()),
            "mask": None if self.mask is None else self.mask.tolist(),
        }

    def to_csv(self) -> str:
        """Give a table with a row per query and a column per key, or a row per position; masked cells are empty."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        cells = _blank(self.values.tolist(), None if self.mask is None else self.mask.tolist())
        if len(self.axes) == 2:
            writer.writerow([self.axes[0], *self.labels[1]])
            writer.writerows([word, *row] for word, row in zip(self.labels[0], cells, strict=True))
        else:
            writer.writerow([self.axes[0], self.name])
            writer.writerows(zip(self.labels[0], cells, strict=True))
        return written.getvalue()


def weights_of(call: Call, *, head: int | None = None, example: int = 0) -> Map:
    """Give the weights of one head of one example, or the mean over heads. Padding that has no name is left out.

    >>> import torch
    >>> weights = torch.tensor([[[[0.25, 0.75]]]])
    >>> weights_of(Call(layer="a", step=0, scores=weights.log(), weights=weights, value_norms=weights[0], mask=None))
    Map('a, head 0': 1 query × 2 key)
    """
    return map_of(call, call.weights, name=call.layer, caveat=WEIGHTS_CAVEAT, head=head, example=example)


def map_of(
    call: Call,
    values: Float[Tensor, "batch heads query key"],
    *,
    name: str,
    caveat: str,
    head: int | None = None,
    example: int = 0,
) -> Map:
    """Give numbers that lie along a call's weights as a map of one example, with the call's words and mask."""
    chosen, heads = one_head(values, head=head, example=example)
    mask = None if call.mask is None else one_mask(call.mask, head=head, example=example)
    words = tuple(
        tuple(str(index) for index in range(size)) if labels is None else tuple(labels)
        for labels, size in (
            (words_of(call.query_labels, example), chosen.size(0)),
            (words_of(call.key_labels, example), chosen.size(1)),
        )
    )
    rows, columns = (len(side) for side in words)
    return Map(
        name=f"{name}, {heads}",
        values=chosen[:rows, :columns],
        axes=("query", "key"),
        labels=words,
        caveat=caveat + (" A mean over heads can hide what each does." if head is None and values.size(1) > 1 else ""),
        mask=None if mask is None else mask[:rows, :columns],
    )


def one_head(
    values: Float[Tensor, "batch heads query key"], *, head: int | None, example: int
) -> tuple[Float[Tensor, "query key"], str]:
    """Take one head of one example, or the mean over heads, to the CPU; say which."""
    check_index("example", example, values.size(0))
    own, count = values[example].detach().cpu(), values.size(1)
    if head is None and count > 1:
        return own.mean(0), f"mean of {count} heads"
    check_index("head", head or 0, count)
    return own[head or 0], f"head {head or 0}"


def one_mask(
    mask: Bool[Tensor, "batch heads query key"], *, head: int | None, example: int
) -> Bool[Tensor, "query key"]:
    """Take the mask of one head, or what any head may attend to."""
    own = mask[example].cpu()
    return own.any(0) if head is None else own[head]


def words_of(labels: Labels | None, example: int) -> list[str] | None:
    """Give the words of one example."""
    if labels is None or all(isinstance(label, str) for label in labels):
        return None if labels is None else [str(label) for label in labels]
    return list(labels[example])


def check_index(name: str, number: int, count: int) -> None:
    """Raise unless there is such an index, counted from 0."""
    if not 0 <= number < count:
        raise ArgumentError(f"`{name}` must be from 0 to {count - 1}; received {number}.")


def scaled(map: Map) -> Map:
    """Draw on a scale from zero to the largest number, for what is no share of one."""
    largest = float(map.values.max()) if map.values.numel() else 0.0
    return replace(map, limits=(0.0, largest if largest > 0 else 1.0))


def _blank(values: Any, mask: Any) -> Any:
    """Put empty cells where the mask is closed, and where there is no number."""
    if isinstance(values, list):
        return [_blank(item, None if mask is None else mask[index]) for index, item in enumerate(values)]
    return "" if mask is False or math.isnan(values) else values


def numbered(words: Sequence[str] | None, count: int, *, name: str = "labels") -> tuple[str, ...]:
    """Give the words, or the numbers of the positions. Words may be fewer than positions: the rest is padding."""
    if words is not None and (isinstance(words, str) or len(words) > count):
        result = "one string" if isinstance(words, str) else len(words)
        raise ArgumentError(f"`{name}` must name at most {count} positions; received {result}.")
    return tuple(str(index) for index in range(count)) if words is None else tuple(words)
