"""What the slots of phrases are filled with: dates, hours, amounts, names, and figures that both languages share."""

import random

from translator_parts.names import Names, draw_first, draw_place, draw_surname
from translator_parts.numbers import MONTHS, WEEKDAYS, ordinal, roman, spell_en, spell_es, write_number

KINGS = dict(
    item.split("/")
    for item in (
        "Carlos/Charles Felipe/Philip Luis/Louis Enrique/Henry Jorge/George Guillermo/William Fernando/Ferdinand "
        "Alfonso/Alfonso Pedro/Peter Juan/John Jacobo/James Eduardo/Edward Ricardo/Richard Alejandro/Alexander "
        "Nicolás/Nicholas Federico/Frederick Francisco/Francis Napoleón/Napoleon Ramsés/Ramesses Leopoldo/Leopold"
    ).split()
)
QUEENS = dict(
    item.split("/")
    for item in "Isabel/Elizabeth María/Mary Catalina/Catherine Ana/Anne Cristina/Christina Cleopatra/Cleopatra".split()
)


def draw_slots(slots: dict[str, None], names: Names, chance: random.Random) -> dict[str, tuple[str, str]]:
    """Draw Spanish and English for each slot; a second place or year is another."""
    drawn: dict[str, tuple[str, str]] = {}
    for slot in slots:
        drawn[slot] = _draw(slot.rstrip("2"), names, chance)
        while slot.endswith("2") and drawn[slot] == drawn[slot[:-1]]:
            drawn[slot] = _draw(slot[:-1], names, chance)
    if "y2" in drawn:
        later = str(int(drawn["y"][0]) + chance.randint(1, 9))
        drawn["y2"] = later, later
    return drawn


def _draw(slot: str, names: Names, chance: random.Random) -> tuple[str, str]:
    """Draw one slot."""
    day, year = chance.randint(1, 28), str(chance.choice((chance.randint(1500, 2030), chance.randint(1930, 2030))))
    month, english_month = chance.choice(list(MONTHS.items()))
    match slot:
        case "D":
            return f"{day} de {month} de {year}", f"{english_month} {day}, {year}"
        case "d":
            return f"{day} de {month}", f"{english_month} {day}"
        case "M":
            return f"{month} de {year}", f"{english_month} {year}"
        case "m":
            return month, english_month
        case "y":
            return year, year
        case "w":
            return chance.choice(list(WEEKDAYS.items()))
        case "ws":
            es, en = chance.choice(list(WEEKDAYS.items()))
            return es if es.endswith("s") else f"{es}s", f"{en}s"
        case "t" | "o":
            return _hour(chance, saying=slot == "o")
        case "p" | "f":
            name = draw_first(names, chance, woman=slot == "f")
            return name, name
        case "l":
            name = draw_surname(names, chance)
            return name, name
        case "c":
            return draw_place(names, chance)
        case "C":
            return draw_place(names, chance, country=True)
        case "z":
            return (_date(day, chance.randint(1, 12), year, chance),) * 2
        case "i" | "I":
            es, en = chance.choice(list((QUEENS if slot == "I" else KINGS).items()))
            number = roman(chance.choice((1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16)))
            return f"{es} {number}", f"{en} {number}"
        case "j":
            number = roman(chance.randint(1, 30))
            return number, number
        case "X":
            code = chance.choice("ABCDEFGHJKLMNPRSTVXZ") + chance.choice(("", "", "-", "X", "R-"))
            code += str(chance.randint(1, 999))
            return code, code
        case "u":
            number = str(chance.randint(2, 99)) + chance.choice(("", "", f".{chance.randint(1, 9)}"))
            space = chance.choice((" ", ""))
            return f"{write_number(number, 'es')}{space}%", f"{write_number(number, 'en')}%"
        case "v":
            century = chance.randint(5, 21)
            return roman(century), ordinal(century)
        case "s" | "g":
            number = chance.choice([*range(2, 101), *range(10, 100)])
            return spell_es(number, feminine=slot == "g"), spell_en(number)
        case "h":
            number = chance.choice((100, 100, *range(200, 1001, 100), *range(120, 1000, 10)))
            return spell_es(number), spell_en(number)
    return _figures(slot, chance)


def _date(day: int, month: int, year: str, chance: random.Random) -> str:
    """Write a date in figures, the day or the year first; which number is the day is not said, so it stays as it is."""
    if chance.random() < 0.2:
        return f"{year}-{month:02d}-{day:02d}"
    form = chance.choice(("{}/{}/{}", "{:02d}/{:02d}/{}", "{}-{}-{}"))
    return form.format(day, month, year[-2:] if "/" in form and chance.random() < 0.15 else year)


def _figures(slot: str, chance: random.Random) -> tuple[str, str]:
    """Draw a number in figures."""
    match slot:
        case "T":
            number = f"{chance.randint(2, 23)}:{chance.choice(range(0, 60, 5)):02d}"
        case "n":
            number = str(chance.randint(2, 99))
        case "N":
            number = str(chance.choice((chance.randint(1_000, 9_999), chance.randint(10_000, 9_000_000))))
            number = f"{number[:-3]}000" if chance.random() < 0.3 else number
        case "x":
            number = f"{chance.randint(2, 99)}.{chance.choice((chance.randint(1, 9), f'{chance.randint(1, 99):02d}'))}"
        case "e":
            number = f"{chance.randint(2, 99)}.{chance.randint(0, 99):02d}"
        case "b":
            number = f"-{chance.randint(1, 60)}" + chance.choice(("", "", "", f".{chance.randint(1, 9)}"))
            return number.replace(".", ","), number
        case "r":
            low = chance.randint(1, 80)
            number = f"{low}-{low + chance.randint(1, 30)}"
        case "a":
            number = chance.choice(("1/2", "1/3", "1/4", "2/3", "3/4", "1/8"))
        case "q":
            number = f"{chance.randint(100, 99_999)}.{chance.randint(0, 99):02d}"
        case _:  # digits, in groups or not
            groups = chance.choice(((3, 4), (3, 3, 3), (9,), (5,), (3, 2, 2, 2), (3, 3, 4)))
            number = chance.choice(("-", " ")).join(
                str(chance.randrange(10 ** (size - 1), 10**size)) for size in groups
            )
            return number, number
    if "-" in number or "/" in number:
        return number, number
    return write_number(number, "es"), write_number(number, "en")


def _hour(chance: random.Random, *, saying: bool) -> tuple[str, str]:
    """Draw an hour in words: las tres y media, half past three."""
    hour = chance.randint(1, 12)
    es = "la una" if hour == 1 else f"las {spell_es(hour)}"
    form = chance.choice(("", "half", "quarter", "to", "past"))
    after = spell_en(hour)
    match form:
        case "half":
            es, en = f"{es} y media", f"half past {after}"
        case "quarter":
            es, en = f"{es} y cuarto", f"a quarter past {after}"
        case "to":
            es, en = f"{es} menos cuarto", f"a quarter to {after}"
        case "past":
            minutes = chance.choice((5, 10, 20, 25))
            es, en = f"{es} y {spell_es(minutes)}", f"{spell_en(minutes)} past {after}"
        case _:
            en = f"{after} o'clock"
    return (f"{'Es' if hour == 1 else 'Son'} {es}" if saying else es), en
