"""What the translators can do: BLEU of the test, of its long and of its bare sentences; what comes through unchanged.

Names, numbers, dates and titles are asked for in sentences of our own that are not among the phrases to train on, with
names of lists apart. A sentence counts where its output has the name, number or date exactly as the other language
writes it. Signs and labels, not among those to train on, count where the output is one of the listed translations.
"""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.data.corpora.pair import Pair
from translator_parts.copies import without_accents
from translator_parts.files import bare_key, lines, read_side
from translator_parts.names import CHECKED
from translator_parts.numbers import MONTHS, ordinal
from translator_parts.phrases import fill, read_frames
from translator_parts.signs import CHECKED as SIGNS
from translator_parts.signs import read_checked

NAMES = """
{p} compró una bicicleta en {c}. | {p} bought a bicycle in {c}.
Ayer hablé con {f} {l}. | Yesterday I talked to {f} {l}.
{f} quiere mudarse a {c}. | {f} wants to move to {c}.
El libro de {p} está en la mesa. | {p}'s book is on the table.
¿Has visto a {p} {l}? | Have you seen {p} {l}?
Mis padres viven cerca de {c}. | My parents live near {c}.
{p} y {f} son buenos amigos. | {p} and {f} are good friends.
El año pasado estuvimos en {C}. | Last year we were in {C}.
"""
NUMBERS = """
En el estadio había {N} personas. | There were {N} people in the stadium.
El ordenador cuesta {q} euros. | The computer costs {q} euros.
Mi maleta pesa {x} kilos. | My suitcase weighs {x} kilos.
Leí {n} páginas anoche. | I read {n} pages last night.
La película dura {n} minutos. | The movie lasts {n} minutes.
El hotel tiene {n} habitaciones. | The hotel has {n} rooms.
La distancia es de {N} kilómetros. | The distance is {N} kilometers.
Su teléfono es el {k}. | His phone number is {k}.
"""
DATES = """
La fiesta fue el {D}. | The party was on {D}.
Compramos la casa el {D}. | We bought the house on {D}.
El concierto es el {d}. | The concert is on {d}.
Mi hermano se fue el {d}. | My brother left on {d}.
La escuela cerró en {M}. | The school closed in {M}.
Vivimos en {c} desde el {D}. | We have lived in {c} since {D}.
"""
TITLES = """
El señor {l} perdió el tren. | Mr. {l} missed the train.
Ayer vi a la señora {l}. | Yesterday I saw Mrs. {l}.
Necesito hablar con el doctor {l}. | I need to talk to Dr. {l}.
La oficina del señor {l} está cerrada. | Mr. {l}'s office is closed.
Adiós, señor {l}. | Goodbye, Mr. {l}.
El profesor {l} no vino ayer. | Professor {l} didn't come yesterday.
"""
EACH = 25
"""Sentences of each frame."""
TITLES_EN = {"señora": r"(?:Mrs|Ms)\.?", "señor": r"Mr\.?", "doctor": r"(?:Dr\.?|Doctor)", "profesor": "Professor"}
TITLES_ES = {
    "Mrs.": r"(?:señora|Sra\.)",
    "Mr.": r"(?:señor|Sr\.)",
    "Dr.": r"(?:doctora?|Dra?\.)",
    "Professor": "profesora?",
}


def measure(translate: Callable[[Sequence[str]], list[str]], work: Path, direction: str) -> dict[str, Any]:
    """Give the figures of a translator on the test sentences of `work` and on sentences of our own."""
    from regard.evaluation.bleu import score

    source, target = direction.split("-")
    sources, references = lines(work / f"test.{source}"), lines(work / f"test.{target}")
    outputs = translate(sources)
    whole = score(outputs, references)
    long = [index for index, text in enumerate(sources) if len(text.split()) >= 10]
    bare = [typed_bare(text) for text in sources]
    figures: dict[str, Any] = {
        "BLEU": whole.bleu,
        "chrF": whole.chrf,
        "sentences": len(sources),
        "signature": whole.bleu_signature,
        "BLEU, 10 words and more": score(
            [outputs[index] for index in long], [references[index] for index in long]
        ).bleu,
        "long sentences": len(long),
        "BLEU, no accents, marks or capitals": score(translate(bare), references).bleu,
    }
    for name, frames in {"names": NAMES, "numbers": NUMBERS, "dates": DATES, "titles": TITLES}.items():
        figures[name] = share_kept(translate, frames, direction)
    figures["signs"] = share_expected(translate, SIGNS, direction)
    figures["lines of two sentences"] = share_of_two(translate, read_side(work / "test"), direction)
    return figures


