"""Copies of sentence pairs with other names, titles and numbers, as people type them, and several in a line."""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from regard.data.corpora.pair import Pair, words
from translator_parts.names import TRAINED, Names, draw_person, draw_place, draw_surname, with_right_and
from translator_parts.numbers import MONTHS, ordinal, recount, renumber

MEN = "Tom Tomás John Juan Bill Ken Jim Bob Mike Jack George Roger Tony Fred Nick Pedro Carlos Jorge".split()
WOMEN = "Mary María Alice Jane Nancy Lucy Ann Susan Kate Emily Betty Meg Ana".split()
PERSON = re.compile(rf"\b(?:{'|'.join([*MEN, *WOMEN])})\b")
SAME = {"Tomás": "Tom", "María": "Mary", "Juan": "John", "Pedro": "Peter", "Jorge": "George", "Carlos": "Charles"}
"""Names of the pairs that some translate."""
TITLES = (
    (("señor", "Mr."), ("señor", "Mr."), ("señor", "Mr."), ("doctor", "Dr."), ("profesor", "Professor")),
    (("señora", "Mrs."), ("señora", "Mrs."), ("señorita", "Miss"), ("doctora", "Dr."), ("profesora", "Professor")),
)
"""Of men, and of women, as often as they are drawn."""
BEFORE_TITLE = set(
    "con para por sin sobre contra hacia hasta según ante tras y e o que si como porque cuando pero ni donde mientras "
    "aunque es era fue está estaba será tiene tenía ha había dijo dice hizo vino vio".split()
)
NOT_BEFORE = re.compile(
    r"(?i)\b(?:poor|old|little|uncle|aunt|dear|hi|hello|hey|young|santa|big|brother|mr|mrs|miss)\W*$"
)
NAMING = re.compile(r"(?i)llam|nombr|apellid|apod|\bname|\bcalled|\bfirst\b|\bdear\b|querid|tío|hola|\bamig")
NOT_CALLED = re.compile(r", (?:que|quien|el|la|los|un|una|mi|su|al|who|which|the|an?|my|his|her|and|y)\b")
OF_PLACES = r"(?:en|a|de|desde|hasta|para|hacia|por)"
SENTENCES = (2, 2, 2, 3, 3, 4, 5, 6)
"""How many stand in a line, as often as they are drawn."""


def copies(pairs: Sequence[Pair], chance: random.Random, names: Names = TRAINED) -> Iterator[Pair]:
    """Give copies with other names, titles, places and numbers, where both sides have the same."""
    for pair in pairs:
        made: list[tuple[str, str] | None] = []
        if PERSON.search(pair.source):
            made += [rename(pair, chance, names), rename(pair, chance, names)]
            made += [entitle(pair, chance, names) if chance.random() < 0.6 else None]
        made += [move(pair, chance, names) for _ in range(4)]
        made += [renumber(pair.source, pair.target, chance) for _ in range(6)]
        made += [recount(pair.source, pair.target, chance)]
        for sides in made:
            if sides is not None:
                yield Pair(source=with_right_and(sides[0]), target=sides[1])


def rename(pair: Pair, chance: random.Random, names: Names = TRAINED) -> tuple[str, str] | None:
    """Give other people the parts of those that both sides name."""
    found = [[SAME.get(name, name) for name in PERSON.findall(text)] for text in (pair.source, pair.target)]
    if not found[0] or sorted(found[0]) != sorted(found[1]):
        return None
    followed = re.search(rf"{PERSON.pattern} [A-Z]", f"{pair.source} | {pair.target}")
    drawn = {}
    for name in dict.fromkeys(found[0]):
        person = draw_person(names, chance, woman=name in WOMEN)
        drawn[name] = person.split()[0] if followed else person
    source, target = (
        PERSON.sub(lambda match: drawn[SAME.get(match[0], match[0])], text) for text in (pair.source, pair.target)
    )
    return source, target


def entitle(pair: Pair, chance: random.Random, names: Names = TRAINED) -> tuple[str, str] | None:
    """Write el señor X and Mr. X for the one person that both sides name; None where that may not be right.

    In Spanish a title has an article, which joins with a and de; who is spoken to has none.
    """
    found = [list(PERSON.finditer(text)) for text in (pair.source, pair.target)]
    if [len(side) for side in found] != [1, 1] or NAMING.search(f"{pair.source} {pair.target}"):
        return None
    names_here = [SAME.get(side[0][0], side[0][0]) for side in found]
    (before, after), (english, rest) = (
        (text[: side[0].start()], text[side[0].end() :])
        for text, side in zip((pair.source, pair.target), found, strict=True)
    )
    if names_here[0] != names_here[1] or re.match(r" [A-ZÁÉÍÓÚ]|-", after) or re.match(r" [A-Z]|-", rest):
        return None
    if NOT_BEFORE.search(english):
        return None
    woman = names_here[0] in WOMEN
    title, english_title = chance.choice(TITLES[woman])
    surname = draw_person(names, chance, woman=woman) if chance.random() < 0.2 else draw_surname(names, chance)
    called = [_is_called(before, after), _is_called(english, rest)]
    if any(called):
        spanish = _called(before, title) if all(called) else None
    else:
        spanish = _with_article(before, after, title, "la" if woman else "el")
    if spanish is None:
        return None
    return f"{spanish} {surname}{after}", f"{english}{english_title} {surname}{rest}"


