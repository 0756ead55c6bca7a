"""What lanes of text hand on from batch to batch, and how a checkpoint holds it."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import DataError
from regard.models.language.network import LanguageNetwork

_NUMBER = "number"


class CarriedStates:
    """The state of every lane after each of the last batches.

    A batch may come in parts, and the last `batches` may come again: so it is when one of them does not fit into
    memory. Batch 0 begins from nothing; any other must come after one that is known.
    """

    def __init__(self, rows: int, *, batches: int = 1) -> None:
        self.rows, self._kept = rows, batches + 1
        self._after: dict[int, list[Any]] = {}  # the newest last
        self._saved: dict[str, Tensor] = {}

    def before(self, model: LanguageNetwork, number: int, lanes: Int[Tensor, " lanes"]) -> Any:
        """Give the state of these lanes before batch `number`."""
        if number == 0:
            state = model.start(self.rows)
        elif parts := self._after.get(number - 1):
            state = type(parts[0]).join(parts)
        elif self._saved and int(self._saved[_NUMBER]) == number - 1:
            state = self._read(model)
        else:
            raise DataError(
                f"Batch {number} of an epoch must come after batch {number - 1}, whose state it goes on from; received "
                "it without. Was the checkpoint saved without its carried state?"
            )
        return state.select(lanes)

    def keep(self, number: int, lane: int, state: Any) -> None:
        """Keep the state after the part of batch `number` that begins with lane `lane`; parts come in order."""
        parts = self._after.pop(number, [])
        self._after[number] = [*parts, state.detach()] if lane else [state.detach()]
        for old in list(self._after)[: -self._kept]:
            del self._after[old]

    def tensors(self) -> dict[str, Tensor]:
        """Give the newest as named tensors."""
        if not self._after:
            return dict(self._saved)
        number, parts = list(self._after.items())[-1]
        named = {str(index): item for index, item in enumerate(_leaves(type(parts[0]).join(parts)))}
        return {_NUMBER: torch.tensor([number]), **named}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `tensors` gave."""
        self._after.clear()
        self._saved = dict(tensors)

    def _read(self, model: LanguageNetwork) -> Any:
        """Put what was saved in place of the state that a text begins with."""
        start = model.start(self.rows)
        shapes = [tuple(item.shape) for item in _leaves(start)]
        result = [self._saved[str(index)] for index in range(len(self._saved) - 1)]
        if shapes != [tuple(item.shape) for item in result]:
            raise DataError(
                f"A checkpoint's carried state must have the shapes {shapes}; received "
                f"{[tuple(item.shape) for item in result]}. Was it saved by a model of another size?"
            )
        return _filled(start, iter(result))


def _leaves(state: Any) -> list[Tensor]:
    """Give the tensors of nested tuples, in order."""
    return [state] if isinstance(state, Tensor) else [leaf for part in state for leaf in _leaves(part)]


def _filled(state: Any, tensors: Iterator[Tensor]) -> Any:
    """Put tensors in place of those of nested tuples."""
    if isinstance(state, Tensor):
        return next(tensors).to(state)
    parts = [_filled(part, tensors) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
