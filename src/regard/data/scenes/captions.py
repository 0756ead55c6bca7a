"""A caption for a scene, by a grammar without chance: from left to right, each shape beside the next."""

from itertools import pairwise

from regard.data.scenes.scene import Scene, Shape

_SIDES = {"left": "left of", "right": "right of", "above": "above", "below": "below"}


def caption_scene(scene: Scene) -> str:
    """Describe a scene.

    >>> one = Shape(kind="circle", color="red", x=12, y=10, radius=6)
    >>> caption_scene(Scene(shapes=(one,)))
    'a red circle in the top left'
    >>> two = Shape(kind="square", color="orange", x=40, y=12, radius=6)
    >>> three = Shape(kind="star", color="blue", x=46, y=50, radius=6)
    >>> caption_scene(Scene(shapes=(one, two, three)))
    'a red circle left of an orange square, which is above a blue star'
    """
    first = scene.shapes[0]
    if len(scene.shapes) == 1:
        return f"{name(first)} in the {first.corner()}"
    caption = name(first)
    for number, (before, after) in enumerate(pairwise(scene.shapes)):
        caption += f"{', which is' if number else ''} {_SIDES[before.direction_from(after) or 'left']} {name(after)}"
    return caption


def name(shape: Shape) -> str:
    """Name a shape with its article.

    >>> name(Shape(kind="star", color="orange", x=1, y=1, radius=1))
    'an orange star'
    """
    return f"{'an' if shape.color[0] in 'aeiou' else 'a'} {shape.color} {shape.kind}"
