"""Language models beside published numbers, trained by the library's own loop.

    PYTHONPATH=src python3 benchmarks/language_bars.py --data FOLDER --device cuda --out FOLDER

FOLDER must hold `tinyshakespeare/input.txt.xz` and `wikitext-2/{train,valid,test}.txt.xz`.

| bar | model | number to reach |
| --- | --- | --- |
| shakespeare | 6 × 384 Transformer, context 256, characters | validation loss 1.4697 nats (nanoGPT), within 3 minutes |
| wikitext | 3 × 1150 LSTM, words | test perplexity 90 |
| small | 4 × 128 Transformer, context 64, characters, for a CPU | validation loss 1.88 nats (nanoGPT) |
| counts | 5-grams, words, for a CPU | test perplexity, no bar |

A run first makes a few steps to see how long one takes, and then as many as fit into its minutes, up to its limit. The
loss of Shakespeare is that of windows that do not overlap, as nanoGPT's; with overlap, it is shown beside.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from regard.config.language import BagSpec, LanguageConfig, NGramSpec, compose_language
from regard.config.read import merge, parse_assignments
from regard.models.build import count_parameters
from regard.models.language.build import build_network, count_text
from regard.models.language.network import LanguageNetwork
from regard.tasks.language import Encoded, encode_corpus
from regard.tasks.language_job import LanguageJob
from regard.tasks.run_folder import RunFolder
from regard.tasks.text_corpus import gather_text
from regard.training.group import Group
from regard.training.loop import Trainer
from regard.training.streams import seed_streams
from regard.training.watch import Measured, MetricsFile, Validated, Watchers

SHAKESPEARE = {
    "data": {"hold_out": 0.1, "length": 256},
    "tokenizer": {"kind": "character"},
    "model": {
        "kind": "transformer",
        "size": 384,
        "num_layers": 6,
        "num_heads": 6,
        "feed_forward_size": 1536,
        "position": "rotary",
        "context": 256,
        "dropout": 0.25,
        "attention_dropout": 0.2,
    },
    "train": {
        "steps": 2400,
        "batch_tokens": 64 * 256,
        "precision": "bf16",
        "weight_decay": 0.1,
        "beta2": 0.99,
        "ema": 0.997,
        "validate_every": 100,
        "checkpoint_every": 100,
        "keep_checkpoints": 1,
        "samples": 0,
        "schedule": {"kind": "cosine", "rate": 1e-3, "warm_up": 100, "final": 0.05},
    },
}
SMALL = {
    "data": {"hold_out": 0.1, "length": 64},
    "tokenizer": {"kind": "character"},
    "model": {
        "kind": "transformer",
        "size": 128,
        "num_layers": 4,
        "num_heads": 4,
        "feed_forward_size": 512,
        "position": "rotary",
        "context": 64,
        "dropout": 0.0,
    },
    "train": {
        "steps": 2000,
        "batch_tokens": 12 * 64,
        "weight_decay": 0.1,
        "validate_every": 250,
        "checkpoint_every": 250,
        "keep_checkpoints": 1,
        "samples": 0,
        "schedule": {"kind": "cosine", "rate": 2e-3, "warm_up": 100, "final": 0.05},
    },
}
WIKITEXT = {
    "data": {"length": 70},
    "tokenizer": {"kind": "space", "vocabulary_size": 50_000},
    "model": {
        "kind": "recurrent",
        "cell": "lstm",
        "embedding_size": 400,
        "hidden_size": 1150,
        "num_layers": 3,
        "tie": True,
        "dropout": 0.4,
        "input_dropout": 0.5,
        "layer_dropout": 0.25,
        "weight_dropout": 0.5,
        "word_dropout": 0.1,
    },
    "train": {
        "steps": 14_920,  # 40 epochs
        "batch_tokens": 80 * 70,
        "precision": "bf16",
        "weight_decay": 0.1,
        "beta2": 0.99,
        "clip": 0.25,
        "validate_every": 1492,
        "checkpoint_every": 1492,
        "keep_checkpoints": 1,
        "samples": 0,
        "schedule": {"kind": "cosine", "rate": 3e-3, "warm_up": 600, "final": 0.0},
    },
}
COUNTS = {
    "tokenizer": {"kind": "space", "vocabulary_size": 50_000},
    "model": {"kind": "ngram", "order": 5},
}
BARS = {"shakespeare": SHAKESPEARE, "wikitext": WIKITEXT, "small": SMALL, "counts": COUNTS}
LIMITS = {"shakespeare": "loss ≤ 1.4697", "wikitext": "perplexity ≤ 90", "small": "loss ≤ 1.88", "counts": "none"}
MINUTES = {"shakespeare": 2.5, "wikitext": 4.5, "small": 20.0}
"""Training time of each, unless told."""
PROBE = 40
"""Steps that show how long one takes."""


@dataclass
class Curve:
    """Prints how a run goes."""

    name: str
    times: list[tuple[int, float]] = field(default_factory=list)

    def started(self, step: int, steps: int) -> None:
        """Say how many steps there are."""
        print(f"{self.name}: {steps:,} steps", flush=True)

    def stepped(self, step: int) -> None:
        """Say nothing."""

    def measured(self, measured: Measured) -> None:
        """Print the loss and the speed."""
        self.times.append((measured.step, measured.seconds))
        print(
            f"{self.name} step {measured.step:>6,} {measured.seconds:7.1f} s  train {measured.cross_entropy:.4f}  "
            f"{measured.tokens_per_second:,.0f} tokens/s  {measured.memory / 2**30:.1f} GiB",
            flush=True,
        )

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Print the validation."""
        print(
            f"{self.name} step {validated.step:>6,} {validated.seconds:7.1f} s  VALID {validated.loss:.4f}  "
            f"perplexity {validated.figures['perplexity']:.2f}{'  best' if best else ''}",
            flush=True,
        )

    def noted(self, text: str) -> None:
        """Print it."""
        print(f"{self.name}: {text}", flush=True)


