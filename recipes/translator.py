"""The translators that come with regard, Spanish to English and back, from the Tatoeba pairs of manythings.org alone.

    python recipes/translator.py prepare data/tatoeba/eng-spa.tsv data/translator \\
        --english data/tatoeba/eng-deu.tsv data/tatoeba/eng-fra.tsv    # split; names, numbers, bare words; more English
    python recipes/translator.py train data/translator --minutes 9     # word links, teachers, translations, students
    python recipes/translator.py ship data/translator                  # int8, measured, into the package, with cards

`train` does these steps, of both directions at once, and leaves out what is finished:

    regard align hmm --reverse hmm --words marks …                     # word links of the pairs
    regard train recipes/translator-teacher.toml …                     # a teacher of each direction
    regard translate … --input data/translator/more.es …               # what they make of sources and more English
    python recipes/translator.py assemble data/translator              # what students read: originals and translations
    regard train recipes/translator-student.toml …

With --without-teachers the students learn from the originals alone. The pairs are licensed CC BY 2.0; get them at
https://www.manythings.org/anki (spa-eng.zip).
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from regard.data.corpora.pair import Pair
from regard.data.corpora.split import Fractions, split
from regard.data.formats.lines import read_lines

LANGUAGES, SIDES = ("es", "en"), ("source", "target")
DIRECTIONS = ("es-en", "en-es")
TEACHING = 0.45
"""Share of the minutes that teachers have."""
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
    third = stages.add_parser("train", help="word links, teachers, their translations, students")
    third.add_argument("work", type=Path)
    third.add_argument("--minutes", type=float, default=9.0, help="of teachers and students together")
    third.add_argument("--without-teachers", action="store_true", help="students learn from the originals alone")
    third.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of all runs")
    last = stages.add_parser("ship", help="make model folders of int8 with their cards, in the package")
    last.add_argument("work", type=Path)
    last.add_argument("--command", default="python recipes/translator.py train data/translator", help="for the cards")
    options = parser.parse_args()
    match options.stage:
        case "prepare":
            prepare(options.pairs, options.work, options.english)
        case "assemble":
            assemble(options.work, teachers=True)
        case "train":
            train(options.work, options.minutes, teachers=not options.without_teachers, settings=options.set)
        case _:
            for direction in DIRECTIONS:
                ship(options.work, direction, options.command)


def prepare(path: Path, work: Path, english: Sequence[Path]) -> None:
    """Write train, valid and test, which share no sentence of either side, and more to train on."""
    work.mkdir(parents=True, exist_ok=True)
    for old in [*work.glob("*.translated"), work / "links.es-en"]:
        old.unlink(missing_ok=True)  # of another split
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


def read_translated(path: Path) -> list[Pair]:
    """Read sentences and what a teacher made of them; nothing where it was not asked."""
    made = path.with_name(f"{path.name}.translated")
    if not made.is_file():
        return []
    return [Pair(source=text, target=output) for text, output in zip(lines(path), lines(made), strict=True)]


def turned_links(line: str) -> str:
    """Exchange the sides of links.

    >>> turned_links("0-0 2-1")
    '0-0 1-2'
    """
    return " ".join("-".join(reversed(link.split("-"))) for link in line.split())


def assemble(work: Path, *, teachers: bool) -> None:
    """Join originals, copies and, if there are any, the teachers' translations of either side.

    A line of links belongs to an original only; where links.es-en is there, it is filled up with empty lines.
    """
    originals = read_side(work / "train")
    held_out = [
        {getattr(pair, side) for part in ("valid", "test") for pair in read_side(work / part)} for side in SIDES
    ]
    translated: list[Pair] = []
    if teachers:
        translated = [*read_translated(work / "more.es"), *map(turned, read_translated(work / "more.en"))]
    # English of other pairs is a source alone, never a target: it may be among the references of Tatoeba's other tests.
    alone = {"es-en": [], "en-es": [*map(turned, read_translated(work / "alone.en"))] if teachers else []}
    for direction in DIRECTIONS:
        bare = read_side(work / f"bare-{direction[:2]}")
        made = [*translated, *alone[direction]]
        more = [*read_side(work / "names"), *bare, *made]
        more = [pair for pair in more if pair.source.strip() and pair.target.strip()]
        more = [pair for pair in more if pair.source not in held_out[0] and pair.target not in held_out[1]]
        known = {(pair.source, pair.target) for pair in originals}
        more = list({both: pair for pair in more if (both := (pair.source, pair.target)) not in known}.values())
        write(work / f"student-{direction}", [*originals, *more])
        if (work / "links.es-en").is_file():
            links = lines(work / "links.es-en")
            if len(links) != len(originals):
                raise SystemExit(f"{work}/links.es-en must have a line for each of the {len(originals):,} pairs.")
            links = links if direction == "es-en" else [turned_links(line) for line in links]
            write_lines(work / f"student-{direction}.links", [*links, *[""] * len(more)])
        print(f"{direction}: {len(originals):,} originals, {len(more):,} more")


def train(work: Path, minutes: float, *, teachers: bool, settings: Sequence[str]) -> None:
    """Do all that stands between `prepare` and `ship`."""
    (work / "runs").mkdir(exist_ok=True)
    jobs: dict[str, list[str]] = {}
    if not (work / "links.es-en").is_file():
        sides = ["--source", f"{work}/train.es", "--target", f"{work}/train.en"]
        jobs["links"] = ["align", "hmm", "--reverse", "hmm", "--words", "marks", *sides]
    if teachers:
        for direction in DIRECTIONS:
            jobs[f"teacher-{direction}"] = [*training("teacher", direction, work, TEACHING * minutes), *sets(settings)]
    together(jobs, work)
    if "links" in jobs:
        (work / "runs" / "links.log").replace(work / "links.es-en")
    if teachers:
        asked = {"more.es": "es-en", "more.en": "en-es", "alone.en": "en-es"}
        translations = {
            f"translate-{name}": [
                *("translate", f"{work}/runs/teacher-{direction}", "--beam", "4"),
                *("--input", f"{work}/{name}", "--output", f"{work}/{name}.translated"),
            ]
            for name, direction in asked.items()
            if not (work / f"{name}.translated").is_file() and lines(work / name)
        }
        together(translations, work)
    assemble(work, teachers=teachers)
    left = minutes * (1 - TEACHING if teachers else 1)
    together(
        {f"student-{name}": [*training("student", name, work, left), *sets(settings)] for name in DIRECTIONS}, work
    )


def training(role: str, direction: str, work: Path, minutes: float) -> list[str]:
    """Give the command that trains a teacher or a student of a direction."""
    source, target = direction.split("-")
    name = "train" if role == "teacher" else f"student-{direction}"
    files = {"source": f"{name}.{source}", "target": f"{name}.{target}"}
    for part in ("valid", "test"):
        files |= {f"{part}_source": f"{part}.{source}", f"{part}_target": f"{part}.{target}"}
    if role == "student":
        files["links"] = f"{name}.links"
    chosen = [f"data.{key}={work}/{file}" for key, file in files.items()]
    recipe = str(Path(__file__).with_name(f"translator-{role}.toml"))
    return [
        *("train", recipe, "--out", f"{work}/runs/{role}-{direction}"),
        *sets([*chosen, f"train.minutes={minutes:g}"]),
    ]


def sets(assignments: Sequence[str]) -> list[str]:
    """Write settings as flags."""
    return [word for item in assignments for word in ("--set", item)]


def together(jobs: Mapping[str, Sequence[str]], work: Path) -> None:
    """Run commands of regard at once, each with its own log, and stop at the first that fails."""
    running = {}
    for name, command in jobs.items():
        log = (work / "runs" / f"{name}.log").open("w", encoding="utf-8")
        errors = subprocess.STDOUT if name != "links" else None
        words = [sys.executable, "-m", "regard", *command]
        running[name] = subprocess.Popen(words, stdout=log, stderr=errors, stdin=subprocess.DEVNULL)
        print(f"{name}: see {log.name}", flush=True)
    try:
        working = True
        while working:
            working = any(process.poll() is None for process in running.values())
            for name, process in running.items():
                if process.poll():
                    text = (work / "runs" / f"{name}.log").read_text(encoding="utf-8")
                    raise SystemExit(f"{name} failed: {text[-500:]}")
            time.sleep(0.2)
    finally:
        for process in running.values():
            process.terminate()


WEAK = (
    "It has learned from short everyday sentences, six words in the mean. It is bad at long ones, at technical and "
    "legal words, poetry and dialect, at single words, titles and cells of tables, and at text in capitals: what it "
    "outputs then is fluent and may be wrong. Give it one sentence a line: of several it may lose some. Numbers mostly "
    "come through; dates, titles such as señor or Mr. and rare names often do not. Of a word with several senses it "
    "takes the usual one. Nothing was filtered from the data. Do not rely on it where a wrong word does harm."
)


def ship(work: Path, direction: str, command: str) -> None:
    """Compress a student into the package, measure it beside its float parameters; write card and checksums."""
    import regard
    from regard.evaluation.bleu import score
    from regard.pretrained.shipped import MODELS, write_about
    from regard.tasks.card import TRANSLATE, Card, write_card
    from regard.tasks.translation.compress import compress
    from regard.training.run_folder import RunFolder

    first, second = direction.split("-")
    run, folder = work / "runs" / f"student-{direction}", MODELS / direction
    shutil.rmtree(folder, ignore_errors=True)
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
    about = json.loads((run / "model" / "figures.json").read_text())
    card = Card(
        title=f"{title}, a translator that comes with regard",
        summary=f"A Transformer of {about['parameters']:,.0f} parameters in int8. One head was trained on word links.",
        data=f"{credit} The test sentences share none, on either side, with those to train on.",
        license="CC BY 2.0",
        figures={
            "BLEU, test, beam 5": shown["BLEU"],
            "chrF, test, beam 5": shown["chrF"],
            "BLEU of the float parameters": f"{figures['float32'].bleu:.1f}",
            "test sentences": f"{len(sources):,}",
        },
        command=command,
        signature=best.bleu_signature,
        folder=direction,
        use=TRANSLATE,
        checksum=RunFolder(run).fingerprint(),
        languages=(first, second),
        note=WEAK,
    )
    (folder / "README.md").write_text(write_card(card), encoding="utf-8")
    write_about(
        folder,
        task="translate",
        description=f"{title}, short everyday sentences",
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
    text = path.read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n") if text else []


def write_lines(path: Path, texts: Sequence[str]) -> None:
    """Write lines."""
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


if __name__ == "__main__":
    main()