def _is_called(before: str, after: str) -> bool:
    """Say whether a name is that of the person spoken to, between commas or ends."""
    if NOT_CALLED.match(after):
        return False
    begins, ends = not before.strip("¿¡"), not after.strip(".?!…")
    return (begins and after.startswith(",")) or (before.endswith(", ") and ends)


def _called(before: str, title: str) -> str:
    return before + (title if before.strip("¿¡") else title.capitalize())


def _with_article(before: str, after: str, title: str, article: str) -> str | None:
    """Give the text up to the title, its article in the right form; None after words that may not come before one."""
    if not before.strip("¿¡"):
        return None if after.startswith(",") else f"{before}{article.capitalize()} {title}"
    match = re.search(r"(\w+) $", before)
    word = match[1].lower() if match else ""
    if word in ("a", "de") and article == "el":
        return f"{before[:-1]}l {title}"  # al, del
    if word in ("a", "de", *BEFORE_TITLE):
        return f"{before}{article} {title}"
    return None


def move(pair: Pair, chance: random.Random, names: Names = TRAINED) -> tuple[str, str] | None:
    """Put another city or country where both sides name one, after a preposition, which asks for no gender."""
    for country, known in enumerate((names.cities, names.countries)):
        forms = "|".join(sorted(known, key=len, reverse=True))
        match = re.search(rf"\b{OF_PLACES} ({forms})\b(?! [A-Z])", pair.source)
        if match is None or chance.random() < 0.5:
            continue
        here = re.compile(rf"\b{known[match[1]]}\b(?! [A-Z])")
        if len(here.findall(pair.target)) == 1 and pair.source.count(match[1]) == 1:
            spanish, english = draw_place(names, chance, country=bool(country))
            return pair.source[: match.start(1)] + spanish + pair.source[match.end(1) :], here.sub(english, pair.target)
    return None


def join(pairs: Sequence[Pair], count: int, chance: random.Random, *, most_words: int = 40) -> Iterator[Pair]:
    """Join two to six pairs to one: half of them with a name in common, the others of like length."""
    whole = [pair for pair in pairs if all(re.search(r"[.!?]$", text) for text in (pair.source, pair.target))]
    whole.sort(key=lambda pair: len(pair.target))
    by_name: dict[str, list[Pair]] = {}
    for pair in whole:
        for name in set(PERSON.findall(pair.target)):
            by_name.setdefault(name, []).append(pair)
    shared = [group for group in by_name.values() if len(group) > 3]
    weights = [len(group) for group in shared]
    for number in range(count if len(whole) > 3 else 0):
        if number % 2 and shared:
            near: Sequence[Pair] = chance.choices(shared, weights=weights)[0]
        else:
            start = chance.randrange(len(whole))
            near = whole[start : start + 200] if start + 4 < len(whole) else whole
        chosen = chance.sample(near, min(len(near), chance.choice(SENTENCES)))
        source, target = (" ".join(getattr(pair, side) for pair in chosen) for side in ("source", "target"))
        if max(len(source.split()), len(target.split())) <= most_words:
            yield Pair(source=source, target=target)


def word_pairs(pairs: Sequence[Pair], links: Sequence[str], *, fewest: int = 4, least: float = 0.5) -> list[Pair]:
    """Give words that are mostly linked to each other, by the word links of the pairs, in their usual spelling."""
    linked: Counter[tuple[str, str]] = Counter()
    counts, links_of = (Counter[str](), Counter[str]()), (Counter[str](), Counter[str]())
    spelled = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for pair, line in zip(pairs, links, strict=True):
        sides = words(pair.source), words(pair.target)
        ends = [link.split("-") for link in line.split()]
        together = [(sides[0][int(source)].lower(), sides[1][int(target)].lower()) for source, target in ends]
        linked.update(together)
        for side, own in enumerate(sides):
            counts[side].update(word.lower() for word in own)
            links_of[side].update(both[side] for both in together)
            first = next((index for index, word in enumerate(own) if word[0].isalpha()), 0)
            spelled[side].update((word.lower(), word) for word in own[first + 1 :])  # where capitals mean something
    usual = [dict(reversed([key for key, _ in side.most_common()])) for side in spelled]
    best: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for source, target in (key for key, _ in linked.most_common()):
        best[0].setdefault(source, target)
        best[1].setdefault(target, source)

    def sure(source: str, target: str, count: int) -> bool:
        """Say whether both are linked to each other, mostly, and to nothing beside."""
        sides = ((counts[0][source], links_of[0][source]), (counts[1][target], links_of[1][target]))
        return all(count >= least * number and links <= 1.25 * number for number, links in sides)

    return [
        Pair(source=usual[0][source], target=usual[1][target])
        for (source, target), count in linked.items()
        if count >= fewest
        and (best[0][source], best[1][target]) == (target, source)
        and sure(source, target, count)
        and min(len(source), len(target)) > 1
        and (source + target).isalpha()
        and source in usual[0]
        and target in usual[1]
    ]


