"""From a sentence typed in haste, without accents, capitals or marks, to the spelling of the corpus.

A word whose accents are beyond doubt gets them: `Canada`, `tambien`, `compre`. The lexicon has 33 spellings that stand
for two words without accents; a neighbor decides them:

- el, tu, esta, estas stay as they are before a noun and become él, tú, está, estás elsewhere;
- te stays before a verb or a clitic and becomes té elsewhere; se becomes sé before que;
- que, donde, cuando become qué, dónde, cuándo at the start of a question;
- verbs like compro become compró beside somebody else who does it (Ana, the doctor, él) and in a sentence that is
  otherwise in the past; elsewhere they stay (I buy).

Who types some accents is taken to type all that matter: then these 33 are left alone. A sentence that opens like a
question of the grammar gets its marks; the full stop is left as it was typed.
"""

from collections import defaultdict
from itertools import pairwise

from regard.data.builtin.es_en.lexicon import ADJECTIVE_FORMS, FORMS, NOUN_FORMS, PROPER, VERB_FORMS
from regard.data.builtin.es_en.verbs import SPANISH
from regard.data.builtin.sampling import normalize
from regard.data.pair import detokenize, words

_CLITICS = frozenset(["me", "te", "nos", "lo", "la", "los", "las", "le", "les", "se"])
_SKIPPED = _CLITICS | {"no", "siempre", "nunca", "también"}
_ASKING = frozenset(["que", "quien", "donde", "adonde", "cuantos", "cuantas"])
_LEADING = frozenset(["a", "de", "con", "por"])
_DOERS = NOUN_FORMS | ADJECTIVE_FORMS | {"él", "ella", "quién"}
_INVERTING = frozenset(["que", "qué", "dónde", "cuándo"])
_POSSESSIVES = frozenset(["mi", "tu", "nuestro", "nuestra"])
_REQUESTED = frozenset(["me", "nos"])


def _spellings() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for form in sorted(FORMS):
        found[normalize(form)].append(form)
    return {plain: tuple(forms) for plain, forms in found.items()}


SPELLINGS: dict[str, tuple[str, ...]] = _spellings()
"""For each form without case and accents, the forms of the lexicon it may stand for."""

_TELLING = frozenset(
    normalize(form) for verb in SPANISH.values() for form in verb.past if len(SPELLINGS[normalize(form)]) == 1
) - frozenset(form for verb in SPANISH.values() for form in verb.present) | {"ayer", "anoche", "pasado", "pasada"}


def restore(sentence: str) -> str:
    """Spell a typed sentence as the corpus does.

    >>> restore("yo soy de canada"), restore("Me puedes traer un tenedor")
    ('Yo soy de Canadá', '¿Me puedes traer un tenedor?')
    >>> restore("el esta en el jardin con tu tia")
    'Él está en el jardín con tu tía'
    """
    typed = words(sentence)
    careful = not sentence.replace("¿", "").isascii()
    asked = "?" in typed or (typed != [] and typed[-1] not in (".", "!") and _opens_question(typed))
    typed = [word for word in typed if word not in ("¿", "?")]
    past = _is_past(typed)
    spelled: list[str] = []
    for position, word in enumerate(typed):
        following = normalize(typed[position + 1]) if position + 1 < len(typed) else ""
        forms = SPELLINGS.get(normalize(word), (word,))
        if len(forms) == 1:
            spelled.append(forms[0])
        elif careful:
            spelled.append(word.lower())
        elif forms[-1].endswith("ó") or forms[0].endswith("ó"):
            spelled.append(_conjugate(forms, spelled, following, past=past))
        else:
            spelled.append(_decide(forms, spelled, following, asked=asked))
    if spelled:
        spelled[0] = spelled[0][:1].upper() + spelled[0][1:]
    return detokenize(["¿", *spelled, "?"] if asked else spelled)


def _is_past(typed: list[str]) -> bool:
    """Whether a word tells the past; one after que may only be an aside."""
    plain = [normalize(word) for word in typed]
    return any(word in _TELLING and before != "que" for before, word in pairwise(["", *plain]))


def _opens_question(typed: list[str]) -> bool:
    first, second = (normalize(word) for word in (*typed, "", "")[:2])
    return (
        first in _ASKING
        or first == "puedes"
        or (first in _LEADING and second in _ASKING)
        or (first in _REQUESTED and second == "puedes")
    )


def _decide(forms: tuple[str, ...], before: list[str], following: str, *, asked: bool) -> str:
    plain, accented = min(forms, key=_accents), max(forms, key=_accents)
    match plain:
        case "el" | "tu" | "esta" | "estas":
            return plain if _is_noun(following) else accented
        case "te":
            return plain if following in _CLITICS or _is_verb(following) else accented
        case "se":
            return accented if following == "que" else plain
        case _:
            return accented if asked and (not before or before[-1].lower() in _LEADING) else plain


def _conjugate(forms: tuple[str, ...], before: list[str], following: str, *, past: bool) -> str:
    """Tell compro from compró by who stands beside it, or by the rest of the sentence being in the past."""
    did = next(form for form in forms if form.endswith("ó"))
    do = next(form for form in forms if form != did)
    near = next((word for word in reversed(before) if word.lower() not in _SKIPPED), "")
    if (past and do in VERB_FORMS) or near in PROPER or near.lower() in _DOERS:
        return did
    behind = following in _POSSESSIVES or any(form in PROPER for form in SPELLINGS.get(following, ()))
    return did if behind and near.lower() in _INVERTING else do


def _accents(form: str) -> int:
    return sum(not letter.isascii() for letter in form)


def _is_noun(plain: str) -> bool:
    return any(form in NOUN_FORMS or form == "próxima" for form in SPELLINGS.get(plain, ()))


def _is_verb(plain: str) -> bool:
    return plain in ("gusta", "gustan", "encanta", "encantan") or any(
        form in VERB_FORMS for form in SPELLINGS.get(plain, ())
    )
