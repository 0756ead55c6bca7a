"""What students read: originals, copies and phrases, the teachers' translations, and sources as people type them."""

import random
from collections.abc import Callable
from pathlib import Path

from regard.data.corpora.pair import Pair
from translator_parts.copies import PERSON, as_typed, rename, vary
from translator_parts.files import KINDS, bare_key, held_out, lines, read_side, write, write_lines
from translator_parts.names import TRAINED, with_right_and, with_words

TYPED = 0.25
"""Share of the pairs that students read a copy of with the source as people type it."""
TIMES = {"signs": 8, "words": 6, "chunks": 6}
"""How often each is read: they are short, and sentences are unlike them."""
RENAMED = 0.6
"""Share of the translations with names that they read a copy of with other names."""


def assemble(work: Path, direction: str) -> None:
    """Join originals, what `prepare` made of them, the teachers' translations and sources as people type them.

    A line of links belongs to an original only; the file is filled up with empty lines.
    """
    apart, originals, chance = held_out(work), read_side(work / "train"), random.Random(1)
    links = lines(work / "links.es-en")
    if len(links) != len(originals):
        raise SystemExit(f"{work}/links.es-en must have a line for each of the {len(originals):,} pairs.")
    kinds = {name: read_side(work / name) for name in KINDS}
    translated = read_translations(work, direction)
    named = [pair for pairs in translated.values() for pair in pairs if PERSON.search(pair.source)]
    names = with_words(TRAINED, (text for pair in originals for text in (pair.source, pair.target)))
    renamed = [rename(pair, chance, names) for pair in named if chance.random() < RENAMED]
    kinds |= translated
    kinds["renamed"] = [Pair(source=with_right_and(sides[0]), target=sides[1]) for sides in renamed if sides]
    everything = [*originals, *(pair for pairs in kinds.values() for pair in pairs)]
    typed = chance.sample(everything, int(TYPED * len(everything)))
    kinds["typed"] = [typed_source(pair, direction, as_typed, chance) for pair in typed]
    phrases = [*kinds["phrases"], *kinds["signs"]]
    changes = (vary, as_typed, as_typed)  # phrases have forms that no other pairs have
    kinds["varied"] = [typed_source(pair, direction, change, chance) for pair in phrases for change in changes]
    known = {(pair.source, pair.target) for pair in originals}
    more = apart.free(pair for pairs in kinds.values() for pair in pairs if (pair.source, pair.target) not in known)
    more += [pair for name, times in TIMES.items() for pair in apart.free(kinds[name]) * (times - 1)]
    write(work / f"student-{direction}", [*originals, *more])
    links = links if direction == "es-en" else [turned_links(line) for line in links]
    write_lines(work / f"student-{direction}.links", [*links, *[""] * len(more)])
    counts = ", ".join(f"{len(pairs):,} {name}" for name, pairs in kinds.items())
    print(f"{direction}: {len(originals):,} originals and {len(more):,} more, of {counts}")


def read_translations(work: Path, direction: str) -> dict[str, list[Pair]]:
    """Read what the teachers made of the sentences of both sides, and of English alone.

    No English of other pairs is ever a target: it may be among the references of Tatoeba's other tests. So students to
    English read what teachers make of the Spanish that teachers made of it, and only where that is another sentence.
    """
    result = {
        "more.es": read_translated(work, "more.es", "more.es.translated"),
        "more.en": [turned(pair) for pair in read_translated(work, "more.en", "more.en.translated")],
    }
    if direction == "en-es":
        return result | {"alone": [turned(pair) for pair in read_translated(work, "alone.en", "alone.es")]}
    others = {bare_key(text) for text in lines(work / "alone.en")}
    again = read_translated(work, "alone.es", "alone.es.translated")
    return result | {"alone": [pair for pair in again if bare_key(pair.target) not in others]}


def typed_source(
    pair: Pair, direction: str, change: Callable[[str, str, random.Random], str], chance: random.Random
) -> Pair:
    """Change the side that a direction reads."""
    if direction == "es-en":
        return Pair(source=change(pair.source, "es", chance), target=pair.target)
    return Pair(source=pair.source, target=change(pair.target, "en", chance))


def read_translated(work: Path, name: str, made: str) -> list[Pair]:
    """Read sentences and what teachers made of them, as far as they came."""
    return [
        Pair(source=text, target=output) for text, output in zip(lines(work / name), lines(work / made), strict=False)
    ]


def turned(pair: Pair) -> Pair:
    """Exchange the sides."""
    return Pair(source=pair.target, target=pair.source)


def turned_links(line: str) -> str:
    """Exchange the sides of links.

    >>> turned_links("0-0 2-1")
    '0-0 1-2'
    """
    return " ".join("-".join(reversed(link.split("-"))) for link in line.split())
