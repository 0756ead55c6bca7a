"""Questions about pictures, with attention and without, by a convolutional network and a Vision Transformer; captions.

    PYTHONPATH=src python3 benchmarks/questions.py --data FOLDER --out FOLDER --device cuda [--workers 5]
        [--seconds 200] [--sets easy-vqa,shapes,captions] [--presets cnn,cnn-mean,vit,vit-mean]
        [--table] [--save FOLDER]

FOLDER holds easy-vqa/ with train.tar.xz and test.tar.xz. `cnn-mean` and `vit-mean` have the same parameters as `cnn`
and `vit`, but the features of the picture are averaged before any word looks at them: nothing is left to attend to.

All of a set are trained for the same number of steps by the library's own loop, unless that would take longer than
`--seconds`, by what its first steps take: then for as many as fit. The steps made are in the table; the best
validation makes the model, which is measured on the test side once. `--workers` trains so many at a time. What a step
costs is measured afterwards, alone. A row that is in OUT/rows.jsonl is not measured again. `--table` measures nothing
and writes the table of what is there. `--save FOLDER` keeps the models, for `regard ask` and `regard caption`.
"""

import argparse
import json
import multiprocessing
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard import __version__
from regard.config.read import merge
from regard.data.images.pixels import color_statistics
from regard.data.text.tokenizer import Tokenizer
from regard.data.text.tokenizer_training import train_tokenizer
from regard.models.sequence.build import count_parameters
from regard.models.vision.build_captions import build_caption_model
from regard.models.vision.build_questions import build_question_network
from regard.tasks.captions.data import gather_captions
from regard.tasks.captions.job import CaptionJob, EncodedCaptions
from regard.tasks.captions.model import Captioner
from regard.tasks.captions.settings import CAPTION_MODELS, compose_captions
from regard.tasks.questions.data import gather_questions
from regard.tasks.questions.job import EncodedQuestions, QuestionJob
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.questions.settings import BUILTIN, QUESTION_MODELS, compose_questions
from regard.tasks.questions.train import TOKENS, answer_figures
from regard.training.group import Group, pick_device
from regard.training.loop import Trainer
from regard.training.run_folder import RunFolder
from regard.training.streams import seed_streams
from regard.training.watch import Watchers

HELD_OUT = {"valid": 0.05, "test": 0.0}
SETS: dict[str, dict[str, Any]] = {
    "easy-vqa": {
        "data": {"corpus": "easy-vqa", "hold_out": HELD_OUT},
        "train": {"steps": 1500, "batch_size": 128},
    },
    "shapes": {
        "data": {"corpus": BUILTIN, "scenes": 30_000, "held_out_scenes": 1000},
        "train": {"steps": 5000, "batch_size": 128},
    },
    "captions": {
        "data": {"corpus": BUILTIN, "scenes": 30_000, "held_out_scenes": 1000},
        "train": {"steps": 5000, "batch_size": 128, "valid_sentences": 256},
    },
}
BARS = {"easy-vqa": 0.99, "shapes": 0.97}
"""Share of test questions to be answered right."""
PROBE = 30
"""Steps that are made to see how long one takes, after half as many to warm up."""


class Kit(NamedTuple):
    """What a run is made of."""

    model: torch.nn.Module
    job: Any
    config: Any
    score: Callable[[torch.nn.Module], dict[str, float]]
    user: Captioner | QuestionAnswerer
    """The model with its words, as a user has it."""


