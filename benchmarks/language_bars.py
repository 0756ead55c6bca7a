"""A Transformer on Tiny Shakespeare's characters beside nanoGPT's numbers, trained by the library's own loop.

    PYTHONPATH=src python3 benchmarks/language_bars.py --data FOLDER --device cuda --out FOLDER

FOLDER must hold `tinyshakespeare/input.txt.xz`.

| bar | model | number to reach |
| --- | --- | --- |
| shakespeare | 6 × 384, context 256 | validation loss 1.4697 nats, within 3 minutes |
| small | 4 × 128, context 64, for a CPU | validation loss 1.88 nats |

A run first makes some steps to see how long one takes, and then as many as fit into its minutes, up to its limit. The
loss is that of windows that do not overlap, as nanoGPT's; with overlap, it is shown beside. The bar on WikiText-2 is a
row of `language_table.py`.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from language_runs import Curve, fit_steps, last_run, measure_model, network_figures, read_lines, train_model

from regard.config.read import merge, parse_assignments
from regard.tasks.language.data import gather_text
from regard.tasks.language.settings import LanguageConfig, compose_language
from regard.tasks.language.train import encode_corpus
from regard.training.group import Group
from regard.training.run_folder import RunFolder

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
BARS = {"shakespeare": SHAKESPEARE, "small": SMALL}
LIMITS = {"shakespeare": 1.4697, "small": 1.88}
"""Validation loss to reach."""
MINUTES = {"shakespeare": 2.5, "small": 20.0}
"""Training time of each, unless told."""


def settings_of(name: str, data: Path, device: str, extra: Mapping[str, Any]) -> LanguageConfig:
    """Give the settings of a bar, with those of `--set` over them."""
    places = {"text": str(data / "tinyshakespeare" / "input.txt.xz")}
    chosen = merge(merge(BARS[name], {"data": places, "train": {"device": device}}), extra)
    return compose_language(chosen)


def run_bar(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train and measure one, and give a row of the table."""
    extra = parse_assignments([one.split(":", 1)[1] for one in arguments.set if one.split(":", 1)[0] == name])
    config = settings_of(name, arguments.data, arguments.device, extra)
    group = Group(device=torch.device(arguments.device))
    with tempfile.TemporaryDirectory() as folder:
        data = encode_corpus(config, gather_text(config.data), RunFolder(Path(folder) / "data"), group=group)
        print(f"{name}: {len(data.train) - 1:,} tokens to train on, {data.valid.tokenization}", flush=True)
        minutes = arguments.minutes or MINUTES[name]
        config = fit_steps(config, data, group, minutes=minutes, compiled=arguments.compile)
        curve = Curve(name, arguments.out / "curves.jsonl")
        fitted = train_model(config, data, Path(folder) / "run", group, curve, compiled=arguments.compile)
    row = {"bar": name, "model": config.model.kind, **network_figures(fitted)}
    return row | measure_model(fitted.model, config, data)


def table(rows: list[dict[str, Any]]) -> str:
    """Write the rows as Markdown."""
    lines = ["| bar | reached | validation loss | overlapping windows | parameters | steps | seconds |"]
    lines.append("| --- | --- | --: | --: | --: | --: | --: |")
    for row in rows:
        lines.append(
            f"| {row['bar']}: loss ≤ {LIMITS[row['bar']]} | {'yes' if reached(row) else 'no'} | "
            f"{row['valid_loss']:.4f} | {row['valid_loss_overlapping']:.4f} | {row['parameters']:,} | "
            f"{row['steps']:,} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


def draw(lines: Sequence[Mapping[str, Any]], name: str, path: Path) -> None:
    """Draw the losses of a run against its seconds, and the bar."""
    from matplotlib.figure import Figure

    from regard.experiments.drawing import draw_lines

    sides = {"train": "training", "valid": "validation"}
    own = {side: [line for line in last_run(lines, name) if line["event"] == side] for side in sides}
    curves = [
        (shown, [x["seconds"] for x in own[side]], [x["loss"] for x in own[side]]) for side, shown in sides.items()
    ]
    bar = (f"bar {LIMITS[name]}", [0.0, max(curves[1][1])], [LIMITS[name]] * 2)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    draw_lines(
        axes,
        [*curves, bar],
        xlabel="seconds of training",
        ylabel="loss in nats a character",
        markers=False,
    )
    axes.lines[-1].set_linestyle("--")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def reached(row: Mapping[str, Any]) -> bool:
    """Tell whether a bar was reached."""
    in_time = row["bar"] != "shakespeare" or row["seconds"] <= 180
    return bool(row["valid_loss"] <= LIMITS[row["bar"]] and in_time)


def main() -> None:
    """Run the bars that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="a folder for curves and the table")
    parser.add_argument("--device", default="cuda", help="cpu or cuda")
    parser.add_argument("--only", nargs="+", choices=list(BARS), default=["shakespeare"])
    parser.add_argument("--minutes", type=float, default=0.0, help="training time of each, at most")
    parser.add_argument("--compile", action="store_true", help="let torch.compile compile the model")
    parser.add_argument("--set", nargs="+", default=[], metavar="BAR:KEY=VALUE", help="shakespeare:train.clip=0.5")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.only:
        rows.append(run_bar(name, arguments))
        print(json.dumps(rows[-1]), flush=True)
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "language_bars.md").write_text(table(rows) + "\n", encoding="utf-8")
        draw(read_lines(arguments.out / "curves.jsonl"), name, arguments.out / f"{name}.png")
    print(table(rows))


if __name__ == "__main__":
    main()
