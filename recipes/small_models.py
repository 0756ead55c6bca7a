"""The small models that come with regard: a translator of one grammar, a classifier of texts, answers about pictures.

    python recipes/small_models.py train work       # all, on one core in about forty minutes
    python recipes/small_models.py ship work        # into src/regard/pretrained/models, with cards and checksums

They are trained on corpora that regard draws by itself, and on nothing else.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import regard
from regard.data.builtin import corpus
from regard.evaluation.bleu import score
from regard.pretrained.shipped import MODELS, write_about
from regard.tasks.translation.compress import compress

LICENSE = "MIT, as regard itself"
CREDIT = "Drawn by regard's own generators; no text or picture is from elsewhere."


class Small(NamedTuple):
    """A model: how it is trained, and what its card tells."""

    task: str
    arguments: tuple[str, ...]
    description: str
    note: str
    figure: str = ""
    """Which figure of the run is told; a translator is measured once more, in int8."""


SMALL = {
    "grammar-es-en": Small(
        task="translate",
        arguments=(
            *("--preset", "transformer-tiny", "--data", "builtin:es-en", "--set", "model.num_encoder_layers=3"),
            *("--set", "model.num_decoder_layers=3", "--set", "train.minutes=10", "--set", "train.result=last"),
        ),
        description="Spanish to English, of one small grammar: a few hundred words",
        note=(
            "A small Transformer that comes with regard, in int8, so that commands and the studio have a translator at "
            "once. It knows the grammar and the words of builtin:es-en and nothing else: it reads every other word as "
            "one and the same unknown token, and what it outputs then means nothing."
        ),
    ),
    "opinions": Small(
        task="classify",
        arguments=("--preset", "transformer", "--data", "builtin:opinions", "--set", "data.size=8000"),
        description="positive or negative, of short opinions; a hundred words",
        note=(
            "A small Transformer that comes with regard, so that the studio's view Classify works at once. It knows "
            'the hundred words of builtin:opinions, where the order of words and "not" decide the label; it reads '
            "every other word as one and the same unknown token, and its labels of such texts mean nothing."
        ),
        figure="test_accuracy",
    ),
    "shapes": Small(
        task="questions",
        arguments=(
            *("--preset", "small", "--data", "builtin:simple-shapes"),
            *("--set", "data.scenes=8000", "--set", "train.steps=1900", "--set", "train.minutes=30"),
        ),
        description="questions about drawn shapes: color, shape, count, position",
        note=(
            "A small network that comes with regard, so that the studio's view Ask an image works at once. It has seen "
            "drawings of colored shapes of 32 × 32 pixels and nothing else: its answers about photographs mean nothing."
        ),
        figure="test_accuracy",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["train", "ship"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", choices=list(SMALL), help="one of them")
    options = parser.parse_args()
    for name in [options.only] if options.only else SMALL:
        (train if options.stage == "train" else ship)(name, options.work)


def train(name: str, work: Path) -> None:
    """Train one, or go on where training was stopped."""
    command = [*command_of(name), "--out", str(work / name)]
    subprocess.run([sys.executable, "-c", "from regard.cli import main; main()", *command[1:]], check=True)


def command_of(name: str) -> list[str]:
    """Give the command that trains one, but for the folder."""
    return ["regard", "train", "--task", SMALL[name].task, *SMALL[name].arguments]


def ship(name: str, work: Path) -> None:
    """Copy the model into the package, with its card, its figures and checksums."""
    small, run, folder = SMALL[name], work / name, MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    if small.task == "translate":
        compress(run, folder)
        figure, note = measured(folder)
    else:
        number = json.loads((run / "model" / "figures.json").read_text())[small.figure]
        figure, note = {"accuracy": f"{100 * number:.2f} %"}, ""
        shutil.copytree(run / "model", folder)
    card = (run / "model" / "README.md").read_text(encoding="utf-8").replace(str(run / "model"), name)
    head, _, rest = card.partition("\n## Use\n")
    made = rest.partition("\n## Made by\n")[0]
    command = " ".join([*command_of(name), "--out", f"work/{name}"])
    how = f"## Made by\n\n```\n{command}\npython recipes/small_models.py ship work\n```\n"
    (folder / "README.md").write_text(f"{head}\n{small.note}{note}\n\n## Use\n{made}\n{how}", encoding="utf-8")
    model = write_about(
        folder,
        task=small.task,
        description=small.description,
        license=LICENSE,
        credit=CREDIT,
        figures=figure,
    )
    print(f"{name}: {model.num_bytes / 1e6:.2f} MB, {model.figures}")


def measured(folder: Path) -> tuple[dict[str, str], str]:
    """Score a compressed translator, whose card has the figures of its float parameters."""
    pairs = corpus("builtin:es-en", split="test", size=500)
    texts = regard.load(folder).translate([pair.source for pair in pairs])
    found = score([str(text) for text in texts], [pair.target for pair in pairs])
    note = (
        " The figures below are of its float parameters and a greedy search; in int8, by a beam of 5, its BLEU on the "
    )
    note += f"test pairs is {found.bleu:.2f}."
    return {"BLEU": f"{found.bleu:.1f}"}, note


if __name__ == "__main__":
    main()
