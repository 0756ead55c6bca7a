"""The translators that come with regard, Spanish to English and back, from the Tatoeba pairs of manythings.org alone.

    python recipes/translator.py prepare data/tatoeba/eng-spa.tsv data/translator \\
        --english data/tatoeba/eng-deu.tsv data/tatoeba/eng-fra.tsv    # split, word links, copies; more English
    python recipes/translator.py train data/translator --minutes 5.6 --translate-minutes 1.2 --teachers 1
    python recipes/translator.py refine data/translator                # students go on, with what they translate
    python recipes/translator.py check data/translator es-en es-en     # what a model or run can do
    python recipes/translator.py ship data/translator                  # int8, measured, into the package, with cards

`prepare` and `refine` need no GPU. `train` does these steps, of both directions at once, leaves out what is finished,
and goes on without what has failed:

    regard train recipes/translator-teacher.toml …                     # some teachers of each direction
    python recipes/translator.py translate data/translator es-en …     # what they make of sources and more English
    python recipes/translator.py assemble data/translator es-en        # what students read: originals and translations
    regard train recipes/translator-student.toml …

With --teachers 0 the students learn from originals and copies alone. The pairs are licensed CC BY 2.0; get them at
https://www.manythings.org/anki (spa-eng.zip).
"""

import argparse
import json
import re
import shutil
import signal
import sys
from pathlib import Path

from translator_parts.assemble import assemble
from translator_parts.check import measure, shown
from translator_parts.files import DIRECTIONS, lines
from translator_parts.prepare import prepare
from translator_parts.train import refine, train, translate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    stages = parser.add_subparsers(dest="stage", required=True)
    chosen = stages.add_parser("prepare", help="split the pairs, link their words, and write what teachers read")
    chosen.add_argument("pairs", type=Path, help="eng-spa.tsv, compressed or not: English, tab, Spanish")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("--english", type=Path, nargs="*", default=[], help="pairs whose English is translated too")
    chosen = stages.add_parser("translate", help="translate by the teachers of a direction, until the time is over")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("direction", choices=DIRECTIONS)
    chosen.add_argument("--minutes", type=float, default=0.0, help="at most; 0 is no limit")
    chosen.add_argument("--by", choices=("teacher", "student"), default="teacher", help="whose translations")
    chosen = stages.add_parser("assemble", help="write what students read, from the teachers' translations")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("direction", choices=DIRECTIONS)
    chosen = stages.add_parser("train", help="teachers, their translations, students")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("--minutes", type=float, default=7.0, help="of teachers and students together")
    chosen.add_argument("--translate-minutes", type=float, default=1.5, help="after which what is translated is used")
    chosen.add_argument("--teachers", type=int, default=2, help="of each direction, which translate together")
    chosen.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of all runs")
    chosen = stages.add_parser("refine", help="students go on, with what they translate themselves")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("--minutes", type=float, default=50.0, help="of each student")
    chosen.add_argument(
        "--translate-minutes", type=float, default=0.0, help="after which what is translated is used; 0 is no limit"
    )
    chosen.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of both runs")
    chosen = stages.add_parser("check", help="measure a model on the test and on names, numbers, dates and titles")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("model", help="a run, a model folder or the name of a model of the package")
    chosen.add_argument("direction", choices=DIRECTIONS)
    chosen = stages.add_parser("ship", help="make model folders of int8 with their cards, in the package")
    chosen.add_argument("work", type=Path)
    chosen.add_argument("--command", default="python recipes/translator.py train data/translator", help="for the cards")
    chosen.add_argument("--into", type=Path, help="another folder than the package's")
    options = parser.parse_args()
    match options.stage:
        case "prepare":
            prepare(options.pairs, options.work, options.english)
        case "translate":
            translate(options.work, options.direction, 60 * options.minutes, by=options.by)
        case "assemble":
            assemble(options.work, options.direction)
        case "train":
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # which ends what it runs too
            seconds = 60 * options.minutes, 60 * options.translate_minutes
            train(options.work, seconds, teachers=options.teachers, settings=options.set)
        case "refine":
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
            refine(options.work, (60 * options.minutes, 60 * options.translate_minutes), settings=options.set)
        case "check":
            print_figures(options.model, options.work, options.direction)
        case _:
            for direction in DIRECTIONS:
                ship(options.work, direction, options.command, options.into)


