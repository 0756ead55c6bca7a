"""Questions about a scene with the one answer each: color, shape, position, count, yes or no.

A question is asked only where its answer is plain: "what color is the circle?" where there is one circle, "where?"
where a shape is clear of the middle lines, "left of?" where one is more left than above or below.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from regard.data.scenes.scene import Color, Kind, Scene, Shape
from regard.errors import with_article

QuestionKind: TypeAlias = Literal["color", "shape", "position", "count", "yes/no"]
QUESTION_KINDS: tuple[QuestionKind, ...] = ("color", "shape", "position", "count", "yes/no")

_SIDES = {"left": "left of", "right": "right of", "above": "above", "below": "below"}
_NUMBERS = ("no", "one", "two", "three", "four", "five")
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
    """A question, its answer in a word or two, its kind, and the answer in a sentence."""

    text: str
    answer: str
    kind: str
    sentence: str


class _Candidate(NamedTuple):
    """What may be asked of a scene, before it is put into words."""

    kind: QuestionKind
    form: str
    wording: str
    answer: str
    sentence: str
    a: str
    b: str = ""


class Asker:
    """Asks of one scene after another, so that within each form all answers come equally often, as far as they can.

    A model that reads the question alone then has little to go by.

    >>> from regard.data.scenes.scene import draw_scene
    >>> random = Random(5)
    >>> [one.kind for one in Asker().ask(draw_scene(random, num_shapes=4), random)]
    ['color', 'shape', 'position', 'count', 'yes/no']
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def ask(self, scene: Scene, random: Random, *, kinds: Sequence[QuestionKind] = QUESTION_KINDS) -> list[Question]:
        """Ask a question of each kind that the scene has one for."""
        questions = []
        for kind in kinds:
            forms: dict[str, list[_Candidate]] = {}
            for item in _CANDIDATES[kind](scene):
                forms.setdefault(item.form, []).append(item)
            if forms:
                questions.append(self._put(forms[random.choice(sorted(forms))], random))
        return questions

    def _put(self, candidates: list[_Candidate], random: Random) -> Question:
        """Take the answer that came least often, and put it into words."""
        random.shuffle(candidates)
        chosen = min(candidates, key=lambda one: self._counts[one.form, one.answer])
        self._counts[chosen.form, chosen.answer] += 1
        text = random.choice(_WORDINGS[chosen.wording]).format(a=chosen.a, b=chosen.b)
        return Question(text, chosen.answer, chosen.kind, chosen.sentence)


def _colors(scene: Scene) -> Iterator[_Candidate]:
    for item in scene.shapes:
        if scene.count(kind=item.kind) == 1:
            sentence = f"the {item.kind} is {item.color}"
            yield _Candidate("color", f"color of {item.kind}", "color", item.color, sentence, item.kind)
    if len(scene.shapes) == 1:
        color = scene.shapes[0].color
        yield _Candidate("color", "color of shape", "color", color, f"the shape is {color}", "shape")


def _shapes(scene: Scene) -> Iterator[_Candidate]:
    for item in scene.shapes:
        if scene.count(color=item.color) == 1:
            sentence = f"the {item.color} shape is {with_article(item.kind)}"
            yield _Candidate("shape", f"shape of {item.color}", "shape", item.kind, sentence, item.color)


def _positions(scene: Scene) -> Iterator[_Candidate]:
    for shape in scene.shapes:
        corner = shape.corner()
        for name in _names(scene, shape) if corner else ():
            sentence = f"the {name} is in the {corner}"
            yield _Candidate("position", "corner", "corner", str(corner), sentence, name)
    for shape, other, name, other_name in _named_pairs(scene):
        side = shape.direction_from(other)
        if side:
            sentence = f"the {name} is {_SIDES[side]} the {other_name}"
            yield _Candidate("position", "side", "side", side, sentence, name, other_name)


def _counts(scene: Scene) -> Iterator[_Candidate]:
    yield _counted("count all", len(scene.shapes), "shape")
    for kind in scene.style.kinds:
        yield _counted("count kind", scene.count(kind=kind), kind)
    for color in scene.style.colors:
        yield _counted("count color", scene.count(color=color), f"{color} shape")
    for color in _colors_of(scene):
        for kind in _kinds_of(scene):
            yield _counted("count both", scene.count(kind=kind, color=color), f"{color} {kind}")


def _yes_or_no(scene: Scene) -> Iterator[_Candidate]:
    colors, kinds = _colors_of(scene), _kinds_of(scene)
    for color in scene.style.colors:
        yield _exists("exists color", scene.find(color=color), f"{color} shape")
    for kind in scene.style.kinds:
        yield _exists("exists kind", scene.find(kind=kind), kind)
    for color in scene.style.colors:  # where a red shape and a circle are there, a red circle may still not be
        for kind in scene.style.kinds:
            if color in colors or kind in kinds:
                yield _exists("exists both", scene.find(kind=kind, color=color), f"{color} {kind}")
    for shape in scene.shapes:
        for color in scene.style.colors if scene.count(kind=shape.kind) == 1 else ():
            yield _statement("is color", color == shape.color, f"the {shape.kind} is {shape.color}", shape.kind, color)
    for shape, other, name, other_name in _named_pairs(scene):
        side = shape.direction_from(other)
        if side:
            true = f"the {name} is {_SIDES[side]} the {other_name}"
            for stated in (side, _OPPOSITE[side]):
                yield _statement("is side", stated == side, true, name, f"{_SIDES[stated]} the {other_name}")
    for kind in scene.style.kinds:
        for other_kind in scene.style.kinds:
            if kind != other_kind and (kind in kinds or other_kind in kinds):
                number, others = scene.count(kind=kind), scene.count(kind=other_kind)
                true = f"{_there(number, kind)} and {_number(others, other_kind)}"
                yield _statement("more", number > others, true, _plural(kind), _plural(other_kind))


_CANDIDATES = {"color": _colors, "shape": _shapes, "position": _positions, "count": _counts, "yes/no": _yes_or_no}


def _statement(form: str, yes: bool, true: str, a: str, b: str) -> _Candidate:
    answer = "yes" if yes else "no"
    return _Candidate("yes/no", form, form, answer, f"{answer}, {true}", a, b)


def _exists(form: str, shapes: list[Shape], name: str) -> _Candidate:
    """Ask whether there is such a shape; of one that is alone, the sentence says where."""
    corner = shapes[0].corner() if len(shapes) == 1 else None
    where = f" in the {corner}" if corner else ""
    sentence = f"yes, there is {with_article(name)}{where}" if shapes else f"no, there is no {name}"
    return _Candidate("yes/no", form, "exists", "yes" if shapes else "no", sentence, with_article(name))


def _counted(form: str, number: int, name: str) -> _Candidate:
    return _Candidate("count", form, "count", str(number), _there(number, name), _plural(name))


def _there(number: int, name: str) -> str:
    return f"there {'is' if number == 1 else 'are'} {_number(number, name)}"


def _number(number: int, name: str) -> str:
    return f"{_NUMBERS[number]} {name if number == 1 else _plural(name)}"


def _colors_of(scene: Scene) -> list[Color]:
    return [color for color in scene.style.colors if scene.count(color=color)]


def _kinds_of(scene: Scene) -> list[Kind]:
    return [kind for kind in scene.style.kinds if scene.count(kind=kind)]


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
    for item in scene.shapes:
        for other in scene.shapes:
            if item is not other:
                for name in _names(scene, item):
                    for other_name in _names(scene, other):
                        yield item, other, name, other_name


def _plural(name: str) -> str:
    return f"{name}es" if name.endswith("cross") else f"{name}s"
