"""Numbers in Spanish and English: written, read, spelled out, and changed on both sides of a pair."""

import random
import re
from collections.abc import Callable, Mapping

MONTHS = dict(
    zip(
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
        "January February March April May June July August September October November December".split(),
        strict=True,
    )
)
WEEKDAYS = dict(
    zip(
        "lunes martes miércoles jueves viernes sábado domingo".split(),
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
        strict=True,
    )
)
NUMBER = re.compile(
    r"(?<![\w.,:/-])(?:\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{1,2})?|\d+[.,]\d+|\d{1,2}:\d{2}|\d+)(?![\w/-]|[.,:]\d)"
)
UNITS_ES = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve"
).split()
TENS_ES = "treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
HUNDREDS_ES = (
    "ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos".split()
)
UNITS_EN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS_EN = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def spell_es(number: int, *, feminine: bool = False) -> str:
    """Spell a number from 0 to 1,000, as before a noun.

    >>> spell_es(21), spell_es(31, feminine=True), spell_es(100), spell_es(250, feminine=True)
    ('veintiún', 'treinta y una', 'cien', 'doscientas cincuenta')
    """
    if number in (100, 1000):
        return "cien" if number == 100 else "mil"
    if number > 100:
        hundreds = HUNDREDS_ES[number // 100 - 1]
        hundreds = re.sub("os$", "as", hundreds) if feminine else hundreds
        return f"{hundreds} {spell_es(number % 100, feminine=feminine)}" if number % 100 else hundreds
    last = ("una" if feminine else "un") if number % 10 == 1 and number != 11 else UNITS_ES[number % 10]
    if number == 21 and not feminine:
        return "veintiún"
    if number < 30:
        return last if number == 1 else "veintiuna" if number == 21 else UNITS_ES[number]
    tens = TENS_ES[number // 10 - 3]
    return f"{tens} y {last}" if number % 10 else tens


def spell_en(number: int) -> str:
    """Spell a number from 0 to 1,000.

    >>> spell_en(34), spell_en(100), spell_en(250)
    ('thirty-four', 'a hundred', 'two hundred and fifty')
    """
    if number in (100, 1000):
        return "a hundred" if number == 100 else "a thousand"
    if number > 100:
        hundreds = f"{UNITS_EN[number // 100]} hundred"
        return f"{hundreds} and {spell_en(number % 100)}" if number % 100 else hundreds
    if number < 20:
        return UNITS_EN[number]
    return TENS_EN[number // 10 - 2] + (f"-{UNITS_EN[number % 10]}" if number % 10 else "")


def ordinal(number: int) -> str:
    """Write 1st, 2nd, 3rd, 11th, 23rd."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def roman(number: int) -> str:
    """Write a number below 40 in Roman figures, as Spanish does for centuries."""
    units = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
    return "X" * (number // 10) + units[number % 10]


def read_number(text: str, language: str) -> str:
    """Give a number without thousands marks, and with a decimal point; a time as it is.

    >>> read_number("1.250,50", "es"), read_number("1,250.50", "en"), read_number("15:30", "es")
    ('1250.50', '1250.50', '15:30')
    """
    thousands, decimal = (".", ",") if language == "es" else (",", ".")
    if re.fullmatch(rf"\d{{1,3}}(?:\{thousands}\d{{3}})+(?:\{decimal}\d+)?|\d+\{decimal}\d+", text):
        return text.replace(thousands, "").replace(decimal, ".")
    return text


def write_number(number: str, language: str, *, grouped: bool = True) -> str:
    """Write what `read_number` gives as people of a language do.

    >>> write_number("1250.50", "es"), write_number("1250.50", "en"), write_number("1987", "es", grouped=False)
    ('1.250,50', '1,250.50', '1987')
    """
    if ":" in number:
        return number
    whole, point, rest = number.partition(".")
    written = f"{int(whole):,}" if grouped else whole
    written += point + rest
    return written if language == "en" else written.translate(str.maketrans(",.", ".,"))


def renumber(source: str, target: str, chance: random.Random) -> tuple[str, str] | None:
    """Give both sides with other numbers of the same kind, where they have the same; 1 and 0 stay, for agreement.

    None where nothing can be changed.
    """
    found = {language: NUMBER.findall(text) for language, text in (("es", source), ("en", target))}
    read = {language: [read_number(item, language) for item in items] for language, items in found.items()}
    if not read["es"] or sorted(read["es"]) != sorted(read["en"]) or re.search(r"\b(las?|los) [01]\b", source):
        return None
    others: dict[str, str] = {}
    for match in NUMBER.finditer(source):
        number = read_number(match[0], "es")
        others.setdefault(number, _alike(number, source[: match.start()], source[match.end() :], chance))
    grouped = any("." in item for item in found["es"])
    result = []
    for language, text in (("es", source), ("en", target)):
        change = _changer(others, language, grouped)
        result.append(NUMBER.sub(change, text))
    return None if result == [source, target] else (result[0], result[1])


def _changer(others: Mapping[str, str], language: str, grouped: bool) -> Callable[[re.Match[str]], str]:
    def change(match: re.Match[str]) -> str:
        number = others[read_number(match[0], language)]
        return write_number(number, language, grouped=grouped or len(number.partition(".")[0]) > 4)

    return change


def _alike(number: str, before: str, after: str, chance: random.Random) -> str:
    """Draw a number of the same kind: hour, day, year, share, amount or count."""
    if ":" in number:
        hour = int(number.partition(":")[0])
        hours = (2, 12) if 2 <= hour <= 12 else (13, 23) if hour > 12 else (hour, hour)
        return f"{chance.randint(*hours)}:{chance.choice(range(0, 60, 5)):02d}"
    whole, _, rest = number.partition(".")
    value = int(whole)
    if rest:
        low = 10 ** (len(whole) - 1) if len(whole) > 1 else 2
        return f"{chance.randrange(low, 10 ** len(whole))}.{chance.randrange(10 ** len(rest)):0{len(rest)}d}"
    if value < 2:
        return number
    if re.search(r"\blas $", before) and value < 24:
        return str(chance.randint(2, 12) if value < 13 else chance.randint(13, 23))
    if re.match(rf" de (?:{'|'.join(MONTHS)})\b", after):
        return str(chance.randint(2, 28))
    if re.match(r" ?%| por ?ciento", after):
        return str(chance.randint(2, 99))
    if 1000 <= value < 2100 and len(whole) == 4:
        return str(chance.randint(1500, 2030))
    if re.match(r" (?:dólares|euros)\b", after) and chance.random() < 0.5:
        return chance.choice(
            (f"{chance.randint(2, 99)}.{chance.randint(5, 99):02d}", str(chance.randint(10_000, 990_000)))
        )
    return str(chance.randrange(max(2, 10 ** (len(whole) - 1)), 10 ** len(whole)))


SPELLED_ES = {word: number for number, word in enumerate(UNITS_ES) if number > 1} | {
    word: 30 + 10 * index for index, word in enumerate(TENS_ES)
}
SPELLED_EN = {spell_en(number): number for number in (*range(2, 20), *range(20, 100, 10))}
OTHER_COUNTS = re.compile(
    r"\d|\b(?:cien|cientos?|mil|millón|millones|medi[oa]|cuarto|docenas?|hundreds?|thousands?|millions?|half|quarter|"
    r"dozens?|o'clock)\b"
)
WORD = re.compile(r"[\w'-]+")


def recount(source: str, target: str, chance: random.Random) -> tuple[str, str] | None:
    """Give both sides with another number where each has one number word, and the same: in figures, or spelled out."""
    es = [match for match in WORD.finditer(source) if match[0].lower() in SPELLED_ES]
    en = [match for match in WORD.finditer(target) if match[0].lower() in SPELLED_EN]
    if len(es) != 1 or len(en) != 1 or SPELLED_ES[es[0][0].lower()] != SPELLED_EN[en[0][0].lower()]:
        return None
    around = source[: es[0].start()] + "#" + source[es[0].end() :]
    if re.search(r"\b[lL][ao]s #|# [you] |\b[you] #", around) or OTHER_COUNTS.search(f"{around} {target}"):
        return None
    if chance.random() < 0.4:
        number = chance.choice([item for item in range(2, 100) if item % 10 != 1])
        written = spell_es(number), spell_en(number)
    else:
        number = chance.choice((chance.randint(2, 99), chance.randint(2, 99), chance.randint(100, 20_000)))
        written = write_number(str(number), "es"), write_number(str(number), "en")
    return _put(source, es[0], written[0]), _put(target, en[0], written[1])


def _put(text: str, match: re.Match[str], word: str) -> str:
    word = word[:1].upper() + word[1:] if match[0][0].isupper() else word
    return text[: match.start()] + word + text[match.end() :]
