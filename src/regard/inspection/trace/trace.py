"""Traces: what every attention layer attended to, in one format for all of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import overload

from jaxtyping import Bool, Float
from torch import Tensor

from regard.errors import ArgumentError, nearest

#: The words along an axis: one list for the whole batch, or one list per batch element.
Labels = Sequence[str] | Sequence[Sequence[str]]


@dataclass(eq=False, kw_only=True)
class Call:
    """One call of one layer. A layer without heads has one."""

    layer: str
    """The dotted path of the layer in the model."""
    step: int
    """How many-th call of this layer it was, from 0."""
    scores: Float[Tensor, "batch heads query key"]
    """Before normalizing, bias and position added: −∞ where masked."""
    weights: Float[Tensor, "batch heads query key"]
    """After normalizing, before dropout."""
    value_norms: Float[Tensor, "batch heads key"]
    """The length of each value vector: a large weight on a short value moves little."""
    mask: Bool[Tensor, "batch heads query key"] | None
    """True where a query could attend; None where it could everywhere."""
    query_labels: Labels | None = None
    """The words that attend."""
    key_labels: Labels | None = None
    """The words attended to."""

    def __repr__(self) -> str:
        batch, heads, query, key = self.weights.shape
        return f"Call({self.layer!r}, step {self.step}: {_plural(batch, 'example')}, {_sizes(heads, query, key)})"

    def label(self, *, query: Labels | None = None, key: Labels | None = None) -> None:
        """Name the queries, the keys or both. There may be fewer names than positions, where the rest is padding."""
        batch, _, query_length, key_length = self.weights.shape
        if query is not None:
            _check_labels("query", query, batch, query_length)
            self.query_labels = query
        if key is not None:
            _check_labels("key", key, batch, key_length)
            self.key_labels = key


@dataclass(eq=False)
class Trace(Sequence[Call]):
    """The calls in the order they were made.

    `trace[0]` is the first, `trace["decoder.layers.0"]` the trace of one layer, `trace["decoder.*"]` that of several.
    """

    calls: list[Call] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    @overload
    def __getitem__(self, which: int) -> Call: ...
    @overload
    def __getitem__(self, which: slice | str) -> "Trace": ...
    def __getitem__(self, which: int | slice | str) -> "Call | Trace":
        """Give a call by its number, or the trace of the layers that a name or pattern matches."""
        if isinstance(which, int):
            return self.calls[which]
        if isinstance(which, slice):
            return Trace(self.calls[which])
        names = set(matching(which, self.layers))
        return Trace([call for call in self.calls if call.layer in names])

    @property
    def layers(self) -> list[str]:
        """The names of the layers that were called, in the order of their first call."""
        return list(dict.fromkeys(call.layer for call in self.calls))

    def label(self, *, query: Labels | None = None, key: Labels | None = None) -> None:
        """Name the queries, the keys or both, of every call: `trace["decoder.*"].label(key=source)`."""
        for call in self.calls:
            call.label(query=query, key=key)

    def save(self, path: str | Path) -> None:
        """Write one compressed file, exact to the bit. See `trace_file`."""
        from regard.inspection.trace.trace_file import save_trace

        save_trace(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Trace":
        """Read what `save` wrote."""
        from regard.inspection.trace.trace_file import load_trace

        return load_trace(path)

    def __repr__(self) -> str:
        rows = [f"Trace of {_plural(len(self), 'call')}"]
        width = max((len(name) for name in self.layers), default=0)
        for name in self.layers:
            calls = self[name]
            *_, heads, query, key = calls[-1].weights.shape
            rows.append(f"  {name:<{width}}  {_plural(len(calls), 'call')}: {_sizes(heads, query, key)}")
        return "\n".join(rows)


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Find the names that equal `pattern` or fit it as a glob; none is an error that offers the nearest.

    >>> matching("decoder.*", ["encoder.0", "decoder.0", "decoder.1"])
    ['decoder.0', 'decoder.1']
    """
    known = list(names)
    result = [pattern] if pattern in known else [name for name in known if fnmatchcase(name, pattern)]
    if not result:
        raise ArgumentError(
            f'the name must be that of an attention layer; received "{pattern}". ' + nearest(pattern, known)
        )
    return result


def _check_labels(side: str, labels: Labels, batch: int, length: int) -> None:
    if isinstance(labels, str):
        raise ArgumentError(f"`{side}_labels` must be a list of words; received one string. Write text.split().")
    rows = [labels] if all(isinstance(label, str) for label in labels) else labels
    if rows is labels and len(labels) != batch:
        raise ArgumentError(
            f"`{side}_labels` must have one list for each of the {batch} examples, or be one list for all; "
            f"received {len(labels)} lists."
        )
    longest = max((len(row) for row in rows), default=0)
    if longest > length:
        raise ArgumentError(
            f"`{side}_labels` must name at most {length} positions; received {longest}. Calls of other lengths are "
            'labelled apart: trace["name"].label(…).'
        )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def _sizes(heads: int, query: int, key: int) -> str:
    return f"{_plural(heads, 'head')}, {query} {'query' if query == 1 else 'queries'} × {_plural(key, 'key')}"