def typed_bare(text: str) -> str:
    """Take accents, marks at the ends and capitals from a sentence."""
    return re.sub(r"[¿¡]|[.!?]+$", "", without_accents(text)).strip().lower()


def share_kept(translate: Callable[[Sequence[str]], list[str]], frames: str, direction: str) -> float:
    """Give the share, in percent, of sentences whose slots come through exactly."""
    chance, asked = random.Random(2), []
    for es, en in read_frames(frames):
        for _ in range(EACH):
            pair, drawn = fill(es, en, CHECKED, chance)
            asked.append((pair, [expected(slot, sides, pair, direction) for slot, sides in drawn.items()]))
    forward = direction == "es-en"
    outputs = translate([pair.source if forward else pair.target for pair, _ in asked])
    kept = [all(re.search(item, output) for item in wanted) for output, (_, wanted) in zip(outputs, asked, strict=True)]
    return 100 * sum(kept) / len(kept)


def share_expected(translate: Callable[[Sequence[str]], list[str]], signs: str, direction: str) -> float:
    """Give the share, in percent, of signs that become one of the translations listed, whatever case and marks."""
    rows = read_checked(signs)
    if direction == "en-es":
        rows = [(en, es) for es, en in rows]
    outputs = translate([source[0] for source, _ in rows])
    right = [bare_key(output) in map(bare_key, targets) for output, (_, targets) in zip(outputs, rows, strict=True)]
    return 100 * sum(right) / len(right)


def expected(slot: str, sides: tuple[str, str], pair: Pair, direction: str) -> str:
    """Give a pattern of what the output must have for a slot: one form, but for dates several are right."""
    forward = direction == "es-en"
    value = sides[forward]
    if slot == "l" and (title := _title(pair, forward)):
        return rf"{title} {re.escape(value)}\b"
    if slot in "Dd":
        day, month, *year = re.split(r" de ", sides[0])
        if not forward:
            return rf"\b{day} de {month}" + (rf" (?:de|del) {year[0]}\b" if year else r"\b")
        number, english = rf"(?:{day}|{ordinal(int(day))})", MONTHS[month]
        rest = rf",? (?:of )?{year[0]}\b" if year else r"\b"
        return rf"\b(?:{english} (?:the )?{number}|(?:the )?{number} (?:of )?{english}){rest}"
    if slot == "M" and not forward:
        return value.replace(" de ", " (?:de|del) ")
    return rf"(?<![\w.,]){re.escape(value)}(?!\w|[.,]\d)"


def _title(pair: Pair, forward: bool) -> str | None:
    titles, text = (TITLES_EN, pair.source) if forward else (TITLES_ES, pair.target)
    return next((pattern for title, pattern in titles.items() if title in text), None)


def share_of_two(translate: Callable[[Sequence[str]], list[str]], pairs: Sequence[Pair], direction: str) -> float:
    """Give the share, in percent, of lines of two test sentences whose output has two."""
    source = "source" if direction == "es-en" else "target"
    single = [pair for pair in pairs if sentences(pair.source) == sentences(pair.target) == 1]
    couples = [(single[index], single[index + 1]) for index in range(0, min(len(single) - 1, 400), 2)]
    outputs = translate([f"{getattr(one, source)} {getattr(two, source)}" for one, two in couples])
    return 100 * sum(sentences(output) == 2 for output in outputs) / max(1, len(couples))


def sentences(text: str) -> int:
    """Count sentences by their last marks; abbreviated titles have none."""
    text = re.sub(r"\b(?:Mrs?|Ms|Dr|Prof|Sra?|Dra)\.", "", text)
    return len(re.findall(r"[.!?…]+[\"'”»)]*(?= |$)", text))


def shown(figures: dict[str, Any]) -> dict[str, str]:
    """Write figures for a card, or to be printed."""
    rows = {name: figures[name] for name in ("BLEU", "chrF", "BLEU, 10 words and more")}
    rows["BLEU, no accents, marks or capitals"] = figures["BLEU, no accents, marks or capitals"]
    result = {name: f"{value:.1f}" for name, value in rows.items()}
    kinds = {"names": "names", "numbers": "numbers", "dates": "dates", "titles": "titles with names"}
    result |= {f"{words} that come through": f"{figures[name]:.0f} %" for name, words in kinds.items()}
    result["signs and labels translated as expected"] = f"{figures['signs']:.0f} %"
    return result | {"lines of two sentences that stay two": f"{figures['lines of two sentences']:.0f} %"}
