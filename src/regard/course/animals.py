"""A corner of Spanish that a small translator learns in seconds: animals that follow, greet and scare each other.

Adjectives stand behind the noun in Spanish and before it in English; article and adjective agree with the noun; *a*
marks whom the verb is about and has no English word, and joins *el* to *al*. So links cross, and some words have none.
"""

import random
from pathlib import Path

from regard.data.corpora.pair import Link, Pair

NOUNS = {"cat": "gato", "dog": "perro", "bird": "pájaro", "cow": "vaca", "hen": "gallina", "sheep": "oveja"}
ADJECTIVES = {"white": "blanc", "black": "negr", "small": "pequeñ", "tired": "cansad", "old": "viej"}
VERBS = {"sees": "ve", "follows": "sigue", "greets": "saluda", "scares": "asusta"}
NUMBER = 5184
"""How many different pairs there are."""


def animals(count: int, *, seed: int = 0) -> list[Pair]:
    """Draw different sentence pairs with their word links, the same for the same seed.

    >>> pair = animals(1)[0]
    >>> pair.source, pair.target
    ('la vaca cansada asusta al gato pequeño', 'the tired cow scares the small cat')
    >>> print(*pair.links)
    0-0 1-2 2-1 3-3 4-4 5-6 6-5
    """
    draw = random.Random(seed)
    pairs: dict[str, Pair] = {}
    while len(pairs) < min(count, NUMBER):
        pair = _draw_pair(draw)
        pairs.setdefault(pair.source, pair)
    return list(pairs.values())


def write_animals(path: str | Path, count: int, *, seed: int = 0) -> Path:
    """Write sentence pairs as TSV, which `regard train --data` reads."""
    written = Path(path)
    written.write_text(
        "".join(f"{pair.source}\t{pair.target}\n" for pair in animals(count, seed=seed)), encoding="utf-8"
    )
    return written


def _draw_pair(draw: random.Random) -> Pair:
    first, second, verb = _draw_phrase(draw), _draw_phrase(draw), draw.choice([*VERBS])
    joined = second[0][0] == "el"
    source = [*first[0], VERBS[verb], *(["al", *second[0][1:]] if joined else ["a", *second[0]])]
    target = [*first[1], verb, *second[1]]
    middle = len(first[0])
    behind = middle + (1 if joined else 2)
    links = [*first[2], (middle, middle), *((one + behind, other + middle + 1) for one, other in second[2])]
    return Pair(source=" ".join(source), target=" ".join(target), links=tuple(Link(*link, sure=True) for link in links))


def _draw_phrase(draw: random.Random) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    noun, adjective = draw.choice([*NOUNS]), draw.choice([*ADJECTIVES, ""])
    spanish = NOUNS[noun]
    article = "la" if spanish.endswith("a") else "el"
    if not adjective:
        return [article, spanish], ["the", noun], [(0, 0), (1, 1)]
    agreeing = ADJECTIVES[adjective] + spanish[-1]
    return [article, spanish, agreeing], ["the", adjective, noun], [(0, 0), (1, 2), (2, 1)]