def settings_of(name: str, data: Path, device: str, extra: Mapping[str, Any]) -> LanguageConfig:
    """Give the settings of a bar, with those of `--set` over them."""
    if name in ("shakespeare", "small"):
        places = {"text": str(data / "tinyshakespeare" / "input.txt.xz")}
    else:
        files = {"text": "train", "valid": "valid", "test": "test"}
        places = {key: str(data / "wikitext-2" / f"{file}.txt.xz") for key, file in files.items()}
    chosen = merge(merge(BARS[name], {"data": places, "train": {"device": device}}), extra)
    return compose_language(chosen)


def new_model(config: LanguageConfig, data: Encoded, *, compiled: bool) -> LanguageNetwork:
    """Build the network, the same for every call."""
    seed_streams(config.train.seed)
    assert not isinstance(config.model, NGramSpec | BagSpec)
    model = build_network(config.model, vocabulary_size=data.tokenizer.size)
    if compiled:
        model.compile()
    return model


def train(
    model: LanguageNetwork, config: LanguageConfig, data: Encoded, folder: Path, group: Group, curve: Curve
) -> Trainer:
    """Train by the library's loop."""
    folder.mkdir(parents=True, exist_ok=True)
    run = RunFolder(folder)
    job = LanguageJob(data.train, data.valid, data.tokenizer, config, carries=model.carries, group=group)
    watchers = Watchers([MetricsFile(run.metrics), curve])
    trainer = Trainer(model, job, config.train, checkpoints=run.checkpoints, watcher=watchers, group=group)
    trainer.train()
    model.eval()
    return trainer


