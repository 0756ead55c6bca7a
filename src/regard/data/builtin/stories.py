"""`builtin:stories`: short stories in English, one a line, for language models.

What comes next often depends on a word some ten words before: what is *theirs* on the place, what follows *it* on the
thing or on the place, and *she* or *he* on the name. Verbs go with everything, and several places have the same things,
so that nothing else tells which place it is. Counting the last few words is not enough.

>>> for story in stories(split="train", size=2):
...     print(story)
Nora tried a jacket at the busy shop near the station, and it kept out the wind. Their owner lives upstairs. She told
her sister about it.
Tom found a comedy at the quiet library across the bridge. It made everybody laugh. Their reading lamps are green. He
will come back on Sunday.
"""

from functools import partial
from itertools import islice
from typing import NamedTuple

from regard.data.builtin.draw import Draw
from regard.data.builtin.sampling import Split, draw_texts

NAME = "builtin:stories"
PASSAGE = (
    "I tried a sandwich at the little restaurant by the harbor, and it was better than I had hoped. Their bread comes "
    "warm from the oven."
)
"""A passage such as the lectures have: "it" may be the sandwich or the restaurant, "their" is the restaurant's."""
READINGS = {"it": ("sandwich", "restaurant"), "their": ("restaurant",)}
"""What a reader may take its pronouns for."""


class _Things(NamedTuple):
    """Things of a kind, and what may follow "it" where it is one of them."""

    names: tuple[str, ...]
    endings: tuple[str, ...]


class _Place(NamedTuple):
    """A place, what one comes for, what may follow "it" where it is the place, and "their"."""

    name: str
    things: _Things
    endings: tuple[str, ...]
    theirs: tuple[str, ...]


_FOOD = _Things(
    ("sandwich", "soup", "cake", "pie", "melon", "cheese"),
    ("tasted of lemon", "tasted too salty", "smelled of garlic", "was still warm"),
)
_WORKS = _Things(
    ("comedy", "thriller", "drama", "fairy tale"),
    ("made everybody laugh", "told of a long journey", "made everybody cry", "ended too soon"),
)
_CLOTHES = _Things(
    ("coat", "hat", "scarf", "jacket"), ("fit very well", "fit badly", "was much too long", "kept out the wind")
)
_EITHER = ("was better than {who} had hoped", "was a pleasant surprise", "was not what {who} wanted")
_PLACES = (
    _Place(
        "restaurant",
        _FOOD,
        ("opened at noon", "was full of sailors", "stood empty for an hour"),
        ("bread comes warm from the oven", "waiters sing", "menu changes every day"),
    ),
    _Place(
        "bakery",
        _FOOD,
        ("opened before dawn", "smelled of cinnamon", "had a long line"),
        ("flour comes from a mill", "rolls are gone by nine", "baker knows everyone"),
    ),
    _Place(
        "market",
        _FOOD,
        ("was loud and bright", "closed when the rain came", "filled the whole square"),
        ("stalls stand in rows", "farmers arrive by boat", "scales are old"),
    ),
    _Place(
        "library",
        _WORKS,
        ("was silent as snow", "stayed open until midnight", "had high windows"),
        ("books stand in the cellar", "reading lamps are green", "shelves reach the roof"),
    ),
    _Place(
        "cinema",
        _WORKS,
        ("was dark and warm", "sold every seat", "closed after the last show"),
        ("screen is wide", "seats are red", "tickets are cheap on Monday"),
    ),
    _Place(
        "shop",
        _CLOTHES,
        ("had one mirror", "closed for lunch", "was crowded with tourists"),
        ("prices are fair", "buttons are made of wood", "owner lives upstairs"),
    ),
    _Place(
        "workshop",
        _CLOTHES,
        ("smelled of wool", "had two looms", "lay under the roof"),
        ("needles come from abroad", "tailor whistles", "scissors are sharp"),
    ),
)
_VERBS = ("found", "chose", "wanted", "liked", "tried")
_SIZES = ("little", "busy", "old", "new", "quiet", "famous")
_SITES = ("by the harbor", "near the station", "behind the church", "on the hill", "across the bridge")
_PEOPLE = (
    *((name, "she", "her") for name in ("Ana", "Clara", "Elena", "Nora", "Rosa")),
    *((name, "he", "his") for name in ("Ben", "Karl", "Luis", "Omar", "Tom")),
    ("I", "I", "my"),
    ("we", "we", "our"),
)
_AFTER = (
    "{who} told {whose} sister about it",
    "{who} told {whose} neighbor about it",
    "{who} will come back on Sunday",
    "{who} paid and left",
    "{who} walked home through the rain",
)


def stories(*, split: Split, size: int, seed: int = 0) -> list[str]:
    """Draw so many stories, no two alike; splits never share one. `lectures` has the passage alone."""
    if split == "lectures":
        return [PASSAGE]
    derive = partial(_story, Draw(f"{NAME} {split} {seed}"))
    return list(islice(draw_texts(derive, split=split, known=[PASSAGE]), size))


def _story(draw: Draw) -> str:
    name, who, whose = draw.pick(_PEOPLE)
    place = draw.pick(_PLACES)
    where = f"at the {draw.pick(_SIZES)} {place.name} {draw.pick(_SITES)}"
    done = f"{name} {draw.pick(_VERBS)} a {draw.pick(place.things.names)}"
    begun = f"{done} {where}" if draw.chance(0.6) else f"{where} {done}"
    of_it = draw.weigh([(3, place.things.endings), (3, place.endings), (2, _EITHER)])
    it = f"it {draw.pick(of_it).format(who=who)}"
    first = [f"{begun}, and {it}"] if draw.chance(0.6) else [begun, it]
    rest = [f"their {draw.pick(place.theirs)}", draw.pick(_AFTER).format(who=who, whose=whose)]
    rest = rest if draw.chance(0.5) else rest[::-1]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in [*first, *rest])
