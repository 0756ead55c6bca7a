import unicodedata

import pytest

from regard.data.builtin import restore
from regard.data.builtin.es_en.restore import SPELLINGS
from regard.data.builtin.sampling import normalize
from regard.data.pair import Pair
from regard.errors import ArgumentError


def typed(text: str) -> str:
    """Type in haste: no accents, no capitals, no opening mark."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return plain.lower().replace("¿", "")


@pytest.mark.parametrize(
    ("sentence", "spelled"),
    [
        ("Yo soy de Canada", "Yo soy de Canadá"),
        ("Me puedes traer un tenedor", "¿Me puedes traer un tenedor?"),
        ("me puedes traer un tenedor?", "¿Me puedes traer un tenedor?"),
        ("¿Me puedes traer un tenedor?", "¿Me puedes traer un tenedor?"),
        ("yo soy de canada.", "Yo soy de Canadá."),
        ("el medico de mexico esta aqui", "El médico de México está aqui"),
        ("el come en el jardin", "Él come en el jardín"),
        ("tu quieres tu te", "Tú quieres tu té"),
        ("te llamo manana", "Te llamo mañana"),
        ("se que ana se lo da", "Sé que Ana se lo da"),
        ("que compro ana", "¿Qué compró Ana?"),
        ("por que esta cansada lucia", "¿Por qué está cansada Lucía?"),
        ("de donde eres", "¿De dónde eres?"),
        ("cuando llega ana?", "¿Cuándo llega Ana?"),
        ("cuando llego a casa, leo", "Cuando llego a casa, leo"),
        ("ana compro el libro que trajo pedro", "Ana compró el libro que trajo Pedro"),
        ("compro pan los domingos", "Compro pan los domingos"),
        ("ayer compro pan y lo comio", "Ayer compró pan y lo comió"),
        ("bebe jugo", "Bebe jugo"),
        ("Zanahoria desconocida", "Zanahoria desconocida"),
        ("", ""),
    ],
)
def test_typed_sentences_are_spelled_as_in_the_corpus(sentence: str, spelled: str) -> None:
    assert restore("builtin:es-en", sentence) == spelled


def test_the_corpus_itself_stays_as_it_is(spanish: list[Pair]) -> None:
    kept = sum(restore("builtin:es-en", pair.source) == pair.source for pair in spanish)
    assert kept > 0.998 * len(spanish)


def test_nearly_every_sentence_is_found_again(spanish: list[Pair]) -> None:
    short = spanish[:3000]
    found = sum(restore("builtin:es-en", typed(pair.source)) == pair.source for pair in short)
    assert found > 0.97 * len(short)


def test_no_letter_is_lost(spanish: list[Pair]) -> None:
    for pair in spanish[:500]:
        assert normalize(restore("builtin:es-en", typed(pair.source).rstrip("?."))) == normalize(pair.source)


def test_the_documented_ambiguities_are_all() -> None:
    ambiguous = [forms for forms in SPELLINGS.values() if len(forms) > 1]
    assert len(ambiguous) == 33
    others = {"el", "tu", "esta", "estas", "te", "se", "que", "donde", "cuando"}
    verbs = [forms for forms in ambiguous if not set(forms) & others]
    assert len(ambiguous) - len(verbs) == len(others)
    assert all(any(form.endswith("ó") for form in forms) for forms in verbs)


def test_hindi_gets_its_capitals() -> None:
    assert restore("builtin:hi-en", "ham baajaar gaye the") == "Ham baajaar gaye the"
    assert restore("builtin:hi-en", "kyaa siitaa dillii mein hai?") == "Kyaa Siitaa Dillii mein hai?"


def test_an_unknown_corpus_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`name` must be a built-in corpus, builtin:es-en or builtin:hi-en"):
        restore("builtin:fr-en", "bonjour")
