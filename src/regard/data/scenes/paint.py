"""From a scene to pixels, with soft edges."""

from math import cos, pi, sin

import numpy as np
from jaxtyping import Float, UInt8
from numpy.typing import NDArray

from regard.data.scenes.scene import SIDE, Kind, Scene, Shape

Points = NDArray[np.float64]


def paint_scene(scene: Scene) -> UInt8[np.ndarray, "3 height width"]:
    """Draw a scene, in red, green and blue, on as many pixels as its style has.

    A pixel on an edge is as much of the shape as its middle lies inside, in pixels, up to half a pixel either way.

    >>> from regard.data.scenes.scene import Shape
    >>> shape = Shape(kind="circle", color="red", x=32, y=32, radius=8, paint=(200, 0, 0))
    >>> paint_scene(Scene(shapes=(shape,)))[:, 32, 32].tolist()
    [200, 0, 0]
    """
    side = scene.style.side
    scale = side / SIDE
    pixels = np.empty((side, side, 3))
    pixels[:] = scene.ground
    for shape in scene.shapes:
        top, bottom, left, right = _box(shape, side)
        part = pixels[top:bottom, left:right]
        rows, columns = (np.mgrid[top:bottom, left:right] + 0.5) / scale
        cover = np.clip(0.5 - scale * _outside(shape, columns - shape.x, rows - shape.y), 0.0, 1.0)[..., None]
        part += cover * (np.array(shape.paint, dtype=np.float64) - part)
    return np.ascontiguousarray(np.rint(pixels).astype(np.uint8).transpose(2, 0, 1))


def _box(shape: Shape, side: int) -> tuple[int, int, int, int]:
    """Give the pixels around a shape, in a picture of so many along a side."""
    scale = side / SIDE
    x, y, reach = scale * shape.x, scale * shape.y, scale * shape.radius + 1
    return max(0, int(y - reach)), min(side, int(y + reach) + 1), max(0, int(x - reach)), min(side, int(x + reach) + 1)


def _outside(shape: Shape, x: Points, y: Points) -> Points:
    """Measure how far points lie outside a shape around the origin; inside, below zero."""
    if shape.kind == "circle":
        distance: Points = np.hypot(x, y) - shape.radius
        return distance
    c, s = cos(shape.turn), sin(shape.turn)
    corners = shape.radius * _CORNERS[shape.kind] @ np.array([[c, s], [-s, c]])
    return _outside_polygon(corners, x, y)


def _outside_polygon(corners: Float[np.ndarray, "corners 2"], x: Points, y: Points) -> Points:
    """Measure the distance to the nearest edge, with a sign by how often a ray to the right crosses edges."""
    nearest = np.full(x.shape, np.inf)
    inside = np.zeros(x.shape, dtype=bool)
    for (left, top), (right, bottom) in zip(corners.tolist(), np.roll(corners, -1, axis=0).tolist(), strict=True):
        across, down = right - left, bottom - top
        from_x, from_y = x - left, y - top
        along = np.clip((from_x * across + from_y * down) / (across**2 + down**2), 0.0, 1.0)
        np.minimum(nearest, (from_x - along * across) ** 2 + (from_y - along * down) ** 2, out=nearest)
        if down:
            inside ^= ((top > y) != (bottom > y)) & (from_x < from_y * (across / down))
    distance: Points = np.sqrt(nearest)
    return np.where(inside, -distance, distance)


def _ring(*radii: float, start: float) -> Points:
    """Put corners at equal angles, at these distances in turn."""
    angles = [start + 2 * pi * number / len(radii) for number in range(len(radii))]
    return np.array([(radius * cos(angle), radius * sin(angle)) for radius, angle in zip(radii, angles, strict=True)])


def _plus(arm: float) -> Points:
    """Put the corners of a cross with arms of half this width on the circle around it."""
    reach = (1 - arm**2) ** 0.5
    quarter = [(arm, -reach), (arm, -arm), (reach, -arm)]
    turns = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    return np.array([(x * c - y * s, x * s + y * c) for c, s in turns for x, y in quarter])


_CORNERS: dict[Kind, Points] = {
    "square": _ring(1, 1, 1, 1, start=pi / 4),
    "triangle": _ring(1, 1, 1, start=-pi / 2),
    "star": _ring(*(1, 0.45) * 5, start=-pi / 2),
    "cross": _plus(0.32),
}
