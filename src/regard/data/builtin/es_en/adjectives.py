"""Spanish adjectives with their English, by the letter under which nouns ask for them."""

from dataclasses import dataclass

from regard.data.builtin.es_en.nouns import Noun, SpanishGender, pluralize

_LASTING = {
    "n": "nuevo new, viejo old",
    "s": "pequeño small, grande big",
    "p": "bonito pretty",
    "m": "caro expensive, barato cheap",
    "c": "rojo red, blanco white, negro black, verde green, azul blue",
    "y": "delicioso delicious",
    "d": "dulce sweet",
    "i": "interesante interesting",
    "a": "alto tall, joven young",
    "b": "simpático friendly, amable kind, inteligente intelligent",
}
_PASSING = {
    "f": "fresco fresh",
    "h": "caliente hot",
    "k": "frío cold",
    "l": "limpio clean, sucio dirty",
    "x": "cansado tired, contento happy, enfermo sick, ocupado busy, triste sad, preocupado worried",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Adjective:
    """An adjective: `passing` ones go with `estar`, the others with `ser`."""

    spanish: str
    english: str
    letter: str
    passing: bool

    def agree(self, gender: SpanishGender, *, plural: bool) -> str:
        """Give the form for a noun of this gender and number.

        >>> find("rojo").agree("f", plural=True), find("grande").agree("f", plural=True)
        ('rojas', 'grandes')
        """
        form = self.spanish[:-1] + "a" if gender == "f" and self.spanish.endswith("o") else self.spanish
        return pluralize(form) if plural else form


def _read(table: dict[str, str], *, passing: bool) -> dict[str, tuple[Adjective, ...]]:
    return {
        letter: tuple(
            Adjective(spanish=spanish, english=english, letter=letter, passing=passing)
            for spanish, english in (entry.split() for entry in entries.split(", "))
        )
        for letter, entries in table.items()
    }


ADJECTIVES: dict[str, tuple[Adjective, ...]] = _read(_LASTING, passing=False) | _read(_PASSING, passing=True)
COLORS = ADJECTIVES["c"]
MOODS = ADJECTIVES["x"]
_BY_NAME = {adjective.spanish: adjective for adjectives in ADJECTIVES.values() for adjective in adjectives}
_SUITED: dict[tuple[str, bool | None], tuple[Adjective, ...]] = {}


def find(spanish: str) -> Adjective:
    """Look up an adjective by its masculine singular."""
    return _BY_NAME[spanish]


def suited(noun: Noun, *, passing: bool | None = None) -> tuple[Adjective, ...]:
    """List the adjectives that make sense with `noun`: all of them, or only the passing or lasting ones."""
    key = (noun.suits, passing)
    if key not in _SUITED:
        _SUITED[key] = tuple(
            adjective
            for letter in noun.suits
            for adjective in ADJECTIVES[letter]
            if passing is None or adjective.passing == passing
        )
    return _SUITED[key]
