"""What people do, and with what: the table that keeps sentences sensible."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from regard.data.builtin.es_en.determiner import Acquaintance
from regard.data.builtin.es_en.nouns import Noun, nouns
from regard.data.builtin.es_en.scene import Tense
from regard.data.builtin.es_en.verbs import Verb, verb

Frame: TypeAlias = Literal["thing", "person", "give", "go", "stay", "have"]
"""thing: does something to a thing; person: to a person; give: gives somebody a thing; go: to a place; stay: at a
place; have: has, wants or needs a thing."""

ALL: tuple[Tense, ...] = ("present", "now", "past", "future")
BRIEF: tuple[Tense, ...] = ("now", "past", "future")
PUNCTUAL: tuple[Tense, ...] = ("present", "past", "future")
DONE: tuple[Tense, ...] = ("past",)
MET: tuple[Tense, ...] = ("past", "future")
LASTING: tuple[Tense, ...] = ("present",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One sense of a verb with what suits it.

    `what` are its objects or destinations, `where` the places it is done at, `acquaintance` how an object is met;
    `friend` allows company (con), `gift` somebody it is done for (para), `tool` an instrument. `clear` says that a lone
    lo or la can be only one kind of thing, `grown` that children do not do it, `willed` that it is done on purpose.
    """

    verb: Verb
    frame: Frame
    what: tuple[Noun, ...] = ()
    where: tuple[Noun, ...] = ()
    tenses: tuple[Tense, ...] = ALL
    acquaintance: Acquaintance = "any"
    friend: bool = False
    gift: bool = False
    clear: bool = True
    grown: bool = False
    willed: bool = True
    tool: str = ""

    @property
    def name(self) -> str:
        """Its Spanish infinitive."""
        return self.verb.spanish.infinitive


def _does(spanish: str, english: str, frame: Frame, what: str = "", where: str = "") -> Action:
    return Action(verb=verb(spanish, english), frame=frame, what=nouns(what), where=nouns(where))


THINGS = (
    replace(_does("comer", "eat", "thing", "food", "restaurante cocina jardín parque casa"), friend=True),
    replace(_does("beber", "drink", "thing", "drink", "restaurante cocina jardín casa"), friend=True),
    replace(
        _does("cocinar", "cook", "thing", "carne pescado arroz sopa huevo", "cocina casa"),
        acquaintance="offered", gift=True, grown=True,
    ),
    replace(_does("cortar", "cut", "thing", "pan queso carne pastel manzana", "cocina"), grown=True, tool="cuchillo"),
    replace(
        _does("comprar", "buy", "thing", "manzana naranja pan queso arroz carne pescado huevo pastel drink libro"
              " periódico revista novela personal tableware", "mercado tienda"),
        acquaintance="offered", gift=True, grown=True,
    ),
    _does("leer", "read", "thing", "reading", "biblioteca parque jardín casa cocina playa tren"),
    replace(
        _does("escribir", "write", "thing", "carta novela cuento libro", "biblioteca oficina casa hotel"),
        acquaintance="new", gift=True,
    ),
    replace(_does("abrir", "open", "thing", "puerta ventana carta maleta botella regalo"), acquaintance="known"),
    replace(_does("cerrar", "close", "thing", "puerta ventana maleta"), acquaintance="known"),
    replace(_does("lavar", "wash", "thing", "plato vaso taza cuchara camisa coche"), acquaintance="known"),
    replace(
        _does("perder", "lose", "thing", "llave teléfono reloj mochila paraguas maleta",
              "parque playa estación hotel tren"),
        acquaintance="known", tenses=DONE, willed=False,
    ),
    replace(
        _does("encontrar", "find", "thing", "llave teléfono reloj mochila paraguas libro foto carta",
              "parque playa estación calle hotel tren"),
        tenses=DONE, clear=False, willed=False,
    ),
    replace(
        _does("buscar", "look", "thing", "llave teléfono reloj mochila paraguas libro foto",
              "casa cocina oficina hotel"),
        acquaintance="known", tenses=BRIEF, clear=False,
    ),
    replace(_does("escuchar", "listen", "thing", "canción música", "casa coche parque"), clear=False),
    replace(_does("ver", "watch", "thing", "película", "casa hotel"), friend=True, clear=False),
    replace(
        _does("estudiar", "study", "thing", "historia medicina español inglés francés",
              "biblioteca universidad casa"),
        friend=True, clear=False, grown=True,
    ),
    replace(_does("esperar", "wait", "thing", "tren autobús", "estación"), tenses=BRIEF, clear=False),
    replace(
        _does("pedir", "order", "thing", "sopa ensalada pescado carne pastel café té jugo vino", "restaurante hotel"),
        acquaintance="offered", grown=True,
    ),
)  # fmt: skip

PEOPLE = (
    replace(_does("ver", "see", "person", "", "parque mercado calle playa museo"), tenses=MET, clear=False),
    _does("ayudar", "help", "person", "", "cocina jardín oficina casa"),
    _does("llamar", "call", "person"),
    replace(_does("visitar", "visit", "person"), grown=True),
    replace(_does("buscar", "look", "person", "", "parque estación playa mercado"), tenses=BRIEF, clear=False),
    replace(_does("esperar", "wait", "person", "", "estación parque restaurante calle"), tenses=BRIEF, clear=False),
)  # fmt: skip

