"""Observers of the operator: functions that get each call of `attention`, while something records."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from torch import Tensor

from regard.attention.position import Position

#: Given query, key and value, and the keyword arguments of a call; gives the position to call with.
Observer: TypeAlias = Callable[[Tensor, Tensor, Tensor | None, dict[str, Any]], Position | None]

OBSERVERS: list[Observer] = []
"""Those of the whole process; empty unless something records."""


class _Silence(threading.local):
    """How many contexts of `unobserved` this thread is in."""

    depth = 0


_SILENCE = _Silence()


@contextmanager
def unobserved() -> Iterator[None]:
    """Call the operator without telling anybody: for what computes a call once more."""
    _SILENCE.depth += 1
    try:
        yield
    finally:
        _SILENCE.depth -= 1


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Call `observer` with every call of the operator, before it is computed, while the context lasts."""
    OBSERVERS.append(observer)
    try:
        yield
    finally:
        OBSERVERS.remove(observer)


def observe(query: Tensor, key: Tensor, value: Tensor | None, options: dict[str, Any]) -> Position | None:
    """Call every observer with a call, and give the position to call with."""
    position: Position | None = options["position"]
    if _SILENCE.depth:
        return position
    with unobserved():
        for observer in tuple(OBSERVERS):
            position = observer(query, key, value, {**options, "position": position})
    return position
