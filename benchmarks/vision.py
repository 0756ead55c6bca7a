"""Residual networks without attention, with channel, spatial and both gates, and a Vision Transformer: one table.

    python benchmarks/vision.py --data FOLDER --out FOLDER [--sets cifar,mnist] [--presets resnet,vit]
        [--seeds 1,2,3,4,5] [--device cuda] [--workers 4] [--steps 20] [--table]

FOLDER holds cifar10-subset/ and mnist/. All networks of a set are trained by the library's own loop with the same
data, changes of images, steps and label smoothing, 0.05. The rate rises and falls along a cosine for all; it comes to
3e-3 for the residual networks and to 1e-3 for the Vision Transformer, as the library's settings have it. Nothing was
tuned on the test images, and the last parameters are measured. A row that is in OUT/rows.jsonl is not measured again,
so that a run that was stopped goes on; `--workers` starts so many processes, each of which takes rows that no other
has begun. What a network costs is measured after that, alone. `--steps` is for a quick look. `--table` measures
nothing and writes the table of what is there.
"""

import argparse
import fcntl
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from regard import __version__
from regard.bench.measure import measure
from regard.config.read import merge
from regard.data.images.labeled import LabeledImages
from regard.data.images.pixels import color_statistics
from regard.models.sequence.build import count_parameters
from regard.models.vision.build import ImageEncoder, build_image_encoder
from regard.tasks.images.data import ImageCorpus, gather_images
from regard.tasks.images.job import ImageJob
from regard.tasks.images.settings import IMAGE_ENCODERS, TYPICAL, ImageData, ImagesConfig, ImagesSize, compose_images
from regard.training.group import Group, pick_device
from regard.training.loop import Trainer
from regard.training.loss import smoothed_cross_entropy
from regard.training.optimizer import make_optimizer
from regard.training.precision import autocast
from regard.training.run_folder import RunFolder
from regard.training.streams import seed_streams
from regard.training.watch import Watchers

SETS = {
    "cifar": {
        "data": {"corpus": "cifar10-subset/train5k.bin.xz", "test": "cifar10-subset/test1k.bin.xz"},
        "train": {"steps": 1600, "batch_size": 128},
    },
    "mnist": {
        "data": {"corpus": "mnist/train-images-idx3-ubyte.xz", "test": "mnist/t10k-images-idx3-ubyte.xz"},
        "train": {"steps": 900, "batch_size": 256},
    },
}
CALLED = {"cifar": "CIFAR-10, a subset", "mnist": "MNIST"}
VALID = 0.04
"""Share of the training images that is held out, to see that a run went well; no choice is made by it."""
SMOOTHING = 0.05
"""Of the labels, in every run; the library's own default is none."""
BATCH = 256
"""Images of a batch whose cost is measured."""


def main() -> None:
    """Measure what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--presets", default=",".join(IMAGE_ENCODERS))
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.workers == 0:  # one of several
        train_missing(given)
        return
    if not given.table:
        train_with_workers(given) if given.workers > 1 else train_missing(given)
        cost_missing(given)
    table = write_table(read_rows(given.out / "rows.jsonl"), read_rows(given.out / "costs.jsonl"))
    (given.out / "vision.md").write_text(table)
    print(table)


def train_with_workers(given: argparse.Namespace) -> None:
    """Start this script several times, and wait."""
    command = [sys.executable, __file__, *sys.argv[1:], "--workers", "0"]
    running = [subprocess.Popen(command) for _ in range(given.workers)]
    codes = [one.wait() for one in running]
    if any(codes):
        sys.exit("A worker failed; its rows are missing. The same command goes on.")


def train_missing(given: argparse.Namespace) -> None:
    """Train what is neither there nor begun by another process: the first seed of all before the second."""
    for seed in map(int, given.seeds.split(",")):
        for name in given.sets.split(","):
            for preset in given.presets.split(","):
                with claimed(given.out / f"{name}-{preset}-{seed}.lock") as free:
                    there = {(row["set"], row["preset"], row["seed"]) for row in read_rows(given.out / "rows.jsonl")}
                    if free and (name, preset, seed) not in there:
                        add_row(given.out / "rows.jsonl", train(given, name, preset, seed))


def train(given: argparse.Namespace, name: str, preset: str, seed: int) -> dict:
    """Train one network and measure it on the test images."""
    place = pick_device(given.device)
    corpus = gather(given.data, name)
    config = settings(given, name, preset, corpus.size, seed)
    seed_streams(seed)
    model = build(config, corpus.size, len(corpus.labels))
    mean, spread_of_colors = color_statistics(corpus.train.pixels)
    model.standardize.fit(mean=mean, spread=spread_of_colors)
    job = ImageJob(corpus.train, corpus.valid, config, group=Group(device=place))
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model,
            job,
            config.train,
            checkpoints=RunFolder(Path(folder)).checkpoints,
            watcher=Watchers(),
            group=Group(device=place),
        )
        state = trainer.train()
    scores = job.score(model.eval(), corpus.test)
    learned = job.score(model, first(corpus.train, len(corpus.test)))
    return {
        "set": name,
        "preset": preset,
        "seed": seed,
        "accuracy": scores.accuracy,
        "macro_f1": scores.macro_f1,
        "calibration_error": scores.calibration_error,
        "train_accuracy": learned.accuracy,
        "valid_accuracy": state.validations[-1]["accuracy"],
        "test_images": len(corpus.test),
        "train_images": len(corpus.train),
        "steps": state.step,
        "batch": config.train.batch_size,
        "seconds": time.perf_counter() - begun,
        "machine": machine(place),
    }


def cost_missing(given: argparse.Namespace) -> None:
    """Measure parameters, operations and time of each network, on random images of the set's size."""
    path = given.out / "costs.jsonl"
    place = pick_device(given.device)
    names = [name for name in given.sets.split(",") if name not in {row["set"] for row in read_rows(path)}]
    for name in names:
        corpus = gather(given.data, name)
        image = torch.rand(BATCH, *corpus.size[1:], device=place)
        labels = torch.arange(BATCH, device=place) % len(corpus.labels)
        models, works = {}, {}
        for preset in given.presets.split(","):
            config = settings(given, name, preset, corpus.size, 1)
            models[preset] = model = build(config, corpus.size, len(corpus.labels)).to(place)
            works[f"{preset} train"] = training_step(model, image, labels, config)
            works[f"{preset} infer"] = inference(model, image, config)
        rounds = 50 if place.type == "cuda" else 3
        taken = measure(works, rounds=rounds, device=place, seconds=60.0)
        for preset, model in models.items():
            add_row(
                path,
                {
                    "set": name,
                    "preset": preset,
                    "parameters": count_parameters(model),
                    "operations": operations(model, image[:1]),
                    "train_milliseconds": taken[f"{preset} train"].milliseconds,
                    "train_mebibytes": taken[f"{preset} train"].extra_mebibytes,
                    "infer_milliseconds": taken[f"{preset} infer"].milliseconds,
                    "machine": machine(place),
                },
            )


