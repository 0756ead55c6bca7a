"""Two sentences built together: words of both languages that share a unit of meaning are linked.

A grammar makes a `Unit` for each thing said and lets it speak in both languages; the words may then be moved about
freely, and the alignment follows them.

>>> eat, not_ = Unit(), Unit()
>>> source = not_("no") + eat("como")
>>> target = eat.loosely("I do") + not_("not") + eat("eat")
>>> pair = make_pair(source, target)
>>> print(pair.source, "→", pair.target, "|", *pair.links)
No como → I do not eat | 0-2 1?0 1?1 1-3
"""

from typing import NamedTuple, TypeAlias

from regard.data.corpora.pair import Link, Pair, detokenize


class Word(NamedTuple):
    """A word and the units it speaks for: surely, or only possibly because the other language has no word for it."""

    text: str
    sure: tuple["Unit", ...]
    possible: tuple["Unit", ...]

    def merge(self, other: "Word", text: str) -> "Word":
        """Become one word with `other`, as `a` and `el` become `al`."""
        return Word(text, self.sure + other.sure, self.possible + other.possible)


Words: TypeAlias = tuple[Word, ...]


class Unit:
    """One unit of meaning: call it to give it words, in either language."""

    __slots__ = ()

    def __call__(self, text: str) -> Words:
        """Say `text`, words with spaces between, for this unit."""
        if " " not in text and text:
            return (Word(text, (self,), ()),)
        return tuple([Word(word, (self,), ()) for word in text.split()])

    def loosely(self, text: str) -> Words:
        """Add words that the other language does without."""
        return tuple([Word(word, (), (self,)) for word in text.split()])


class Phrase(NamedTuple):
    """What is said on the source side and on the target side."""

    source: Words
    target: Words

    def then(self, other: "Phrase") -> "Phrase":
        """Say `other` after this, on both sides."""
        return Phrase(self.source + other.source, self.target + other.target)


NOTHING = Phrase((), ())


def both(source: str, target: str) -> Phrase:
    """Say one thing in both languages, all words linked with one another."""
    unit = Unit()
    return Phrase(unit(source), unit(target))


def idiom(source: str, target: str) -> Phrase:
    """Say a fixed phrase whose words carry numbers: equal numbers are linked, `?` marks a word as possible.

    >>> phrase = idiom("la?2 semana/2 pasada/1", "last/1 week/2")
    >>> print(*make_pair(phrase.source, phrase.target).links)
    0?1 1-1 2-0
    """
    units: dict[str, Unit] = {}

    def say(text: str) -> Words:
        spoken: Words = ()
        for item in text.split():
            word, possible, number = item.partition("?")
            if not possible:
                word, _, number = item.partition("/")
            unit = units.setdefault(number, Unit())
            spoken += unit.loosely(word) if possible else unit(word)
        return spoken

    return Phrase(say(source), say(target))


def link(source: Words, target: Words) -> tuple[Link, ...]:
    """Read the alignment off the units: sure where both words are sure of one, possible where only one of them is."""
    speakers: dict[Unit, list[tuple[int, bool]]] = {}
    for position, word in enumerate(target):
        for unit in word.sure:
            speakers.setdefault(unit, []).append((position, True))
        for unit in word.possible:
            speakers.setdefault(unit, []).append((position, False))
    links: list[Link] = []
    for position, word in enumerate(source):
        result: dict[int, bool] = {}
        for unit in word.sure:
            for other, sure in speakers.get(unit, ()):
                result[other] = result.get(other, False) or sure
        for unit in word.possible:
            for other, sure in speakers.get(unit, ()):
                if sure:
                    result.setdefault(other, False)
        links.extend(Link(position, other, result[other]) for other in sorted(result))
    return tuple(links)


def make_pair(source: Words, target: Words) -> Pair:
    """Write both sides as plain text with a capital at the start, and link them."""
    return Pair(source=_text(source), target=_text(target), links=link(source, target))


def _text(spoken: Words) -> str:
    text = detokenize([word.text for word in spoken])
    for position, letter in enumerate(text):
        if letter.isalpha():
            return text[:position] + letter.upper() + text[position + 1 :]
    return text
