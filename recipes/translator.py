"""The translator that comes with regard, Spanish and English, from the Tatoeba pairs of manythings.org alone.

    python recipes/translator.py prepare data/tatoeba/eng-spa.tsv data/translator \\
        --english data/tatoeba/eng-deu.tsv data/tatoeba/eng-fra.tsv    # split; names, numbers, bare words; more English
    regard train recipes/translator-teacher.toml                       # Spanish to English, in runs/translator-teacher
    regard train recipes/translator-teacher.toml --out runs/teacher-en-es --set data.source=data/translator/train.en \\
        --set data.target=data/translator/train.es …                   # and back, each file exchanged
    regard translate runs/translator-teacher --input data/translator/more.es --output data/translator/more.es.translated
    regard translate runs/teacher-en-es --input data/translator/more.en --output data/translator/more.en.translated
    regard translate runs/teacher-en-es --input data/translator/alone.en --output data/translator/alone.en.translated
    regard align hmm --reverse hmm --words marks --source data/translator/train.es --target data/translator/train.en \\
        > data/translator/links.es-en
    python recipes/translator.py assemble data/translator              # what students read: originals and translations
    regard train recipes/translator-student.toml                       # and back, as above
    python recipes/translator.py ship data/translator es-en runs/translator-student   # int8, measured, with a card

The pairs are licensed CC BY 2.0; get them at https://www.manythings.org/anki (spa-eng.zip).
"""

import argparse
import json
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.corpora.pair import Pair
from regard.data.corpora.split import Fractions, split
from regard.data.formats.lines import read_lines

