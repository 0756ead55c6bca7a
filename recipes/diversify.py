"""Data diversification: models of both directions translate the training text, and others learn from all of it.

    python recipes/diversify.py recipes/multi30k-en-de.toml runs/diverse --also recipes/multi30k-en-de-gru.toml

Trains models of the recipe forward and backward, translates the training text by each, joins that with the text, and
trains models of the recipe, and of those of `--also`, on all of it, every stage at once; with minutes for it, these
then see the text alone once more, at a low rate. Every target gets more sources, every source more targets; each pair
is kept once. What is finished is not done again.

Reference: Nguyen et al. (2020), arXiv:1911.01986.
"""

import argparse
import json
import lzma
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jobs import run_at_once, sets

SIDES = ("source", "target")
PARTS = ("", "valid_", "test_")
LONGER = 2
"""Steps of a run on all pairs, for each step of the recipe."""
FINISH = ("train.schedule.rate=0.0003", "train.schedule.warm_up=50", "train.ema=0.99")
"""Settings of the last stage, which begins where the one before has ended."""


class Learner(NamedTuple):
    """A model of the last stages."""

    recipe: Path
    table: Mapping[str, Any]
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path, help="of a translator")
    parser.add_argument("out", type=Path, help="the folder of all runs")
    parser.add_argument("--forward", type=int, default=3, help="models that translate the sources")
    parser.add_argument("--backward", type=int, default=2, help="models that translate the targets")
    parser.add_argument(
        "--models", type=int, nargs="+", default=[3], help="models of the last stages, of each recipe or of all"
    )
    parser.add_argument(
        "--also", type=Path, nargs="+", default=[], metavar="RECIPE", help="of others that learn from all"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        nargs=3,
        default=(2.0, 6.0, 0.0),
        metavar=("FIRST", "ALL", "FINISH"),
        help="each run's; 0 leaves out the last stage, which lost BLEU on Multi30k",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of all runs")
    parser.add_argument("--all", action="append", default=[], metavar="KEY=VALUE", help="of those on all pairs")
    options = parser.parse_args()
    recipe, out, recipes = options.recipe, options.out, [options.recipe, *options.also]
    if len(options.models) not in (1, len(recipes)):
        each = f"one for each of the {len(recipes)} recipes" if options.also else "with --also one for each recipe"
        parser.error(f"--models must be one number, or {each}; received {' '.join(map(str, options.models))}.")
    counts = options.models if len(options.models) > 1 else options.models * len(recipes)
    data = read(recipe)["data"]
    first, everything, finish = options.minutes
    if min(first, everything) <= 0 or finish < 0:
        parser.error(f"--minutes must be more than 0, and at least 0 for the last stage; received {options.minutes}.")
    translate_text(recipe, out, data, options, minutes=first)
    join(data, out)
    learners = name_learners(recipes, counts)
    joined = {**data, **{side: str(out / f"all.{side}") for side in SIDES}}
    run_at_once(
        {
            f"all-{name}": train(
                learner.recipe,
                out / f"all-{name}",
                joined,
                learner.seed,
                everything,
                [f"train.steps={LONGER * learner.table['train']['steps']}", *options.set, *options.all],
            )
            for name, learner in learners.items()
            if not is_finished(out / f"all-{name}")
        },
        out,
    )
    run_at_once(
        {
            f"last-{name}": [
                *("train", "--from", str(out / f"all-{name}"), "--out", str(out / f"last-{name}")),
                *chosen(
                    data,
                    learner.seed,
                    finish,
                    [*flat("train", learner.table["train"]), *FINISH, *for_training(options.set)],
                ),
            ]
            for name, learner in learners.items()
            if finish and not is_finished(out / f"last-{name}")
        },
        out,
    )
    for run in sorted(path for path in out.iterdir() if is_finished(path)):
        print(f"{run.name}: {figures(run)}")


def read(recipe: Path) -> dict[str, Any]:
    """Read a recipe."""
    return tomllib.loads(recipe.read_text(encoding="utf-8"))


def name_learners(recipes: Sequence[Path], counts: Sequence[int]) -> dict[str, Learner]:
    """Name so many models of each recipe: by number, those of recipes after the first by the recipe too.

    >>> list(name_learners([], []))
    []
    """
    return {
        f"{recipe.stem}-{seed}" if number else f"{seed}": Learner(recipe, read(recipe), seed)
        for number, (recipe, count) in enumerate(zip(recipes, counts, strict=True))
        for seed in range(1, count + 1)
    }


def translate_text(
    recipe: Path, out: Path, data: Mapping[str, str], options: argparse.Namespace, *, minutes: float
) -> None:
    """Train the models of the first stage, and let each translate its side of the training text."""
    turned = {**data, **{f"{part}{a}": data[f"{part}{b}"] for part in PARTS for a, b in (SIDES, SIDES[::-1])}}
    models = {f"forward-{number}": (data, number) for number in range(1, options.forward + 1)}
    models |= {f"backward-{number}": (turned, number) for number in range(1, options.backward + 1)}
    run_at_once(
        {
            name: train(recipe, out / name, files, number, minutes, options.set)
            for name, (files, number) in models.items()
            if not is_finished(out / name)
        },
        out,
    )
    for name, (files, _) in models.items():
        write_lines(out / f"{name}.input", lines(Path(files["source"])))
    asked = {
        f"{name}.output": ["translate", str(out / name), *files_of(out / name)]
        for name in models
        if not (out / f"{name}.output").is_file()
    }
    run_at_once(asked, out)


def files_of(run: Path) -> list[str]:
    """Give what a model translates, and where that goes."""
    return ["--input", f"{run}.input", "--output", f"{run}.output"]


def train(
    recipe: Path, out: Path, data: Mapping[str, str], seed: int | str, minutes: float, settings: Sequence[str]
) -> list[str]:
    """Give the command of a run of the recipe on these files."""
    return ["train", str(recipe), "--out", str(out), *chosen(data, seed, minutes, settings)]


def chosen(data: Mapping[str, str], seed: int | str, minutes: float, settings: Sequence[str]) -> list[str]:
    """Give files, settings, seed and minutes as flags."""
    files = [f"data.{part}{side}={find(data[f'{part}{side}'])}" for part in PARTS for side in SIDES]
    return sets([*files, *settings, f"train.seed={seed}", f"train.minutes={minutes:g}"])


def for_training(settings: Sequence[str]) -> list[str]:
    """Give the settings that a run which goes on from a model may have: sizes and tokenizer are the model's.

    >>> for_training(["train.clip=0.5", "model.size=64"])
    ['train.clip=0.5']
    """
    return [item for item in settings if not item.startswith(("model.", "tokenizer."))]


def flat(name: str, table: Mapping[str, object]) -> list[str]:
    """Give the settings of a table one by one.

    >>> flat("train", {"steps": 5, "schedule": {"kind": "linear"}})
    ['train.steps=5', 'train.schedule.kind=linear']
    """
    parts = [
        flat(f"{name}.{key}", value) if isinstance(value, dict) else [f"{name}.{key}={value}"]
        for key, value in table.items()
    ]
    return [item for part in parts for item in part]


def join(data: Mapping[str, str], out: Path) -> None:
    """Write all pairs: the text, its sources with forward outputs, and backward outputs with its targets."""
    source, target = (lines(Path(data[side])) for side in SIDES)
    sides = [(source, target)]
    sides += [(source, lines(path)) for path in sorted(out.glob("forward-*.output"))]
    sides += [(lines(path), target) for path in sorted(out.glob("backward-*.output"))]
    pairs = dict.fromkeys(
        pair for side in sides for pair in zip(*side, strict=True) if all(text.strip() for text in pair)
    )
    for number, side in enumerate(SIDES):
        write_lines(out / f"all.{side}", [pair[number] for pair in pairs])
    print(f"{len(pairs):,} pairs of {len(source):,}", flush=True)


def is_finished(run: Path) -> bool:
    """Return whether a run has come to its end."""
    return (run / "model" / "figures.json").is_file()


def figures(run: Path) -> str:
    """Give what a run has measured."""
    table = json.loads((run / "model" / "figures.json").read_text(encoding="utf-8"))
    shown = ("steps", "valid_bleu", "test_bleu", "test_chrf")
    return ", ".join(f"{name} {table[name]:.6g}" for name in shown if name in table)


def find(name: str | Path) -> Path:
    """Give a file, or what it is compressed to by xz."""
    path = Path(name)
    packed = path.with_name(f"{path.name}.xz")
    return packed if packed.is_file() and not path.is_file() else path


def lines(path: Path) -> list[str]:
    """Read the lines of a file, compressed by xz or not."""
    path = find(path)
    read_text = lzma.open if path.suffix == ".xz" else open
    with read_text(path, "rt", encoding="utf-8") as file:
        return file.read().removesuffix("\n").split("\n")


def write_lines(path: Path, texts: Sequence[str]) -> None:
    """Write lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


if __name__ == "__main__":
    main()
