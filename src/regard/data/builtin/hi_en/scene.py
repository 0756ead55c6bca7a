"""What one Hindi sentence has fixed so far: its time, and whom it has mentioned."""

from collections.abc import Sequence
from typing import TypeVar

from regard.data.builtin.draw import Draw
from regard.data.builtin.hi_en.group import Tense

Choice = TypeVar("Choice")

_FRAMES: tuple[tuple[float, tuple[tuple[float, Tense], ...]], ...] = (
    (42, ((50, "habit"), (24, "now"), (13, "want"), (13, "can"))),
    (42, ((50, "past"), (36, "before"), (14, "once"))),
    (16, ((100, "future"),)),
)


class Scene:
    """The state of one derivation: `tenses` go together, and nobody is brought in twice."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.tenses = draw.weigh(_FRAMES)
        self._mentioned: set[object] = set()

    def mention(self, options: Sequence[Choice]) -> Choice:
        """Choose somebody, if possible not mentioned before."""
        for _ in range(6):
            chosen = self.draw.pick(options)
            if chosen not in self._mentioned:
                break
        self._mentioned.add(chosen)
        return chosen