def as_typed(text: str, language: str, chance: random.Random) -> str:
    """Write a source as people type it: a date or title in another form, or without accents, marks or capitals."""
    if chance.random() < 0.5 and (other := vary(text, language, chance)) != text:
        return other
    way = chance.random()
    if way < 0.06:
        return text.upper()
    if way < 0.5:  # all at once, as in a chat
        return without_marks(without_accents(text, chance), chance).lower()
    text = without_accents(text, chance) if chance.random() < 0.6 else text
    text = without_marks(text, chance) if chance.random() < 0.6 else text
    return text if chance.random() < 0.4 else text.lower() if chance.random() < 0.5 else text[:1].lower() + text[1:]


def without_marks(text: str, chance: random.Random) -> str:
    """Leave out ¿, ¡ and the last mark; now and then commas and apostrophes too."""
    text = re.sub(r"[¿¡]|[.!?]+$", "", text).strip()
    if chance.random() < 0.3:
        text = re.sub(r"(?<!\d)[,;:]|[,;:](?!\d)", "", text)
    return re.sub(r"(?<=[a-z])['’](?=[a-z])", "", text) if chance.random() < 0.4 else text


def without_accents(text: str, chance: random.Random | None = None) -> str:
    """Write á as a; ñ is another letter and stays, though some keyboards lack it."""
    if chance is None or chance.random() < 0.7:
        text = text.replace("ñ", "\0").replace("Ñ", "\1")
    plain = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", text))
    return plain.replace("\0", "ñ").replace("\1", "Ñ")


def vary(text: str, language: str, chance: random.Random) -> str:
    """Write dates, titles, amounts and hours in another form that is usual too; the same text where there is none."""
    return _vary_spanish(text, chance) if language == "es" else _vary_english(text, chance)


def _vary_spanish(text: str, chance: random.Random) -> str:
    for title, short in {
        "señorita": "Srta.",
        "señora": "Sra.",
        "señor": "Sr.",
        "doctora": "Dra.",
        "doctor": "Dr.",
    }.items():
        text = re.sub(rf"\b[{title[0]}{title[0].upper()}]{title[1:]}(?= [A-ZÁÉÍÓÚÑ])", short, text)
    text = re.sub(rf"\b1 de (?={'|'.join(MONTHS)})", "primero de ", text)
    if chance.random() < 0.5:
        text = re.sub(r"(\d) (?:euros|€)", r"\1 €", text)
        text = re.sub(r"(\d[\d.,]*) dólares", r"$\1", text)
    if chance.random() < 0.4:
        text = re.sub(r"(?<!\d)(\d{1,3})\.(?=\d{3}\b)", r"\1", text)
    return text


def _vary_english(text: str, chance: random.Random) -> str:
    text = re.sub(r"\bMrs\. ", chance.choice(("Mrs ", "Ms. ", "Ms ")), text)
    text = re.sub(r"\b(Mr|Dr)\. ", r"\1 ", text)
    text = text.replace("Professor ", "Prof. ") if chance.random() < 0.5 else text
    text = text.replace(" o'clock", "") if chance.random() < 0.5 else text
    month = "|".join(MONTHS.values())
    form = chance.choice(("{d} {m}{y}", "{m} {o}{y}", "the {o} of {m}{y}", "{d} {m}{y}"))

    def change(match: re.Match[str]) -> str:
        day = int(match[2])
        year = f"{', ' if '{m} {o}' in form else ' '}{match[3]}" if match[3] else ""
        return form.format(d=day, o=ordinal(day), m=match[1], y=year)

    text = re.sub(rf"\b({month}) (\d{{1,2}})\b(?:, (\d{{4}}))?", change, text)
    if chance.random() < 0.5:
        text = re.sub(r"(\d[\d.,]*) euros", r"€\1", text)
        text = re.sub(r"(\d[\d.,]*) dollars", r"$\1", text)
    return re.sub(r"(?<!\d)(\d{1,3}),(?=\d{3}\b)", r"\1", text) if chance.random() < 0.4 else text