def main() -> None:
    """Measure what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--presets", default=",".join(QUESTION_MODELS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--scenes", type=int, default=0, help="fewer, for a quick look")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    if not given.table:
        rows += measure_missing(given, {(row["set"], row["preset"]) for row in rows}, path)
    table = write_table(rows)
    (given.out / "questions.md").write_text(table)
    print(table)


def measure_missing(given: argparse.Namespace, there: set[tuple[str, str]], path: Path) -> list[dict]:
    """Train what has no row yet, several at a time, then see what a step of each costs alone."""
    sets = given.sets.split(",")
    wanted = [
        (name, preset)
        for preset in given.presets.split(",")
        for name in sets
        if (name, preset) not in there and (name != "captions" or preset in CAPTION_MODELS)
    ]
    begun = time.perf_counter()
    for name in {name for name, _ in wanted}:  # before any device is touched: the processes share it
        CORPORA[name] = gather(given, name)
    say(f"gathered the data in {time.perf_counter() - begun:.0f} s")
    rows = []
    with multiprocessing.get_context("fork").Pool(given.workers, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(train, [(given, *one) for one in wanted]):
            rows.append(row)
            say(json.dumps(row))
    for row in sorted(rows, key=lambda row: row["set"]):
        row["step_ms"] = 1000 * probe(make_kit(given, row["set"], row["preset"], steps=2 * PROBE))
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
    return rows


CORPORA: dict[str, Any] = {}


def gather(given: argparse.Namespace, name: str) -> Any:
    """Read or draw a set."""
    config = settings(given, name, "cnn", None, steps=1)
    return gather_captions(config.data) if name == "captions" else gather_questions(config.data)


def settings(given: argparse.Namespace, name: str, preset: str, corpus: Any, *, steps: int) -> Any:
    """Give the settings of a run: the library's own, but for what the set asks for."""
    from regard.tasks.questions.settings import PictureSize

    table = merge(SETS[name], {"train": {"device": given.device, "precision": "tf32"}})
    corpus_name = table["data"]["corpus"]
    if corpus_name != BUILTIN:
        table = merge(table, {"data": {"corpus": str(given.data / corpus_name)}})
    elif given.scenes:
        table = merge(table, {"data": {"scenes": given.scenes, "held_out_scenes": max(20, given.scenes // 20)}})
    every = max(10, steps // 8)
    table = merge(table, {"train": {"steps": steps, "validate_every": every, "checkpoint_every": every}})
    size = PictureSize(pictures=1000, words=1000) if corpus is None else corpus.size
    return (compose_captions if name == "captions" else compose_questions)(table, size, name=preset)


@lru_cache(maxsize=1)
def encoded(name: str, device: str, max_length: int) -> tuple[Tokenizer, list[Any], tuple[list[float], list[float]]]:
    """Turn a set into numbers, once in each process."""
    corpus, place = CORPORA[name], pick_device(device)
    sides = (corpus.train, corpus.valid, corpus.test)
    colors = color_statistics(corpus.train.pictures)
    if name == "captions":
        words = train_tokenizer(corpus.train.captions, TOKENS)
        return words, [EncodedCaptions(one, words, max_length=max_length, device=place) for one in sides], colors
    words = train_tokenizer((one.text for one in corpus.train.questions), TOKENS)
    asked = [EncodedQuestions(one, words, corpus.answers, max_length=max_length, device=place) for one in sides]
    return words, asked, colors


def make_kit(given: argparse.Namespace, name: str, preset: str, *, steps: int) -> Kit:
    """Build a fresh model and its job."""
    corpus = CORPORA[name]
    config = settings(given, name, preset, corpus, steps=steps)
    size, most = config.data.image_size, config.data.max_length
    words, (train, valid, test), (mean, spread) = encoded(name, given.device, most)
    group = Group(device=pick_device(given.device))
    seed_streams(config.train.seed)
    if name == "captions":
        model: Any = build_caption_model(config.model, vocabulary_size=words.size, image_size=size)
        job: Any = CaptionJob(train, valid, config.train, group=group)
        user: Any = Captioner(model, words, config.model, image_size=size, max_length=most)
    else:
        answers = corpus.answers
        model = build_question_network(
            config.model, vocabulary_size=words.size, num_answers=len(answers), image_size=size
        )
        job = QuestionJob(train, valid, answers, config.train, group=group)
        user = QuestionAnswerer(model, words, answers, config.model, image_size=size, max_length=most)

    def score(model: torch.nn.Module) -> dict[str, float]:
        found = job.score(model, test)
        if name == "captions":
            return {"accuracy": found.exact, "bleu": found.bleu}
        figures = answer_figures(corpus, {"test": found[0]})
        return {key.removeprefix("test_"): value for key, value in figures.items()}

    model.places.encoder.standardize.fit(mean=mean, spread=spread)
    return Kit(model.train(), job, config, score, user)


def train(task: tuple[argparse.Namespace, str, str]) -> dict:
    """Train one model for as long as it has, and measure it on the test side."""
    given, name, preset = task
    torch.set_num_threads(1)
    cost = probe(make_kit(given, name, preset, steps=2 * PROBE))
    steps = max(20, min(SETS[name]["train"]["steps"], int(given.seconds / cost)))
    kit = make_kit(given, name, preset, steps=steps)
    begun = time.perf_counter()
    run(kit)
    seconds = time.perf_counter() - begun
    kit.model.eval()
    if given.save is not None:
        kit.user.save(given.save / f"{name}-{preset}")
    place = pick_device(given.device)
    return {
        "set": name,
        "preset": preset,
        **kit.score(kit.model),
        "steps": steps,
        "seconds": seconds,
        "parameters": count_parameters(kit.model),
        "pictures": len(CORPORA[name].train.pictures),
        "tested": len(CORPORA[name].test),
        "workers": given.workers,
        "machine": torch.cuda.get_device_name(place) if place.type == "cuda" else f"CPU, {platform.machine()}",
    }


def run(kit: Kit) -> None:
    """Train to the end; the best validation makes the model."""
    with tempfile.TemporaryDirectory() as folder:
        Trainer(
            kit.model,
            kit.job,
            kit.config.train,
            checkpoints=RunFolder(Path(folder)).checkpoints,
            watcher=Watchers(),
            group=kit.job.group,
        ).train()


def probe(kit: Kit) -> float:
    """Say how many seconds a step takes, its batch included."""
    from regard.training.job import endless
    from regard.training.precision import matrix_products
    from regard.training.state import State
    from regard.training.update import Updater

    kit.model.to(kit.job.group.device).train()
    updater = Updater(kit.model, kit.job, kit.config.train, group=kit.job.group, watcher=Watchers())
    stream, state = endless(kit.job.batches), State()
    with matrix_products(kit.config.train.precision):
        for number in range(PROBE + PROBE // 2):
            if number == PROBE // 2:
                begun = time.perf_counter()
            updater.update([next(stream)], state)  # which waits for the device
    return (time.perf_counter() - begun) / PROBE


def write_table(rows: list[dict]) -> str:
    """Write one table for each set."""
    machines = ", ".join(sorted({row["machine"] for row in rows}))
    parts = [
        "# Questions about pictures, and captions",
        "",
        f"regard {__version__}, {machines}, one seed. Right answers",
    ]
    parts += ["on the test side in percent; *majority* always says the commonest training answer, *question* the"]
    parts += ["commonest to the same question. `-mean` averages the picture's features before words look: the same"]
    parts += [
        "parameters without attention to places. *ms* is a step alone; *seconds* the training, beside others where"
    ]
    parts += ["several were trained at a time.", ""]
    for name in SETS:
        found = sorted((row for row in rows if row["set"] == name), key=lambda row: row["preset"])
        if found:
            parts += (captions_table if name == "captions" else questions_table)(name, found)
    return "\n".join(parts) + "\n"


def questions_table(name: str, rows: list[dict]) -> list[str]:
    """Write accuracy in all and by kind, beside the baselines, and what it costs."""
    kinds = [key.removeprefix("accuracy_") for key in rows[0] if key.startswith("accuracy_")]
    first = rows[0]
    head = ["model", "right", *kinds, "parameters", "ms", "steps", "seconds"]
    parts = [f"## {name}: {first['pictures']:,} pictures, {first['tested']:,} test questions", ""]
    parts += [f"| {' | '.join(head)} |", f"| --- |{' --: |' * (len(head) - 1)}"]
    for label, key in (("majority", "majority"), ("question", "question_only")):
        cells = [f"{100 * first[key]:.2f}", *(f"{100 * first[f'{key}_{kind}']:.1f}" for kind in kinds)]
        parts.append(f"| {label} | {' | '.join(cells)} | | | | |")
    for row in rows:
        cells = [
            f"{100 * row['accuracy']:.2f}",
            *(f"{100 * row[f'accuracy_{kind}']:.1f}" for kind in kinds),
            *cost(row),
        ]
        parts.append(f"| {row['preset']} | {' | '.join(cells)} |")
    best = max(rows, key=lambda row: row["accuracy"])
    reached = "reached" if best["accuracy"] >= BARS[name] else "not reached"
    parts += ["", f"Bar: {100 * BARS[name]:.0f} %: {reached}, {best['preset']} {100 * best['accuracy']:.2f} %.", ""]
    return parts


def captions_table(name: str, rows: list[dict]) -> list[str]:
    """Write how many captions are right word for word."""
    parts = [f"## {name}: {rows[0]['pictures']:,} pictures, {rows[0]['tested']:,} test captions, greedy", ""]
    parts += ["| model | right word for word | BLEU | parameters | ms | steps | seconds |"]
    parts += ["| --- | --: | --: | --: | --: | --: | --: |"]
    for row in rows:
        cells = [f"{100 * row['accuracy']:.2f}", f"{row['bleu']:.2f}", *cost(row)]
        parts.append(f"| {row['preset']} | {' | '.join(cells)} |")
    return [*parts, ""]


def cost(row: dict) -> list[str]:
    """Write parameters, milliseconds, steps and seconds."""
    return [f"{row['parameters']:,}", f"{row.get('step_ms', 0):.1f}", f"{row['steps']:,}", f"{row['seconds']:.0f}"]


def say(text: str) -> None:
    """Tell whoever watches."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