def training_step(model: ImageEncoder, image: torch.Tensor, labels: torch.Tensor, config: ImagesConfig):
    """Give one update as a piece of work."""
    optimizer = make_optimizer(model, rate=1e-4, weight_decay=0.05, betas=(0.9, 0.99))

    def work() -> None:
        model.train()
        optimizer.zero_grad(set_to_none=True)
        with autocast(config.train.precision, image.device):
            loss = smoothed_cross_entropy(model(image), labels, smoothing=SMOOTHING, padding=-1)
        (loss.total / len(labels)).backward()
        optimizer.step()

    return work


def inference(model: ImageEncoder, image: torch.Tensor, config: ImagesConfig):
    """Give one forward pass as a piece of work."""

    def work() -> None:
        model.eval()
        with torch.no_grad(), autocast(config.train.precision, image.device):
            model(image)

    return work


def operations(model: ImageEncoder, image: torch.Tensor) -> int:
    """Count the multiplications and additions of products and convolutions for one image."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(image)
    return counter.get_total_flops()


def settings(given: argparse.Namespace, name: str, preset: str, size: ImagesSize, seed: int) -> ImagesConfig:
    """Give what `regard train --task images` would take, with smoothed labels, the steps of the set, one validation."""
    own = SETS[name]["train"]
    steps = given.steps or own["steps"]
    precision = "bf16" if pick_device(given.device).type == "cuda" else "fp32"
    every = {"validate_every": steps, "checkpoint_every": steps, "label_smoothing": SMOOTHING}
    train = {**own, **every, "steps": steps, "seed": seed, "device": given.device, "precision": precision}
    return compose_images({"data": SETS[name]["data"], "train": train}, size, name=preset)


@lru_cache(maxsize=1)
def gather(folder: Path, name: str) -> ImageCorpus:
    """Read a set once for all networks of it that follow each other."""
    files = {key: str(folder / path) for key, path in SETS[name]["data"].items()}
    table = merge({"data": files}, {"data": {"hold_out": {"valid": VALID, "test": 0.0}}})
    data: ImageData = compose_images(table, TYPICAL).data
    return gather_images(data)


def build(config: ImagesConfig, size: ImagesSize, num_labels: int) -> ImageEncoder:
    """Make a network for the images of a set."""
    return build_image_encoder(
        config.model, image_size=(size.height, size.width), channels=size.channels, num_labels=num_labels
    )


def first(images: LabeledImages, count: int) -> LabeledImages:
    """Give the first images."""
    return images.select(range(min(count, len(images))))


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Hold a row while it is measured, and tell whether it was free; a process that dies lets go of it."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def read_rows(path: Path) -> list[dict]:
    """Read what has been measured."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def add_row(path: Path, row: dict) -> None:
    """Write a row, and show it."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row, file=sys.stderr, flush=True)


def machine(place: torch.device) -> str:
    """Name what it ran on."""
    return torch.cuda.get_device_name(place) if place.type == "cuda" else f"CPU, {platform.machine()}"


def write_table(rows: list[dict], costs: list[dict]) -> str:
    """Write a line for each network and set, means over the seeds, and what they come to."""
    machines = ", ".join(sorted({row["machine"] for row in rows + costs}))
    parts = [
        "# Attention in image classifiers",
        "",
        f"regard {__version__}, torch {torch.__version__.split('+')[0]}, {machines}. Accuracy on the test images in",
        "percent, mean over seeds ± standard deviation; *against none* the difference to the network without gates,",
        "mean over the same seeds ± standard error; ECE the expected calibration error; MFLOP for one image, forward;",
        f"milliseconds for one update, and for one forward pass, with {BATCH} images. The rate comes to 3e-3 for the",
        "residual networks and to 1e-3 for the Vision Transformer, and falls along a cosine; labels are smoothed by",
        f"{SMOOTHING:g}, which by itself leaves an ECE near that.",
        "",
    ]
    for name in SETS:
        found = [row for row in rows if row["set"] == name]
        if not found:
            continue
        parts += [f"## {CALLED[name]}", "", heading(found), ""]
        parts += [
            "| network | accuracy | against none | ECE | training images | parameters | MFLOP | update | forward |"
        ]
        parts += ["| --- | --: | --: | --: | --: | --: | --: | --: | --: |"]
        own = {row["preset"]: row for row in costs if row["set"] == name}
        parts += [line(preset, found, own.get(preset)) for preset in IMAGE_ENCODERS if of(found, preset)]
        parts += ["", conclude(found, own), ""]
    return "\n".join(parts)


def heading(rows: list[dict]) -> str:
    """Say what was trained on what."""
    one = rows[0]
    seeds = len({row["seed"] for row in rows})
    return (
        f"{one['train_images']:,} images to train on, {one['test_images']:,} to test with; {one['steps']:,} updates of "
        f"{one['batch']} images, {seeds} seed{'s' if seeds > 1 else ''}."
    )


def of(rows: list[dict], preset: str) -> dict[int, dict]:
    """Give the rows of a network by seed."""
    return {row["seed"]: row for row in rows if row["preset"] == preset}


def line(preset: str, rows: list[dict], cost: dict | None) -> str:
    """Write one network."""
    same = list(of(rows, preset).values())
    gap = difference(rows, preset)
    told = "" if preset == "resnet" or gap is None else f"{gap[0]:+.1f} ± {gap[1]:.1f}"
    ece = statistics.fmean(row["calibration_error"] for row in same)
    learned = 100 * statistics.fmean(row["train_accuracy"] for row in same)
    paid = "| | | |"
    if cost is not None:
        paid = (
            f"{cost['parameters']:,} | {cost['operations'] / 1e6:.0f} | {cost['train_milliseconds']:.1f} | "
            f"{cost['infer_milliseconds']:.1f}"
        )
    return f"| {preset} | {spread(same)} | {told} | {ece:.3f} | {learned:.1f} | {paid} |"


def spread(rows: list[dict]) -> str:
    """Write a mean with its standard deviation."""
    values = [100 * row["accuracy"] for row in rows]
    mean = f"{statistics.fmean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def difference(rows: list[dict], preset: str) -> tuple[float, float] | None:
    """Give the mean difference to the network without attention over the seeds both have, and its standard error."""
    own, none = of(rows, preset), of(rows, "resnet")
    gaps = [100 * (own[seed]["accuracy"] - none[seed]["accuracy"]) for seed in own if seed in none]
    if not gaps:
        return None
    # Two measurements of one set of test images, each with the chance of the seed.
    error = statistics.stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else float("nan")
    return statistics.fmean(gaps), error


def conclude(rows: list[dict], costs: dict[str, dict]) -> str:
    """Say whether each attention helped by more than chance, and what it cost."""
    told = []
    base = costs.get("resnet")
    for preset in ("resnet-channel", "resnet-spatial", "resnet-both", "vit"):
        gap = difference(rows, preset)
        if gap is None:
            continue
        clear = abs(gap[0]) > 3 * gap[1]
        verdict = ("better" if gap[0] > 0 else "worse") if clear else "no clear difference"
        paid = ""
        if base is not None and preset in costs:
            more = 100 * (costs[preset]["parameters"] / base["parameters"] - 1)
            slower = costs[preset]["train_milliseconds"] / base["train_milliseconds"]
            paid = f", for {more:+.1f} % parameters and {slower:.2f} times the time of an update"
        told.append(f"{preset}: {verdict} ({gap[0]:+.1f} ± {gap[1]:.1f} points){paid}")
    return (
        "; ".join(told) + ". Clear is a difference of more than three standard errors over the seeds." if told else ""
    )


if __name__ == "__main__":
    main()
