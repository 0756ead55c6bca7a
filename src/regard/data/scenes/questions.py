"""Questions about a scene with the one answer each: color, shape, position, count, yes or no.

A question is asked only where its answer is plain: "what color is the circle?" where there is one circle, "where?"
where a shape is clear of the middle lines, "left of?" where one is more left than above or below.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from regard.data.scenes.scene import COLORS, KINDS, Color, Kind, Scene, Shape
from regard.errors import with_article

QuestionKind: TypeAlias = Literal["color", "shape", "position", "count", "yes/no"]
QUESTION_KINDS: tuple[QuestionKind, ...] = ("color", "shape", "position", "count", "yes/no")

_SIDES = {"left": "left of", "right": "right of", "above": "above", "below": "below"}
_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
_WORDINGS: dict[str, tuple[str, ...]] = {
    "color": (
        "what color is the {a}?",
        "what colour is the {a}?",
        "what is the color of the {a}?",
        "which color does the {a} have?",
        "which colour is the {a}?",
    ),
    "shape": (
        "what shape is {a}?",
        "what is the {a} shape?",
        "which shape is {a}?",
        "what {a} shape is there?",
        "what kind of shape is the {a} one?",
    ),
    "corner": (
        "where is the {a}?",
        "in which corner is the {a}?",
        "in what part of the picture is the {a}?",
        "where in the picture is the {a}?",
    ),
    "side": (
        "on which side of the {b} is the {a}?",
        "where is the {a} relative to the {b}?",
        "where is the {a}, seen from the {b}?",
    ),
    "count": (
        "how many {a} are there?",
        "how many {a} do you see?",
        "how many {a} are in the picture?",
        "what is the number of {a}?",
    ),
    "exists": (
        "is there {a}?",
        "is there {a} in the picture?",
        "do you see {a}?",
        "does the picture show {a}?",
    ),
    "is color": ("is the {a} {b}?", "is the color of the {a} {b}?"),
    "is side": ("is the {a} {b}?", "does the {a} lie {b}?"),
    "more": ("are there more {a} than {b}?", "do you see more {a} than {b}?"),
}


class Question(NamedTuple):
    """A question, its answer and its kind."""

    text: str
    answer: str
    kind: str


class _Candidate(NamedTuple):
    """What may be asked of a scene, before it is put into words."""

    kind: QuestionKind
    form: str
    wording: str
    answer: str
    a: str
    b: str = ""


class Asker:
    """Asks of one scene after another, so that within each form all answers come equally often, as far as they can.

    Whoever hears the question alone then has little to go by.

    >>> from regard.data.scenes.scene import draw_scene
    >>> random = Random(5)
    >>> [one.kind for one in Asker().ask(draw_scene(random, num_shapes=4), random)]
    ['color', 'shape', 'position', 'count', 'yes/no']
    """

    def __init__(self) -> None:
        self._asked: Counter[tuple[str, str]] = Counter()

    def ask(self, scene: Scene, random: Random, *, kinds: Sequence[QuestionKind] = QUESTION_KINDS) -> list[Question]:
        """Ask a question of each kind that the scene has one for."""
        asked = []
        for kind in kinds:
            forms: dict[str, list[_Candidate]] = {}
            for one in _CANDIDATES[kind](scene):
                forms.setdefault(one.form, []).append(one)
            if forms:
                asked.append(self._put(forms[random.choice(sorted(forms))], random))
        return asked

    def _put(self, candidates: list[_Candidate], random: Random) -> Question:
        """Take the answer that came least often, and put it into words."""
        random.shuffle(candidates)
        chosen = min(candidates, key=lambda one: self._asked[one.form, one.answer])
        self._asked[chosen.form, chosen.answer] += 1
        text = random.choice(_WORDINGS[chosen.wording]).format(a=chosen.a, b=chosen.b)
        return Question(text, chosen.answer, chosen.kind)


def _colors(scene: Scene) -> Iterator[_Candidate]:
    for one in scene.shapes:
        if scene.count(kind=one.kind) == 1:
            yield _Candidate("color", f"color of {one.kind}", "color", one.color, one.kind)
    if len(scene.shapes) == 1:
        yield _Candidate("color", "color of shape", "color", scene.shapes[0].color, "shape")


def _shapes(scene: Scene) -> Iterator[_Candidate]:
    for one in scene.shapes:
        if scene.count(color=one.color) == 1:
            yield _Candidate("shape", f"shape of {one.color}", "shape", one.kind, one.color)


def _positions(scene: Scene) -> Iterator[_Candidate]:
    for one in scene.shapes:
        corner = one.corner()
        for name in _names(scene, one) if corner else ():
            yield _Candidate("position", "corner", "corner", str(corner), name)
    for one, other, name, other_name in _named_pairs(scene):
        side = one.seen_from(other)
        if side:
            yield _Candidate("position", "side", "side", side, name, other_name)


def _counts(scene: Scene) -> Iterator[_Candidate]:
    yield _Candidate("count", "count all", "count", str(len(scene.shapes)), "shapes")
    for kind in KINDS:
        yield _Candidate("count", "count kind", "count", str(scene.count(kind=kind)), _plural(kind))
    for color in COLORS:
        yield _Candidate("count", "count color", "count", str(scene.count(color=color)), f"{color} shapes")
    for color in _colors_of(scene):
        for kind in _kinds_of(scene):
            number = scene.count(kind=kind, color=color)
            yield _Candidate("count", "count both", "count", str(number), f"{color} {_plural(kind)}")


def _yes_or_no(scene: Scene) -> Iterator[_Candidate]:
    colors, kinds = _colors_of(scene), _kinds_of(scene)
    for color in COLORS:
        yield _said("exists color", "exists", color in colors, with_article(f"{color} shape"))
    for kind in KINDS:
        yield _said("exists kind", "exists", kind in kinds, with_article(kind))
    for color in COLORS:  # where a red shape and a circle are there, a red circle may still not be
        for kind in KINDS:
            there = scene.count(kind=kind, color=color) > 0
            if there or color in colors or kind in kinds:
                yield _said("exists both", "exists", there, with_article(f"{color} {kind}"))
    for one in scene.shapes:
        for color in COLORS if scene.count(kind=one.kind) == 1 else ():
            yield _said("is color", "is color", color == one.color, one.kind, color)
    for one, other, name, other_name in _named_pairs(scene):
        side = one.seen_from(other)
        for asked in (side, _OPPOSITE[side]) if side else ():
            yield _said("is side", "is side", asked == side, name, f"{_SIDES[asked]} the {other_name}")
    for kind in KINDS:
        for other_kind in KINDS:
            if kind != other_kind and (kind in kinds or other_kind in kinds):
                more = scene.count(kind=kind) > scene.count(kind=other_kind)
                yield _said("more", "more", more, _plural(kind), _plural(other_kind))


_CANDIDATES = {"color": _colors, "shape": _shapes, "position": _positions, "count": _counts, "yes/no": _yes_or_no}


def _said(form: str, wording: str, yes: bool, a: str, b: str = "") -> _Candidate:
    return _Candidate("yes/no", form, wording, "yes" if yes else "no", a, b)


def _colors_of(scene: Scene) -> list[Color]:
    return [color for color in COLORS if scene.count(color=color)]


def _kinds_of(scene: Scene) -> list[Kind]:
    return [kind for kind in KINDS if scene.count(kind=kind)]


def _names(scene: Scene, shape: Shape) -> list[str]:
    """List what a shape may be called so that no other is meant."""
    names = []
    if scene.count(kind=shape.kind) == 1:
        names.append(str(shape.kind))
    if scene.count(color=shape.color) == 1:
        names.append(f"{shape.color} shape")
    if scene.count(kind=shape.kind, color=shape.color) == 1:
        names.append(f"{shape.color} {shape.kind}")
    return names


def _named_pairs(scene: Scene) -> Iterator[tuple[Shape, Shape, str, str]]:
    """Give any two shapes, with every way of calling them."""
    for one in scene.shapes:
        for other in scene.shapes:
            if one is not other:
                for name in _names(scene, one):
                    for other_name in _names(scene, other):
                        yield one, other, name, other_name


def _plural(kind: str) -> str:
    return f"{kind}es" if kind == "cross" else f"{kind}s"
