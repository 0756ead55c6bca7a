"""Scenes: a few shapes on a light ground, with everything that is true of them."""

from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from random import Random
from typing import Literal, TypeAlias

from regard.errors import ArgumentError

Kind: TypeAlias = Literal["circle", "square", "triangle", "star", "cross"]
Color: TypeAlias = Literal["red", "orange", "yellow", "green", "blue", "purple"]
Direction: TypeAlias = Literal["left", "right", "above", "below"]
Paint: TypeAlias = tuple[int, int, int]

KINDS: tuple[Kind, ...] = ("circle", "square", "triangle", "star", "cross")
PAINTS: dict[Color, Paint] = {
    "red": (205, 35, 40),
    "orange": (245, 135, 30),
    "yellow": (242, 214, 45),
    "green": (45, 150, 75),
    "blue": (40, 95, 205),
    "purple": (140, 65, 170),
}
COLORS: tuple[Color, ...] = tuple(PAINTS)
SIDE = 64
"""The side of a scene, in the units of its shapes: the pixels of a picture of `builtin:shapes`."""
MOST = 5
"""Shapes in a picture, at most."""

_CLEAR = 4.0
"""Pixels by which a corner or a direction must be clear; otherwise no text mentions it."""
_GAP = 2.0


@dataclass(frozen=True, kw_only=True)
class Style:
    """What the scenes of a corpus are made of."""

    kinds: tuple[Kind, ...] = KINDS
    colors: tuple[Color, ...] = COLORS
    most: int = MOST
    """Shapes in a picture, at most."""
    radii: tuple[float, float] = (5.5, 10.5)
    """Of the circles around shapes, from and to."""
    side: int = SIDE
    """Pixels along a side of a picture."""


SHAPES = Style()
SIMPLE = Style(kinds=("circle", "square", "triangle"), colors=("red", "green", "blue"), most=2, radii=(9, 13), side=32)
STYLES: dict[str, Style] = {"builtin:shapes": SHAPES, "builtin:simple-shapes": SIMPLE}
"""By the name of the corpus."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape: what it is, and where; in pixels from the left and the top."""

    kind: Kind
    color: Color
    x: float
    y: float
    radius: float
    """Of the circle around it."""
    turn: float = 0.0
    """How far it is turned, in radians."""
    paint: Paint = (0, 0, 0)
    """The very color it is drawn in, near that of its name."""

    def corner(self) -> str | None:
        """Return in which corner of the picture it lies; None near the middle lines.

        >>> Shape(kind="star", color="red", x=10, y=50, radius=6).corner()
        'bottom left'
        """
        middle = SIDE / 2
        if min(abs(self.x - middle), abs(self.y - middle)) < _CLEAR:
            return None
        return f"{'top' if self.y < middle else 'bottom'} {'left' if self.x < middle else 'right'}"

    def direction_from(self, other: "Shape") -> Direction | None:
        """Return on which side of `other` it lies; None where that is between two."""
        across, down = self.x - other.x, self.y - other.y
        if abs(abs(across) - abs(down)) < _CLEAR:
            return None
        if abs(across) > abs(down):
            return "left" if across < 0 else "right"
        return "above" if down < 0 else "below"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Shapes from left to right, and the ground they lie on."""

    shapes: tuple[Shape, ...]
    ground: Paint = (248, 248, 248)
    style: Style = SHAPES

    def key(self) -> str:
        """Name the scene by its shapes, and for each the two pixels across and down that its middle lies in."""
        return " ".join(f"{item.color}-{item.kind}-{item.x // 2:.0f}-{item.y // 2:.0f}" for item in self.shapes)

    def count(self, *, kind: Kind | None = None, color: Color | None = None) -> int:
        """Count the shapes of a kind, of a color, or of both."""
        return len(self.find(kind=kind, color=color))

    def find(self, *, kind: Kind | None = None, color: Color | None = None) -> list[Shape]:
        """List the shapes of a kind, of a color, or of both."""
        return [item for item in self.shapes if kind in (None, item.kind) and color in (None, item.color)]


def draw_scene(random: Random, *, num_shapes: int | None = None, style: Style = SHAPES) -> Scene:
    """Draw a scene: from one to so many shapes that do not touch, whose order from left to right is plain.

    In half of the scenes kinds and colors are few, so that there is something to count.

    >>> draw_scene(Random(1)) == draw_scene(Random(1))
    True
    """
    if num_shapes is not None and not 1 <= num_shapes <= style.most:
        raise ArgumentError(f"`num_shapes` must be from 1 to {style.most}; received {num_shapes}.")
    count = num_shapes or random.randint(1, style.most)
    few = random.random() < 0.5
    kinds = random.sample(style.kinds, random.randint(1, 2)) if few else list(style.kinds)
    colors = random.sample(style.colors, random.randint(1, 3)) if few else list(style.colors)
    while True:
        shapes = _draw_shapes(random, count, style.radii)
        if shapes is not None:
            break
    made = [_dress(random, item, random.choice(kinds), random.choice(colors)) for item in shapes]
    light = random.randint(238, 255)
    ground = (light, min(255, light + random.randint(-4, 4)), min(255, light + random.randint(-4, 4)))
    return Scene(shapes=tuple(made), ground=ground, style=style)


def _draw_shapes(random: Random, count: int, radii: tuple[float, float]) -> list[Shape] | None:
    """Arrange bare shapes that do not overlap; None where the random draws do not fit."""
    placed: list[Shape] = []
    for _ in range(12 * count):
        radius = random.uniform(*radii)
        x, y = (random.uniform(radius + 1, SIDE - radius - 1) for _ in range(2))
        if all(hypot(x - one.x, y - one.y) > radius + one.radius + _GAP and abs(x - one.x) > _CLEAR for one in placed):
            placed.append(Shape(kind="circle", color="red", x=x, y=y, radius=radius))
        if len(placed) == count:
            break
    placed.sort(key=lambda one: one.x)
    plain = all(one.direction_from(other) for one, other in pairwise(placed))
    alone = count > 1 or placed[0].corner() is not None
    return placed if len(placed) == count and plain and alone else None


def _dress(random: Random, bare: Shape, kind: Kind, color: Color) -> Shape:
    red, green, blue = (max(0, min(255, item + random.randint(-10, 10))) for item in PAINTS[color])
    return Shape(
        kind=kind,
        color=color,
        x=bare.x,
        y=bare.y,
        radius=bare.radius,
        turn=random.uniform(-0.2, 0.2),
        paint=(red, green, blue),
    )
