"""Every Spanish word form the grammar knows, and of which kind it is."""

from regard.data.builtin.es_en.adjectives import ADJECTIVES
from regard.data.builtin.es_en.nouns import CITIES, COUNTRIES, NAMES, NOUNS
from regard.data.builtin.es_en.verbs import SPANISH

_FUNCTION_WORDS = """
    a al de del en con para por y e pero o porque cuando si aunque mientras que donde así antes después
    el la los las un una unos unas este esta estos estas ese esa esos esas mi mis tu tus su sus nuestro nuestra nuestros
    nuestras otro otra mucho mucha muchos muchas todos todas cada dos tres cuatro cinco
    yo tú él ella nosotros nosotras ellos ellas me te nos lo le les se nada nadie
    no siempre nunca también muy más hay gusta gustan encanta encantan hace
    qué quién dónde adónde cuándo cuántos cuántas cerca lejos delante detrás
    ayer anoche hoy ahora mañana pronto veces pasado pasada próxima"""
_TIMES = "mañana tarde noche semana semanas día días domingo domingos lunes momento"
_STATES = "hambre sed sueño frío calor prisa examen"

PROPER: frozenset[str] = frozenset(
    [*(name[0] for name in NAMES), *(name[0] for name in CITIES), *(name[0] for name in COUNTRIES)]
)
NOUN_FORMS: frozenset[str] = frozenset(
    form for noun in NOUNS.values() for form in (noun.singular, noun.plural) if form
) | frozenset((_TIMES + " " + _STATES).split())
ADJECTIVE_FORMS: frozenset[str] = frozenset(
    adjective.agree(gender, plural=plural)
    for adjectives in ADJECTIVES.values()
    for adjective in adjectives
    for gender in ("m", "f")
    for plural in (False, True)
)
VERB_FORMS: frozenset[str] = frozenset(
    form for verb in SPANISH.values() for form in (verb.infinitive, *verb.present, *verb.past, verb.gerund)
)
FORMS: frozenset[str] = frozenset(_FUNCTION_WORDS.split()) | PROPER | NOUN_FORMS | ADJECTIVE_FORMS | VERB_FORMS
