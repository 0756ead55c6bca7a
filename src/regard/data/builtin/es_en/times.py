"""When things happen: adverbs and phrases, each good for one tense only, so that they tell the tense."""

from regard.data.builtin.es_en.scene import Scene, Tense
from regard.data.builtin.synchrony import Phrase, both, idiom

_TIMES: dict[Tense, tuple[tuple[str, str], ...]] = {
    "present": (
        ("todos/1 los/1 días/2", "every/1 day/2"),
        ("cada/1 mañana/2", "every/1 morning/2"),
        ("por/1 la/2 mañana/3", "in/1 the/2 morning/3"),
        ("por/1 la/2 tarde/3", "in/1 the/2 afternoon/3"),
        ("por/1 la?2 noche/2", "at/1 night/2"),
        ("los/1 domingos/2", "on/1 Sundays/2"),
        ("los/1 lunes/2", "on/1 Mondays/2"),
        ("a/1 veces/1", "sometimes/1"),
    ),
    "now": (("ahora/1", "now/1"), ("hoy/1", "today/1"), ("en/1 este/2 momento/3", "at/1 this/2 moment/3")),
    "past": (
        ("ayer/1", "yesterday/1"),
        ("anoche/1", "last/1 night/1"),
        ("esta/1 mañana/2", "this/1 morning/2"),
        ("la?2 semana/2 pasada/1", "last/1 week/2"),
        ("el?2 domingo/2 pasado/1", "last/1 Sunday/2"),
        ("hace/1 dos/2 días/3", "two/2 days/3 ago/1"),
        ("hace/1 tres/2 semanas/3", "three/2 weeks/3 ago/1"),
        ("hace/1 cinco/2 días/3", "five/2 days/3 ago/1"),
    ),
    "future": (
        ("mañana/1", "tomorrow/1"),
        ("esta/1 tarde/2", "this/1 afternoon/2"),
        ("esta/1 noche/1", "tonight/1"),
        ("el/1 domingo/2", "on/1 Sunday/2"),
        ("el/1 lunes/2", "on/1 Monday/2"),
        ("la?2 próxima/1 semana/2", "next/1 week/2"),
    ),
}


def time(scene: Scene, tense: Tense | None = None) -> Phrase:
    """Name a time that suits the tense of the scene, or another."""
    scene.has_time = True
    return idiom(*scene.draw.pick(_TIMES[tense or scene.tense]))


def frequency(scene: Scene) -> Phrase:
    """Say always, never or also, before the verb."""
    return both(*scene.draw.pick((("siempre", "always"), ("nunca", "never"), ("también", "also"))))