def fitted(config: LanguageConfig, data: Encoded, group: Group, *, minutes: float, compiled: bool) -> LanguageConfig:
    """Make a few steps, and give the settings with as many as fit into the minutes."""
    probe = replace(
        config.train, steps=PROBE, log_every=PROBE // 4, validate_every=10**9, checkpoint_every=10**9, result="last"
    )
    model, curve = new_model(config, data, compiled=compiled), Curve("probe")
    with tempfile.TemporaryDirectory() as folder:
        train(model, replace(config, train=probe), data, Path(folder), group, curve)
    (first, begun), (last, ended) = curve.times[1], curve.times[-1]
    each = (ended - begun) / (last - first)
    steps = min(config.train.steps, max(PROBE, int(60 * minutes / each)))
    print(f"{1000 * each:.1f} ms a step: {steps:,} of {config.train.steps:,} steps fit into {minutes:g} minutes")
    every = max(1, config.train.validate_every * steps // config.train.steps)
    schedule = replace(config.train.schedule, warm_up=min(config.train.schedule.warm_up, steps // 10))
    return replace(
        config,
        train=replace(config.train, steps=steps, validate_every=every, checkpoint_every=every, schedule=schedule),
    )


def run_bar(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train and measure one, and give a row of the table."""
    extra = parse_assignments([one.split(":", 1)[1] for one in arguments.set if one.split(":", 1)[0] == name])
    config = settings_of(name, arguments.data, arguments.device, extra)
    folder = arguments.out / name
    shutil.rmtree(folder, ignore_errors=True)
    group = Group(device=torch.device(arguments.device))
    data = encode_corpus(config, gather_text(config.data), RunFolder(folder), group=group)
    print(f"{name}: {len(data.train) - 1:,} tokens to train on, {data.valid.tokenization}", flush=True)
    if isinstance(config.model, NGramSpec):
        begun = time.perf_counter()
        counted = count_text(config.model, data.train, vocabulary_size=data.tokenizer.size)
        seconds = time.perf_counter() - begun
        row: dict[str, Any] = {"bar": name, "model": f"{config.model.order}-grams", "parameters": 0, "steps": 0}
        row |= {"seconds": seconds, "valid_loss": data.valid.measure(counted, length=1).loss}
        assert data.test is not None
        return row | {"test_perplexity": data.test.measure(counted, length=1).perplexity}
    config = fitted(config, data, group, minutes=arguments.minutes or MINUTES[name], compiled=arguments.compile)
    model = new_model(config, data, compiled=arguments.compile)
    begun = time.perf_counter()
    trainer = train(model, config, data, folder, group, Curve(name))
    wall = time.perf_counter() - begun
    length = config.data.length
    row = {"bar": name, "model": config.model.kind, "parameters": count_parameters(model)}
    row |= {"steps": trainer.state.step, "seconds": wall, "best_step": trainer.state.best_step("loss")}
    row["valid_loss"] = data.valid.measure(model, length=length, lanes=16).loss
    if not model.carries:
        row["valid_loss_overlapping"] = data.valid.measure(model, length=length, stride=length // 4).loss
    if data.test is not None:
        row["test_perplexity"] = data.test.measure(model, length=512).perplexity
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Write the rows as Markdown."""
    lines = ["| bar | reached | validation loss | overlapping | test perplexity | parameters | steps | seconds |"]
    lines.append("| --- | --- | --: | --: | --: | --: | --: | --: |")
    for row in rows:
        overlapping = f"{row['valid_loss_overlapping']:.4f}" if "valid_loss_overlapping" in row else ""
        test = f"{row['test_perplexity']:.2f}" if "test_perplexity" in row else ""
        lines.append(
            f"| {row['bar']}: {LIMITS[row['bar']]} | {'yes' if reached(row) else 'no'} | {row['valid_loss']:.4f} | "
            f"{overlapping} | {test} | {row['parameters']:,} | {row['steps']:,} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


def reached(row: Mapping[str, Any]) -> bool:
    """Tell whether a bar was reached."""
    match row["bar"]:
        case "shakespeare":
            return bool(row["valid_loss"] <= 1.4697 and row["seconds"] <= 180)
        case "small":
            return bool(row["valid_loss"] <= 1.88)
        case "wikitext":
            return bool(row["test_perplexity"] <= 90)
    return True


def main() -> None:
    """Run the bars that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="a folder for curves and the table")
    parser.add_argument("--device", default="cuda", help="cpu or cuda")
    parser.add_argument("--only", nargs="+", choices=list(BARS), default=["shakespeare", "wikitext"])
    parser.add_argument("--minutes", type=float, default=0.0, help="training time of each, at most")
    parser.add_argument("--compile", action="store_true", help="let torch.compile compile the model")
    parser.add_argument("--set", nargs="+", default=[], metavar="BAR:KEY=VALUE", help="wikitext:train.clip=1")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.only:
        rows.append(run_bar(name, arguments))
        print(json.dumps(rows[-1]), flush=True)
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "language_bars.md").write_text(table(rows) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