def print_figures(model: str, work: Path, direction: str) -> None:
    """Print what a model can do."""
    import regard

    figures = measure(regard.load(model, device="auto").translate, work, direction)
    for name, value in shown(figures).items():
        print(f"{name}: {value}")
    print(f"{figures['sentences']:,} test sentences, {figures['long sentences']:,} of 10 words and more")
    print(figures["signature"])


WEAK = (
    "It has learned from short everyday sentences, six words in the mean. It is bad at long ones, at technical and "
    "legal words, poetry and dialect, at single words, signs, buttons, headings and cells of tables, at names and "
    "titles of works alone in a line, at text in capitals and at abbreviations: what it outputs then is fluent and may "
    "be wrong. Addresses of pages and of mail, emoji and rare signs such as & come out broken; --markup placeholders "
    "carries them through as {0}. How often names, numbers and dates come through in sentences, signs are translated "
    "as expected, and lines of two sentences stay two, is below. Of a word with several senses it takes the usual one. "
    "Nothing was filtered from the data. Do not rely on it where a wrong word does harm."
)


def ship(work: Path, direction: str, command: str, into: Path | None) -> None:
    """Compress a student into the package, measure it beside its float parameters; write card and checksums."""
    import regard
    from regard.evaluation.bleu import score
    from regard.pretrained.shipped import MODELS, write_about
    from regard.tasks.card import TRANSLATE, Card, write_card
    from regard.tasks.translation.compress import compress
    from regard.training.run_folder import RunFolder

    first, second = direction.split("-")
    refined, folder = work / "runs" / f"refined-{direction}", (into or MODELS) / direction
    run = refined if (refined / "model").is_dir() else work / "runs" / f"student-{direction}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    compress(run, folder)
    sources, references = (lines(work / f"test.{language}") for language in (first, second))
    plain = score(regard.load(run, device="auto").translate(sources), references)
    figures = measure(regard.load(folder, device="auto").translate, work, direction)
    rows = shown(figures)
    print(f"{direction}: {rows}; float parameters: BLEU {plain.bleu:.2f}, chrF {plain.chrf:.2f}")
    languages = {"es": "Spanish", "en": "English"}
    title = f"{languages[first]} to {languages[second]}"
    credit = "Sentence pairs of tatoeba.org, as manythings.org/anki distributes them, CC BY 2.0 (France)."
    about = json.loads((run / "model" / "figures.json").read_text())
    trained_with = re.search(r"with torch (\S+)\.\s", (run / "model" / "README.md").read_text(encoding="utf-8"))
    card = Card(
        title=f"{title}, a translator that comes with regard",
        summary=f"A Transformer of {about['parameters']:,.0f} parameters in int8. One head was trained on word links.",
        data=(
            f"{credit} The test sentences share none, on either side, with those to train on. Names, numbers, dates, "
            "titles and signs are measured on sentences of our own, apart from those to train on."
        ),
        license="CC BY 2.0",
        figures={
            **{f"{name}, test, beam 5" if name in ("BLEU", "chrF") else name: value for name, value in rows.items()},
            "BLEU of the float parameters": f"{plain.bleu:.1f}",
            "test sentences": f"{len(sources):,}, of which {figures['long sentences']:,} have 10 words and more",
        },
        command=command,
        signature=figures["signature"],
        folder=direction,
        use=TRANSLATE,
        checksum=RunFolder(run).fingerprint(),
        languages=(first, second),
        note=WEAK,
        torch_version=trained_with[1] if trained_with else "not known",
    )
    (folder / "README.md").write_text(write_card(card), encoding="utf-8")
    write_about(
        folder,
        task="translate",
        description=f"{title}, short everyday sentences",
        license="CC BY 2.0",
        credit=credit,
        figures={name: rows[name] for name in ("BLEU", "chrF")},
    )


if __name__ == "__main__":
    from regard.errors import RegardError

    try:
        main()
    except RegardError as error:
        print(f"translator.py: {error}", file=sys.stderr)
        sys.exit(2)
