"""Labeled texts for classifiers: `builtin:topics`, where words say it all, and `builtin:opinions`, where they do not.

Two of three texts of `builtin:opinions` have a word for and one against, and the order and "not" say which is meant:
with the two words exchanged the text is as likely, and has the other label, so that a bag of words can only guess. The
others have one word, affirmed or denied: there two words together say it ("not", "dull"), and neither alone.

>>> for text, label in labeled_texts("builtin:opinions", split="train", size=3):
...     print(f"{label}: {text}")
positive: Nothing about the waiter was dirty, everything was friendly.
negative: Last year is long ago. I thought the food would be quick, and it was dirty. It was raining.
positive: We went there again. The film was punctual, not rude. We stayed for an hour.
>>> for text, label in labeled_texts("builtin:topics", split="train", size=2):
...     print(f"{label}: {text}")
weather: Long ago my aunt was thinking of the wind.
travel: Nobody in town forgot the guide and the passport.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from regard.data.builtin.draw import Draw
from regard.data.builtin.sampling import Split, draw_texts
from regard.data.corpora.catalogue import check_builtin
from regard.data.formats.labeled import Labeled
from regard.errors import DataError

_TOPICS = {
    "food": ("soup", "bread", "oven", "salt", "kitchen", "lemon", "cook"),
    "music": ("violin", "song", "choir", "drum", "melody", "concert", "singer"),
    "sport": ("match", "goal", "coach", "race", "ball", "stadium", "runner"),
    "travel": ("train", "passport", "suitcase", "hotel", "map", "ticket", "guide"),
    "weather": ("storm", "rain", "cloud", "frost", "wind", "thunder", "umbrella"),
}
_FRAMES = (
    "{when} {who} spoke of the {a}.",
    "{who} forgot the {a} and the {b}.",
    "Of the {a} {who} said nothing {when}.",
    "{when} the {a} was more important than the {b}.",
    "{when} {who} was thinking of the {a}.",
    "{who} dreamed of the {a} and of the {b} {when}.",
)
_WHEN = ("yesterday", "last week", "this morning", "on Sunday", "long ago")
_WHO = ("my aunt", "the neighbor", "nobody in town", "everyone", "the old man", "Elena")
_THINGS = ("food", "room", "waiter", "bus", "shop", "film", "garden", "teacher")
_FOR = ("good", "pleasant", "clean", "friendly", "punctual", "quick")
_AGAINST = ("bad", "dull", "dirty", "rude", "late", "slow")
_BOTH = (
    "The {thing} was {meant}, not {denied}.",
    "The {thing} was not {denied} but {meant}.",
    "I thought the {thing} would be {denied}, and it was {meant}.",
    "They say the {thing} is {denied}. It is not {denied}, it is {meant}.",
    "You called the {thing} {denied}; I would call it {meant}.",
    "Nothing about the {thing} was {denied}, everything was {meant}.",
)
_ALONE = (
    "The {thing} was never {denied}.",
    "The {thing} was always {meant}.",
    "I am told that the {thing} is not {denied}.",
    "I am told that the {thing} is {meant}.",
    "Nobody calls the {thing} {denied}.",
    "Everybody calls the {thing} {meant}.",
)
_BEFORE = ("", "To be honest: ", "We went there again. ", "Last year is long ago. ", "Listen: ", "One more word. ")
_AFTER = ("", " We stayed for an hour.", " It was raining.", " So much for that.", " Ask anyone.", " That is all.")


def labeled_texts(name: str, *, split: Split, size: int, seed: int = 0) -> list[Labeled]:
    """Draw texts with their labels, no two alike; splits never share one."""
    check_builtin(name, "classify", argument="name")
    labels: dict[str, str] = {}
    derive = (_topic if name == "builtin:topics" else _opinion)(Draw(f"{name} {split} {seed}"), labels)
    drawn = [Labeled(text, labels[text]) for text in islice(draw_texts(derive, split=split), size)]
    if len(drawn) < size:
        raise DataError(
            f"`size` must be at most {len(drawn):,}, all that split {split!r} of {name} gives; received {size:,}."
        )
    return drawn


def _topic(draw: Draw, labels: dict[str, str]) -> Callable[[], str]:
    def derive() -> str:
        label = draw.pick([*_TOPICS])
        first, second = _two(draw, _TOPICS[label])
        text = draw.pick(_FRAMES).format(when=draw.pick(_WHEN), who=draw.pick(_WHO), a=first, b=second)
        text = text[0].upper() + text[1:]
        labels[text] = label
        return text

    return derive


def _two(draw: Draw, options: tuple[str, ...]) -> Iterator[str]:
    first = draw.pick(options)
    return iter((first, draw.pick([item for item in options if item != first])))


def _opinion(draw: Draw, labels: dict[str, str]) -> Callable[[], str]:
    def derive() -> str:
        thing, positive = draw.pick(_THINGS), draw.chance(0.5)
        sides = (_FOR, _AGAINST) if positive else (_AGAINST, _FOR)
        meant, denied = (draw.pick(side) for side in sides)
        frame = draw.pick(_ALONE if draw.chance(1 / 3) else _BOTH)
        text = draw.pick(_BEFORE) + frame.format(thing=thing, meant=meant, denied=denied) + draw.pick(_AFTER)
        labels[text] = "positive" if positive else "negative"
        return text

    return derive