GIFTS = tuple(
    replace(gift, acquaintance="handed")
    for gift in (
        _does("dar", "give", "give", "libro regalo flor foto llave carta manzana pastel café"),
        _does("traer", "bring", "give", "tableware café té agua jugo pan sopa ensalada libro flor regalo periódico"),
        replace(_does("enviar", "send", "give", "carta regalo foto flor libro"), grown=True),
        _does("mostrar", "show", "give", "foto carta libro reloj casa jardín"),
        replace(_does("prestar", "lend", "give", "libro novela paraguas coche bicicleta teléfono maleta"), grown=True),
    )
)

TRIPS = (
    replace(
        _does("ir", "go", "go", "casa escuela mercado parque playa tienda hospital oficina biblioteca restaurante"
              " estación museo jardín cocina pueblo ciudad universidad hotel lago"),
        tenses=PUNCTUAL, friend=True,
    ),
    replace(
        _does("llegar", "arrive", "go", "escuela casa oficina hotel estación hospital pueblo restaurante"),
        tenses=PUNCTUAL,
    ),
    replace(_does("volver", "return", "go", "casa escuela oficina hotel pueblo ciudad hospital"), tenses=PUNCTUAL),
    replace(_does("viajar", "travel", "go"), friend=True, grown=True),
)  # fmt: skip

STAYS = (
    _does("dormir", "sleep", "stay", "", "casa hotel tren jardín"),
    _does("descansar", "rest", "stay", "", "casa parque jardín playa hotel"),
    replace(
        _does("trabajar", "work", "stay", "", "hospital oficina escuela restaurante tienda biblioteca museo hotel"),
        friend=True, grown=True,
    ),
    replace(_does("jugar", "play", "stay", "", "parque jardín playa calle casa"), friend=True),
    replace(_does("nadar", "swim", "stay", "", "lago playa"), friend=True),
    replace(_does("caminar", "walk", "stay", "", "parque playa calle ciudad"), friend=True),
    replace(_does("bailar", "dance", "stay", "", "playa calle restaurante hotel casa"), friend=True),
    replace(_does("cantar", "sing", "stay", "", "cocina jardín escuela coche casa"), friend=True),
    replace(_does("hablar", "talk", "stay", "", "oficina parque calle cocina escuela restaurante"), friend=True),
)  # fmt: skip

HAVINGS = tuple(
    replace(having, acquaintance="new", tenses=LASTING, willed=False)
    for having in (
        _does("tener", "have", "have", "animal coche bicicleta teléfono reloj paraguas mochila maleta casa tienda"
              " hermano hermana hijo hija amigo primo"),
        _does("querer", "want", "have", "food café té jugo leche agua libro revista bicicleta coche camisa perro gato"),
        _does("necesitar", "need", "have", "tableware llave teléfono mochila paraguas maleta coche bicicleta silla"),
    )
)  # fmt: skip

ACTIONS: tuple[tuple[float, tuple[Action, ...]], ...] = (
    (36, THINGS),
    (13, PEOPLE),
    (19, GIFTS),
    (12, TRIPS),
    (14, STAYS),
    (6, HAVINGS),
)

ANIMALS: dict[str, tuple[Action, ...]] = {
    "perro": (
        _does("dormir", "sleep", "stay", "", "jardín cocina casa"),
        _does("comer", "eat", "thing", "carne pan", "jardín cocina"),
        _does("beber", "drink", "thing", "agua", "jardín cocina"),
        replace(_does("jugar", "play", "stay", "", "jardín parque playa calle"), friend=True),
    ),
    "gato": (
        _does("dormir", "sleep", "stay", "", "jardín cocina silla cama mesa"),
        _does("comer", "eat", "thing", "pescado carne", "jardín cocina"),
        _does("beber", "drink", "thing", "leche agua", "jardín cocina"),
        replace(_does("jugar", "play", "stay", "", "jardín cocina calle"), friend=True),
    ),
    "pájaro": (
        _does("cantar", "sing", "stay", "", "jardín parque"),
        _does("comer", "eat", "thing", "pan", "jardín parque"),
        _does("dormir", "sleep", "stay", "", "jardín parque"),
    ),
}

_BY_NAME = {action.name: action for action in (*PEOPLE, *GIFTS, *STAYS, *TRIPS, *THINGS)}


def named(names: str) -> tuple[Action, ...]:
    """Look up actions by their infinitives; done to things, where a verb takes both things and people."""
    return tuple(_BY_NAME[name] for name in names.split())


def anywhere(names: str) -> tuple[Action, ...]:
    """Look up actions by their infinitives and leave out where they are done."""
    return tuple(replace(action, where=()) for action in named(names))


def at_home(names: str) -> tuple[Action, ...]:
    """Look up actions by their infinitives, to be done at home."""
    return tuple(replace(action, where=nouns("casa")) for action in named(names))
