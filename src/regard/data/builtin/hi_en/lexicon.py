"""Hindi words, transliterated with doubled long vowels, and their English."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.data.builtin.english import EnglishVerb, add_s, english_verb

HindiGender: TypeAlias = Literal["m", "f"]

_NOUNS = {
    "person": """
        ladkaa m boy
        ladkii f girl
        aadmii m man/men
        aurat f woman/women
        bachchaa m child/children
        kisaan m farmer
        shikshak m teacher
        dost m friend""",
    "place": """
        baajaar m market
        skuul m school
        mandir m temple
        baag m garden
        dukaan f shop
        gaanv m village
        nadii f river""",
    "food": "rotii f bread/-, chaaval m rice/-, sabzii f vegetables/-, seb m apple, aam m mango",
    "drink": "duudh m milk/-, chaay f tea/-, paanii m water/-",
    "reading": "kitaab f book, patr m letter, akhbaar m newspaper, kahaanii f story",
    "thing": "darvaazaa m door, khidkii f window, gaadii f car, ghadii f watch, phuul m flower",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Noun:
    """A noun in its four Hindi forms, direct and oblique, and its two English ones; `counted` if it has a plural."""

    direct: tuple[str, str]
    oblique: tuple[str, str]
    english: tuple[str, str]
    gender: HindiGender
    group: str
    counted: bool


def decline(word: str, gender: HindiGender) -> tuple[tuple[str, str], tuple[str, str]]:
    """Give singular and plural, direct and oblique.

    >>> decline("ladkaa", "m"), decline("kitaab", "f")
    ((('ladkaa', 'ladke'), ('ladke', 'ladkon')), (('kitaab', 'kitaaben'), ('kitaab', 'kitaabon')))
    """
    if word.endswith("aa"):
        stem = word[:-2]
        return (word, stem + "e"), (stem + "e", stem + "on")
    if word.endswith("ii"):
        several = word[:-2] + "iyaan" if gender == "f" else word
        return (word, several), (word, word[:-2] + "iyon")
    return (word, word + "en" if gender == "f" else word), (word, word + "on")


def _read(group: str, entry: str) -> Noun:
    word, gender, english = entry.split()
    singular, _, plural = english.partition("/")
    direct, oblique = decline(word, "f" if gender == "f" else "m")
    return Noun(
        direct=direct,
        oblique=oblique,
        english=(singular, plural or add_s(singular)),
        gender="f" if gender == "f" else "m",
        group=group,
        counted=plural != "-",
    )


NOUNS: dict[str, tuple[Noun, ...]] = {
    group: tuple(_read(group, entry) for entry in table.replace(",", "\n").strip().splitlines())
    for group, table in _NOUNS.items()
}
NAMES: tuple[tuple[str, str, HindiGender], ...] = (
    ("Raam", "Ram", "m"),
    ("Mohan", "Mohan", "m"),
    ("Arjun", "Arjun", "m"),
    ("Siitaa", "Sita", "f"),
    ("Giitaa", "Gita", "f"),
    ("Raadhaa", "Radha", "f"),
)
CITIES = (("Dillii", "Delhi"), ("Mumbaii", "Mumbai"), ("Jaypur", "Jaipur"))
_ADJECTIVES = (("achchhaa", "good"), ("nayaa", "new"), ("puraanaa", "old"), ("badaa", "big"), ("chhotaa", "small"))
MOODS = (("biimaar", "sick"), ("thakaa", "tired"), ("khush", "happy"))


def suited(noun: Noun) -> tuple[tuple[str, str], ...]:
    """List the adjectives that make sense with a noun."""
    if noun.group in ("food", "drink"):
        return _ADJECTIVES[:1]
    if noun.direct[0] == "nadii":
        return _ADJECTIVES[3:]
    return _ADJECTIVES[:3] if noun.group == "reading" else _ADJECTIVES


@dataclass(frozen=True, kw_only=True, slots=True)
class Verb:
    """A verb: its stem, its stem in the future, its perfective for he, they and she, and its English."""

    stem: str
    future: str
    perfective: tuple[str, str, str]
    transitive: bool
    english: EnglishVerb


def _verb(stem: str, english: EnglishVerb, *, perfective: str = "", future: str = "", transitive: bool = True) -> Verb:
    he, they, she = perfective.split() if perfective else (stem + "aa", stem + "e", stem + "ii")
    return Verb(stem=stem, future=future or stem, perfective=(he, they, she), transitive=transitive, english=english)


GO = _verb("jaa", english_verb("go", past="went", participle="gone"), perfective="gayaa gaye gayii", transitive=False)
COME = _verb(
    "aa", english_verb("come", past="came", participle="come"), perfective="aayaa aaye aayii", transitive=False
)
RETURN = _verb("laut", english_verb("return"), transitive=False)
SLEEP = _verb("so", english_verb("sleep", past="slept"), perfective="soyaa soye soyii", transitive=False)
RUN = _verb("daud", english_verb("run", past="ran", participle="run", gerund="running"), transitive=False)
LIVE = _verb("rah", english_verb("live"), transitive=False)
EAT = _verb("khaa", english_verb("eat", past="ate", participle="eaten"), perfective="khaayaa khaaye khaayii")
DRINK = _verb("pii", english_verb("drink", past="drank", participle="drunk"), perfective="piyaa piye pii", future="piy")
READ = _verb("padh", english_verb("read", past="read"))
WRITE = _verb("likh", english_verb("write", past="wrote", participle="written"))
BUY = _verb("khariid", english_verb("buy", past="bought"))
SEE = _verb("dekh", english_verb("see", past="saw", participle="seen"))
OPEN = _verb("khol", english_verb("open"))
GIVE = _verb("de", english_verb("give", past="gave", participle="given"), perfective="diyaa diye dii", future="d")
SAY = _verb("kah", english_verb("say", past="said"))