LANGUAGES = ("es", "en")
ALONE = 80_000
"""English sentences of other pairs that are translated too, at most."""
HOLD_OUT = Fractions(valid=0.012, test=0.03)
NAMED = re.compile(r"\b(Tom|Mary|Tomás|María|Juan|John|Bill|Ken|Boston|Australia|Tokyo|Tokio)\b")
NUMBER = re.compile(r"\b\d{1,4}\b")
# Names that are written alike in both languages.
FIRST = (
    "Ana Luis Carla Pablo Elena Diego Sara Hugo Nora Bruno Olga Marcos Irene Felipe Clara Andrés Lucía Miguel Rosa "
    "Javier Paula Sergio Marta Rubén Alba Iván Inés Óscar Julia Adrián Emma Oliver Sophie Liam Grace Noah Ruth Ethan "
    "Alice Henry Chloe Jack Lily Oscar Zoe Leo Hannah Max Eva Karim Fátima Omar Leila Chen Mei Hiroshi Yuki Priya "
    "Arjun Ivan Nadia Pavel Anja Lars Ingrid Erik Kofi Amara Tariq Zainab"
).split()
LAST = (
    "García Romero Navarro Vega Molina Ortega Delgado Castro Rubio Serrano Smith Baker Carter Turner Walker Hughes "
    "Foster Murphy Kowalski Novak Rossi Tanaka Nguyen Singh Okafor Hansen Keller Dubois"
).split()
CITIES = "Madrid Bilbao Granada Lima Quito Bogotá Oslo Chicago Toronto Dublin Berlin Dakar Nairobi Delhi Osaka".split()
CITY_NAMES = {"Boston", "Australia", "Tokyo", "Tokio"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(dest="stage", required=True)
    first = stages.add_parser("prepare", help="split the pairs, and write what teachers read")
    first.add_argument("pairs", type=Path, help="eng-spa.tsv, compressed or not: English, tab, Spanish")
    first.add_argument("work", type=Path)
    first.add_argument(
        "--english", type=Path, nargs="*", default=[], help="pairs whose English the teachers translate too"
    )
    second = stages.add_parser("assemble", help="write what students read, from the teachers' translations")
    second.add_argument("work", type=Path)
    last = stages.add_parser("ship", help="make a model folder of int8 with its card")
    last.add_argument("work", type=Path)
    last.add_argument("direction", choices=["es-en", "en-es"])
    last.add_argument("run", type=Path, help="the student's run")
    last.add_argument("--command", default="python recipes/translator.py --help", help="for the card")
    options = parser.parse_args()
    match options.stage:
        case "prepare":
            prepare(options.pairs, options.work, options.english)
        case "assemble":
            assemble(options.work)
        case _:
            ship(options.work, options.direction, options.run, options.command)


def prepare(path: Path, work: Path, english: Sequence[Path]) -> None:
    """Write train, valid and test, which share no sentence of either side, and more to train on."""
    work.mkdir(parents=True, exist_ok=True)
    sides = split(read(path), HOLD_OUT)
    for name, pairs in zip(("train", "valid", "test"), sides, strict=True):
        write(work / name, pairs)
        print(f"{name}: {len(pairs):,} pairs")
    chance = random.Random(1)
    copies = list(rename(sides.train, chance))
    bare = [bare_source(pair, chance) for pair in chance.sample(sides.train, len(sides.train) // 8)]
    bare_target = [bare_source(turned(pair), chance) for pair in chance.sample(sides.train, len(sides.train) // 8)]
    write(work / "names", copies)
    write(work / "bare-es", bare)
    write(work / "bare-en", [turned(pair) for pair in bare_target])
    print(f"names and numbers: {len(copies):,} pairs; without marks: {len(bare):,} each way")
    for language, side in zip(
        LANGUAGES, zip(*((pair.source, pair.target) for pair in sides.train), strict=True), strict=True
    ):
        write_lines(work / f"more.{language}", list(dict.fromkeys(side)))
    known = {pair.target for pairs in sides for pair in pairs}
    alone = dict.fromkeys(pair.target for other in english for pair in read(other))
    others = [text for text in alone if text not in known and 2 <= len(text.split()) <= 20]
    write_lines(work / "alone.en", chance.sample(others, min(ALONE, len(others))))


def read(path: Path) -> list[Pair]:
    """Read the pairs, Spanish first, each once."""
    rows = [str(line).split("\t") for line in read_lines(path)]
    pairs = [Pair(source=" ".join(row[1].split()), target=" ".join(row[0].split())) for row in rows]
    return list({(pair.source, pair.target): pair for pair in pairs}.values())


def rename(pairs: Sequence[Pair], chance: random.Random) -> Iterator[Pair]:
    """Give copies with other names and numbers, where both sides have the same ones: so that they come through."""
    for pair in pairs:
        names = NAMED.findall(pair.source)
        numbers = NUMBER.findall(pair.source)
        source, target = pair.source, pair.target
        if names and chance.random() < 0.25 and sorted(names) == sorted(NAMED.findall(target)):
            for name in dict.fromkeys(names):
                other = chance.choice(CITIES) if name in CITY_NAMES else chance.choice(FIRST)
                if name not in CITY_NAMES and chance.random() < 0.3:
                    other = f"{other} {chance.choice(LAST)}"
                source, target = (re.sub(rf"\b{name}\b", other, text) for text in (source, target))
        if numbers and sorted(numbers) == sorted(NUMBER.findall(target)):
            for number in dict.fromkeys(numbers):
                other = str(chance.randrange(2, 10 ** len(number)))
                source, target = (re.sub(rf"\b{number}\b", other, text) for text in (source, target))
        if (source, target) != (pair.source, pair.target):
            yield Pair(source=source, target=target)


def bare_source(pair: Pair, chance: random.Random) -> Pair:
    """Take accents, marks or capitals from the source, as people type."""
    text = pair.source
    if chance.random() < 0.6:
        text = without_accents(text)
    if chance.random() < 0.6:
        text = re.sub(r"[¿¡]|[.!?]+$", "", text).strip()
    if chance.random() < 0.6:
        text = text.lower() if chance.random() < 0.5 else text[:1].lower() + text[1:]
    return Pair(source=text, target=pair.target)


def without_accents(text: str) -> str:
    """Write á as a; ñ stays, which is another letter."""
    parts = (unicodedata.normalize("NFD", letter) if letter not in "ñÑ" else letter for letter in text)
    return "".join(letter for part in parts for letter in part if not unicodedata.combining(letter))


def turned(pair: Pair) -> Pair:
    """Exchange the sides."""
    return Pair(source=pair.target, target=pair.source)


def turned_links(line: str) -> str:
    """Exchange the sides of links.

    >>> turned_links("0-0 2-1")
    '0-0 1-2'
    """
    return " ".join("-".join(reversed(link.split("-"))) for link in line.split())


def assemble(work: Path) -> None:
    """Join originals, copies and the teachers' translations of either side: sources that are real for each target.

    A line of links belongs to an original only; where links.es-en is there, it is filled up with empty lines.
    """
    originals = read_side(work / "train")
    translated = {
        "es-en": [
            Pair(source=es, target=en)
            for es, en in zip(lines(work / "more.es"), lines(work / "more.es.translated"), strict=True)
        ],
        "en-es": [
            Pair(source=es, target=en)
            for en, es in zip(lines(work / "more.en"), lines(work / "more.en.translated"), strict=True)
        ],
    }
    # English of other pairs is a source alone, never a target: it may be among the references of Tatoeba's other tests.
    alone: dict[str, list[Pair]] = {"es-en": [], "en-es": []}
    if (work / "alone.en.translated").is_file():
        sides = zip(lines(work / "alone.en"), lines(work / "alone.en.translated"), strict=True)
        alone["en-es"] = [Pair(source=es, target=en) for en, es in sides]
    for direction in ("es-en", "en-es"):
        bare = read_side(work / f"bare-{direction[:2]}")
        made = [*translated["es-en"], *translated["en-es"], *alone[direction]]
        kept = [pair for pair in made if pair.source.strip() and pair.target.strip()]
        more = [*read_side(work / "names"), *bare, *kept]
        known = {(pair.source, pair.target) for pair in originals}
        more = list({both: pair for pair in more if (both := (pair.source, pair.target)) not in known}.values())
        write(work / f"student-{direction}", [*originals, *more])
        if (work / "links.es-en").is_file():
            links = lines(work / "links.es-en")
            links = links if direction == "es-en" else [turned_links(line) for line in links]
            write_lines(work / f"student-{direction}.links", [*links, *[""] * len(more)])
        print(f"{direction}: {len(originals):,} originals, {len(more):,} more")


def ship(work: Path, direction: str, run: Path, command: str) -> None:
    """Compress the student, measure it beside its float parameters, and write card, figures and checksums."""
    import regard
    from regard.evaluation.bleu import score
    from regard.pretrained.shipped import write_about
    from regard.tasks.card import TRANSLATE, Card, write_card
    from regard.tasks.translation.compress import compress

    first, second = direction.split("-")
    folder = work / direction
    compress(run, folder)
    sources, references = (lines(work / f"test.{language}") for language in (first, second))
    figures = {}
    for name, path in (("float32", run), ("int8", folder)):
        translator = regard.load(path)
        measured = score(translator.translate(sources), references)
        figures[name] = measured
        print(f"{direction} {name}: BLEU {measured.bleu:.2f}, chrF {measured.chrf:.2f} on {len(sources):,} sentences")
    languages = {"es": "Spanish", "en": "English"}
    title = f"{languages[first]} to {languages[second]}"
    best = figures["int8"]
    shown = {"BLEU": f"{best.bleu:.1f}", "chrF": f"{best.chrf:.1f}"}
    credit = "Sentence pairs of tatoeba.org, as manythings.org/anki distributes them, CC BY 2.0 (France)."
    about = json.loads((run / "figures.json").read_text())
    card = Card(
        title=f"{title}, the translator that comes with regard",
        summary=f"A Transformer of {about['parameters']:,.0f} parameters, {title.lower()}, in int8.",
        data=f"{credit} Short everyday sentences, six words in the mean; the test sentences share none with training.",
        license="CC BY 2.0",
        figures={"BLEU, test": shown["BLEU"], "chrF, test": shown["chrF"], "test sentences": f"{len(sources):,}"},
        command=command,
        signature=best.bleu_signature,
        folder=direction,
        use=TRANSLATE,
    )
    (folder / "README.md").write_text(write_card(card), encoding="utf-8")
    write_about(
        folder,
        task="translate",
        description=f"{title}, short sentences",
        license="CC BY 2.0",
        credit=credit,
        figures=shown,
    )


def read_side(path: Path) -> list[Pair]:
    """Read two plain files."""
    sides = (lines(path.with_name(f"{path.name}.{language}")) for language in LANGUAGES)
    return [Pair(source=es, target=en) for es, en in zip(*sides, strict=True)]


def write(path: Path, pairs: Sequence[Pair]) -> None:
    """Write two plain files."""
    write_lines(path.with_name(f"{path.name}.es"), [pair.source for pair in pairs])
    write_lines(path.with_name(f"{path.name}.en"), [pair.target for pair in pairs])


def lines(path: Path) -> list[str]:
    """Read the lines of a file."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write_lines(path: Path, texts: Sequence[str]) -> None:
    """Write lines."""
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


if __name__ == "__main__":
    main()
