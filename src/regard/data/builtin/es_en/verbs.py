"""Spanish and English verbs: conjugation, and which translates which."""

from dataclasses import dataclass

from regard.data.builtin.english import EnglishVerb, english_verb

_ENDINGS = {
    "ar": ("o as a amos an", "é aste ó amos aron", "ando"),
    "er": ("o es e emos en", "í iste ió imos ieron", "iendo"),
    "ir": ("o es e imos en", "í iste ió imos ieron", "iendo"),
}

_REGULAR = """
    ayudar bailar beber caminar cantar cocinar comer comprar cortar descansar escribir escuchar esperar estudiar
    abrir hablar lavar llamar nadar necesitar prestar trabajar viajar visitar vivir"""

_STRONG = """
    buscar | busco buscas busca buscamos buscan | busqué buscaste buscó buscamos buscaron | buscando
    cerrar | cierro cierras cierra cerramos cierran | cerré cerraste cerró cerramos cerraron | cerrando
    creer | creo crees cree creemos creen | creía creías creía creíamos creían | creyendo
    dar | doy das da damos dan | di diste dio dimos dieron | dando
    decir | digo dices dice decimos dicen | dije dijiste dijo dijimos dijeron | diciendo
    dormir | duermo duermes duerme dormimos duermen | dormí dormiste durmió dormimos durmieron | durmiendo
    encontrar | encuentro encuentras encuentra encontramos encuentran
        | encontré encontraste encontró encontramos encontraron | encontrando
    enviar | envío envías envía enviamos envían | envié enviaste envió enviamos enviaron | enviando
    estar | estoy estás está estamos están | estaba estabas estaba estábamos estaban | estando
    ir | voy vas va vamos van | fui fuiste fue fuimos fueron | yendo
    jugar | juego juegas juega jugamos juegan | jugué jugaste jugó jugamos jugaron | jugando
    leer | leo lees lee leemos leen | leí leíste leyó leímos leyeron | leyendo
    llegar | llego llegas llega llegamos llegan | llegué llegaste llegó llegamos llegaron | llegando
    mostrar | muestro muestras muestra mostramos muestran | mostré mostraste mostró mostramos mostraron | mostrando
    pedir | pido pides pide pedimos piden | pedí pediste pidió pedimos pidieron | pidiendo
    perder | pierdo pierdes pierde perdemos pierden | perdí perdiste perdió perdimos perdieron | perdiendo
    poder | puedo puedes puede podemos pueden | podía podías podía podíamos podían | pudiendo
    querer | quiero quieres quiere queremos quieren | quería querías quería queríamos querían | queriendo
    saber | sé sabes sabe sabemos saben | sabía sabías sabía sabíamos sabían | sabiendo
    ser | soy eres es somos son | era eras era éramos eran | siendo
    tener | tengo tienes tiene tenemos tienen | tenía tenías tenía teníamos tenían | teniendo
    traer | traigo traes trae traemos traen | traje trajiste trajo trajimos trajeron | trayendo
    ver | veo ves ve vemos ven | vi viste vio vimos vieron | viendo
    volver | vuelvo vuelves vuelve volvemos vuelven | volví volviste volvió volvimos volvieron | volviendo"""

_ENGLISH = """
    arrive, bring brought, buy bought, call, close, cook, cut cut cutting, dance, drink drank, eat ate, find found,
    give gave, go went, have had, help, know knew, lend lent, listen+to, live, look+for, lose lost, love, need, open,
    order, play, read read, rest, return, say said, see saw, send sent, show, sing sang, sleep slept,
    speak spoke, study, swim swam swimming, talk, think thought, travel, visit, wait+for, walk, want,
    wash, watch, work, write wrote, like"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanishVerb:
    """A Spanish verb: five forms of the present and of the past, in the order I, you, he, we, they.

    The past is the preterite for what is done and the imperfect for what lasts, as a plain story would have it.
    """

    infinitive: str
    present: tuple[str, ...]
    past: tuple[str, ...]
    gerund: str


def conjugate(infinitive: str) -> SpanishVerb:
    """Conjugate a regular verb.

    >>> conjugate("vivir").present
    ('vivo', 'vives', 'vive', 'vivimos', 'viven')
    """
    stem, (present, past, gerund) = infinitive[:-2], _ENDINGS[infinitive[-2:]]
    return SpanishVerb(
        infinitive=infinitive,
        present=tuple(stem + ending for ending in present.split()),
        past=tuple(stem + ending for ending in past.split()),
        gerund=stem + gerund,
    )


def _strong() -> list[SpanishVerb]:
    verbs: list[SpanishVerb] = []
    for line in _STRONG.strip().replace("\n        |", " |").splitlines():
        infinitive, present, past, gerund = (field.strip() for field in line.split("|"))
        verbs.append(
            SpanishVerb(infinitive=infinitive, present=tuple(present.split()), past=tuple(past.split()), gerund=gerund)
        )
    return verbs


def _english() -> dict[str, EnglishVerb]:
    verbs: dict[str, EnglishVerb] = {}
    for entry in _ENGLISH.split(","):
        name, past, gerund = (*entry.split(), "", "")[:3]
        verb = english_verb(name.replace("+", " "), past=past, gerund=gerund)
        verbs[verb.base] = verb
    return verbs


SPANISH: dict[str, SpanishVerb] = {verb.infinitive: verb for verb in map(conjugate, _REGULAR.split())} | {
    verb.infinitive: verb for verb in _strong()
}
ENGLISH: dict[str, EnglishVerb] = _english()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verb:
    """A Spanish verb in one of its senses, with the English for it."""

    spanish: SpanishVerb
    english: EnglishVerb


def verb(spanish: str, english: str) -> Verb:
    """Join a Spanish verb with the English of one of its senses."""
    return Verb(spanish=SPANISH[spanish], english=ENGLISH[english])
