"""Spanish nouns with their English, sorted by what can be done with them.

A line reads: Spanish, gender, English, the kinds of adjective that suit it (letters, see `adjectives`), and for places
the English of `en` (on, where none is given). Irregular plurals stand after a slash; `/-` marks a noun that is not
counted.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.data.builtin.english import add_s

SpanishGender: TypeAlias = Literal["m", "f"]
Kind: TypeAlias = Literal["person", "animal", "thing"]

_TABLE = {
    "role": """
        hombre m man/men ab
        mujer f woman/women ab
        niño m boy/children ab
        niña f girl ab
        profesor m teacher ab
        profesora f teacher ab
        médico m doctor ab
        médica f doctor ab
        camarero m waiter ab
        camarera f waitress ab
        enfermero m nurse ab
        enfermera f nurse ab""",
    "kin": """
        padre m father/parents b
        madre f mother b
        hermano m brother ab
        hermana f sister ab
        hijo m son/children ab
        hija f daughter ab
        abuelo m grandfather/grandparents b
        abuela f grandmother b
        tío m uncle b
        tía f aunt b
        primo m cousin ab
        prima f cousin ab
        amigo m friend ab
        amiga f friend ab""",
    "animal": """
        perro m dog s
        gato m cat s
        pájaro m bird sp""",
    "food": """
        manzana f apple fd
        naranja f orange fd
        pan m bread/- f
        queso m cheese/- fy
        arroz m rice/- y
        carne f meat/- fy
        pescado m fish/- fy
        sopa f soup hy
        ensalada f salad fy
        huevo m egg f
        pastel m cake yd""",
    "drink": """
        agua f water/- k
        leche f milk/- kf
        café m coffee/- h
        té m tea/- h
        jugo m juice/- kf
        vino m wine/- m""",
    "tableware": """
        tenedor m fork nsl
        cuchara f spoon nsl
        cuchillo m knife/knives nsl
        plato m plate nslp
        vaso m glass slp
        taza f cup slpc
        botella f bottle s""",
    "reading": """
        libro m book ni
        carta f letter i
        periódico m newspaper n
        revista f magazine i
        novela f novel ni
        cuento m story i""",
    "personal": """
        llave f key ns
        teléfono m phone nm
        reloj m watch nmp
        mochila f backpack nscl
        camisa f shirt ncpml
        paraguas m umbrella nc
        maleta f suitcase nsc
        regalo m gift spm
        flor f flower cp
        foto f photo np""",
    "vehicle": """
        coche m car nscml in
        bicicleta f bicycle nscm""",
    "transport": """
        tren m train
        autobús m bus""",
    "furniture": """
        mesa f table nscl
        silla f chair nsc
        cama f bed nsl
        puerta f door nc
        ventana f window sl""",
    "place": """
        casa f house nspcl in
        escuela f school ns at
        mercado m market s at
        parque m park sp in
        playa f beach p at
        tienda f store ns at
        hospital m hospital ns at
        oficina f office nsl at
        biblioteca f library ns in
        restaurante m restaurant nsp at
        estación f station ns at
        museo m museum sp at
        jardín m garden sp in
        cocina f kitchen nsl in
        calle f street - in
        pueblo m village sp in
        ciudad f city sp in
        universidad f university n at
        hotel m hotel nspm at
        lago m lake p in""",
    "media": """
        película f movie i
        canción f song p
        música f music/- p""",
    "subject": """
        historia f history/-
        medicina f medicine/-
        español m Spanish/-
        inglés m English/-
        francés m French/-""",
    "money": """
        dinero m money/-
        tiempo m time/-""",
}

_ACCENTED = str.maketrans("áéíóú", "aeiou")


@dataclass(frozen=True, kw_only=True, slots=True)
class Noun:
    """A noun in both numbers and both languages; `plural` is empty for one that is not counted."""

    singular: str
    plural: str
    english_singular: str
    english_plural: str
    gender: SpanishGender
    kind: Kind
    group: str
    suits: str = ""
    preposition: str = ""

    @property
    def counted(self) -> bool:
        """Whether it has a plural."""
        return bool(self.plural)


def pluralize(word: str) -> str:
    """Make the plural of a Spanish noun or adjective.

    >>> [pluralize(word) for word in ("casa", "azul", "autobús", "feliz", "paraguas", "joven")]
    ['casas', 'azules', 'autobuses', 'felices', 'paraguas', 'jóvenes']
    """
    if word == "joven":
        return "jóvenes"
    if word.endswith("s") and word[-2] not in "úéí":
        return word
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    return word[:-2] + word[-2:].translate(_ACCENTED) + "es"


def _read(group: str, line: str) -> Noun:
    spanish, gender, english, *rest = line.split()
    singular, _, plural = english.partition("/")
    counted = plural != "-"
    kind: Kind = "person" if group in ("role", "kin") else "animal" if group == "animal" else "thing"
    return Noun(
        singular=spanish,
        plural=pluralize(spanish) if counted else "",
        english_singular=singular,
        english_plural=(plural or add_s(singular)) if counted else "",
        gender="m" if gender == "m" else "f",
        kind=kind,
        group=group,
        suits=rest[0].strip("-") if rest else "",
        preposition=rest[1] if len(rest) > 1 else "",
    )


GROUPS: dict[str, tuple[Noun, ...]] = {
    group: tuple(_read(group, line) for line in table.strip().splitlines()) for group, table in _TABLE.items()
}
NOUNS: dict[str, Noun] = {noun.singular: noun for nouns in GROUPS.values() for noun in nouns}

NAMES: tuple[tuple[str, str, SpanishGender], ...] = (
    ("Ana", "Ana", "f"),
    ("María", "Maria", "f"),
    ("Lucía", "Lucia", "f"),
    ("Elena", "Elena", "f"),
    ("Inés", "Ines", "f"),
    ("Pedro", "Pedro", "m"),
    ("Juan", "Juan", "m"),
    ("Pablo", "Pablo", "m"),
    ("Diego", "Diego", "m"),
    ("Luis", "Luis", "m"),
)
CITIES = (("Madrid", "Madrid"), ("Lima", "Lima"), ("París", "Paris"), ("Roma", "Rome"), ("Toronto", "Toronto"))
COUNTRIES = (
    ("Canadá", "Canada"),
    ("España", "Spain"),
    ("México", "Mexico"),
    ("Francia", "France"),
    ("Italia", "Italy"),
    ("Perú", "Peru"),
    ("Chile", "Chile"),
    ("Brasil", "Brazil"),
    ("Japón", "Japan"),
)


def nouns(names: str) -> tuple[Noun, ...]:
    """Look up nouns, one by one or by group.

    >>> [noun.english_singular for noun in nouns("drink pan")]
    ['water', 'milk', 'coffee', 'tea', 'juice', 'wine', 'bread']
    """
    result: list[Noun] = []
    for name in names.split():
        result.extend(GROUPS[name] if name in GROUPS else (NOUNS[name],))
    return tuple(result)
