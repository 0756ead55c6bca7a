"""Every language model of the library on WikiText-2's words: one table, one figure, the curves.

    PYTHONPATH=src python3 benchmarks/language_table.py --data FOLDER --out FOLDER --device cuda

FOLDER must hold `wikitext-2/{train,valid,test}.txt.xz`. `--only NAME …` trains some; several processes may do so at
once with the same `--out`: each adds its rows to `rows.jsonl` and its curve to `curves.jsonl`, and writes the table and
the figure of all rows that are there. `--only` without a name does that alone.

Settings are those below, with fewer steps where they would not fit into the minutes: a run first makes some steps to
see how long one takes. None was tuned on the test text.
"""

import argparse
import json
import math
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from language_runs import (
    Curve,
    append,
    count_model,
    fit_steps,
    last_run,
    measure_model,
    network_figures,
    read_lines,
    train_model,
)

from regard.config.language import BagSpec, NGramSpec
from regard.config.read import merge, parse_assignments
from regard.tasks.language.data import gather_text
from regard.tasks.language.settings import LanguageConfig, compose_language
from regard.tasks.language.train import Encoded, encode_corpus
from regard.training.group import Group
from regard.training.run_folder import RunFolder

Settings = dict[str, Any]
EPOCH = 373
"""Steps that read WikiText-2 once, at 80 × 70 tokens."""


def _network(model: Settings, *, epochs: int, rate: float, length: int = 70, rows: int = 80, **train: Any) -> Settings:
    """Give the settings of a network; ten validations, the best of which is the result."""
    steps = epochs * EPOCH * 5600 // (rows * length)
    return {
        "data": {"length": length},
        "model": model,
        "train": {
            "steps": steps,
            "batch_tokens": rows * length,
            "precision": "bf16",
            "weight_decay": 0.1,
            "beta2": 0.99,
            "clip": 0.25,
            "validate_every": steps // 10,
            "checkpoint_every": steps // 10,
            "keep_checkpoints": 1,
            "samples": 0,
            "schedule": {"kind": "cosine", "rate": rate, "warm_up": 600, "final": 0.0},
            **train,
        },
    }


def _recurrent(cell: str, **changed: Any) -> Settings:
    """Give a recurrent model of medium size, with dropout for a text of two million words."""
    return {
        "kind": "recurrent",
        "cell": cell,
        "embedding_size": 512,
        "hidden_size": 512,
        "num_layers": 2,
        "tie": True,
        "dropout": 0.5,
        "input_dropout": 0.5,
        "layer_dropout": 0.3,
        "weight_dropout": 0.3,
        "word_dropout": 0.1,
        **changed,
    }


FEED_FORWARD = {
    "kind": "feed-forward",
    "context": 5,
    "embedding_size": 256,
    "hidden_size": 512,
    "dropout": 0.5,
}
TRANSFORMER = {
    "kind": "transformer",
    "size": 384,
    "num_layers": 6,
    "num_heads": 6,
    "feed_forward_size": 1536,
    "position": "rotary",
    "context": 128,
    "dropout": 0.4,
    "attention_dropout": 0.2,
}
# As Merity et al. (2018), whose 1,150 is rounded to a multiple of 128, which the GPU's matrix units want; the dropout
# of the words' vectors is 0.5 for their 0.65, since training is shorter by a factor of ten.
LARGE = _recurrent(
    "lstm",
    embedding_size=400,
    hidden_size=1152,
    num_layers=3,
    dropout=0.4,
    layer_dropout=0.25,
    weight_dropout=0.5,
)

MODELS: Mapping[str, Settings] = {
    "bag": {"model": {"kind": "bag"}},
    **{f"{order}-gram": {"model": {"kind": "ngram", "order": order}} for order in range(1, 6)},
    "feed-forward": _network(FEED_FORWARD, epochs=15, rate=1e-3),
    "rnn": _network(_recurrent("rnn", weight_dropout=0.0), epochs=25, rate=1e-3),
    "gru": _network(_recurrent("gru"), epochs=25, rate=2e-3),
    "lstm-1": _network(_recurrent("lstm", num_layers=1), epochs=25, rate=3e-3),
    "lstm-2": _network(_recurrent("lstm"), epochs=25, rate=3e-3),
    "lstm-attention": _network(_recurrent("lstm", attention_span=64), epochs=25, rate=3e-3),
    "lstm-previous": _network(_recurrent("lstm", attention_span=1), epochs=25, rate=3e-3),
    "transformer": _network(TRANSFORMER, epochs=30, rate=1e-3, length=128, rows=64, clip=1.0),
    "lstm-large": _network(LARGE, epochs=50, rate=3e-3),
}
SHOWN = {
    "bag": "bag of words",
    **{f"{order}-gram": f"{order}-grams, Kneser-Ney" for order in range(1, 6)},
    "feed-forward": "feed-forward, 5 words (Bengio 2003)",
    "rnn": "RNN, 2 × 512",
    "gru": "GRU, 2 × 512",
    "lstm-1": "LSTM, 1 × 512",
    "lstm-2": "LSTM, 2 × 512",
    "lstm-attention": "LSTM, 2 × 512, attention over its last 64 states",
    "lstm-previous": "the same over 1 state, which leaves nothing to choose (control)",
    "transformer": "Transformer decoder, 6 × 384, context 128",
    "lstm-large": "LSTM, 3 × 1152 (bar: 90)",
}
MINUTES = {"lstm-large": 8.0}
"""Training time at most, where it is not `OTHERS` and `--minutes` does not say another."""
OTHERS = 5.0
COLORS = {
    "feed-forward": "#5b6472",
    "rnn": "#e69f00",
    "gru": "#009e73",
    "lstm-1": "#8c564b",
    "lstm-2": "#56b4e9",
    "lstm-attention": "#0072b2",
    "lstm-previous": "#cc79a7",
    "transformer": "#d55e00",
    "lstm-large": "#7b2d8e",
    "2-gram": "#b0a000",
    "5-gram": "#000000",
}
"""Each of the figure's models has its own, whichever others are there; those that count are dashed besides."""


def settings_of(name: str, data: Path, device: str, assignments: Sequence[str] = ()) -> LanguageConfig:
    """Give the settings of a model, with those of `--set` over them: for all networks, or behind a name and a colon."""
    files = {"text": "train", "valid": "valid", "test": "test"}
    places = {key: str(data / "wikitext-2" / f"{file}.txt.xz") for key, file in files.items()}
    tokens = {"kind": "space", "vocabulary_size": 50_000}
    chosen = merge(MODELS[name], {"data": places, "tokenizer": tokens, "train": {"device": device}})
    counting = MODELS[name]["model"]["kind"] in ("bag", "ngram")
    split = [one.split(":", 1) if ":" in one.split("=")[0] else ["" if counting else name, one] for one in assignments]
    return compose_language(merge(chosen, parse_assignments([one for owner, one in split if owner == name])))


def run_model(name: str, data: Encoded, arguments: argparse.Namespace, group: Group) -> dict[str, Any]:
    """Train or count one, and give its row."""
    config = settings_of(name, arguments.data, arguments.device, arguments.set)
    row: dict[str, Any] = {"model": name, "device": _device(group, config)}
    if isinstance(config.model, NGramSpec | BagSpec):
        figures, counted = count_model(config, data)
        return row | figures | measure_model(counted, config, data)
    minutes = minutes_of(name, arguments.minutes)
    config = fit_steps(config, data, group, minutes=minutes, compiled=arguments.compile)
    with tempfile.TemporaryDirectory() as folder:
        curve = Curve(name, arguments.out / "curves.jsonl")
        fitted = train_model(config, data, Path(folder), group, curve, compiled=arguments.compile)
        return row | network_figures(fitted) | measure_model(fitted.model, config, data)


def minutes_of(name: str, asked: float | None) -> float:
    """Give the training time of a model: what was asked for, or else its own."""
    return MINUTES.get(name, OTHERS) if asked is None else asked


def _device(group: Group, config: LanguageConfig) -> str:
    counting = isinstance(config.model, NGramSpec | BagSpec)
    gpu = group.device.type == "cuda" and not counting
    return torch.cuda.get_device_name(group.device) if gpu else f"{platform.machine()} CPU"


def write_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows as Markdown, in the order of `MODELS`."""
    heads = ("model", "test perplexity", "bits a word", "validation perplexity", "parameters", "epochs", "minutes")
    lines = ["| " + " | ".join((*heads, "tokens/s")) + " |", "| --- |" + " --: |" * len(heads)]
    for row in rows:
        size = f"{row['parameters']:,}" + (" counts" if row["counts"] else "")
        epochs = row["tokens"] / (EPOCH * 5600)
        lines.append(
            f"| {SHOWN[row['model']]} | {row['test_perplexity']:.2f} | {row['bits_per_word']:.3f} | "
            f"{valid_perplexity(row):.2f} | {size} | {epochs:.1f} | {row['seconds'] / 60:.1f} | "
            f"{row['tokens'] / row['seconds']:,.0f} |"
        )
    told = sorted({f"{row['tokenization']}" for row in rows})
    lines += ["", f"Tokens: {', '.join(told)}; `<unk>` and the end of a line count as words."]
    if any("valid_loss_overlapping" in row for row in rows):
        lines.append(
            "Test and validation of the Transformer: windows that overlap by three quarters; its curve's do not."
        )
    return "\n".join(lines) + "\n"


def valid_perplexity(row: Mapping[str, Any]) -> float:
    """Give the validation perplexity, measured as the test was: where a model reads windows, they overlap."""
    return math.exp(row.get("valid_loss_overlapping", row["valid_loss"]))


def newest(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Give the last row of each model, in the order of `MODELS`."""
    last = {row["model"]: row for row in rows}
    return [last[name] for name in MODELS if name in last]


def last_curve(lines: Sequence[Mapping[str, Any]], name: str) -> tuple[list[float], list[float]]:
    """Give minutes and validation perplexities of a model's last run."""
    own = [line for line in last_run(lines, name) if line["event"] == "valid"]
    return [line["seconds"] / 60 for line in own], [math.exp(line["loss"]) for line in own]


def draw(rows: Sequence[Mapping[str, Any]], curves: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw validation perplexity against time, counting models as the height they reach."""
    from matplotlib.figure import Figure

    from regard.experiments.drawing import draw_lines

    lines = [(row["model"], *last_curve(curves, row["model"])) for row in rows]
    lines = [line for line in lines if len(line[1]) > 1]
    if not lines:
        return
    longest = max(line[1][-1] for line in lines)
    counted = [row for row in rows if row["model"] in ("2-gram", "5-gram")]
    level = [(row["model"], [0.0, longest], [row["valid_perplexity"]] * 2) for row in counted]
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    draw_lines(
        axes,
        [*lines, *level],
        xlabel="minutes of training",
        ylabel="validation perplexity, WikiText-2 words",
        log="y",
        colors=[COLORS[line[0]] for line in (*lines, *level)],
        markers=False,
    )
    for line in axes.lines[len(lines) :]:
        line.set_linestyle("--")
    low, high = axes.get_ylim()
    ticks = [one for one in (50, 60, 70, 80, 90, 100, 120, 150, 200, 300, 500, 1000) if low <= one <= high]
    axes.set_yticks(ticks, [str(one) for one in ticks])
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def write_results(out: Path) -> str:
    """Write the table and the figure of all rows so far."""
    rows = newest(read_lines(out / "rows.jsonl"))
    table = write_table(rows)
    (out / "language_table.md").write_text(table, encoding="utf-8")
    try:
        draw(rows, read_lines(out / "curves.jsonl"), out / "language_table.png")
    except ImportError as error:
        print(f"no figure: {error}")
    return table


def main() -> None:
    """Train what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="a folder for rows, curves, table and figure")
    parser.add_argument("--device", default="cuda", help="cpu or cuda")
    parser.add_argument("--only", nargs="*", choices=list(MODELS), default=list(MODELS), metavar="NAME")
    parser.add_argument("--minutes", type=float, help="training time of each, about: 5 unless told, 8 of lstm-large")
    parser.add_argument("--compile", action="store_true", help="let torch.compile compile the models")
    parser.add_argument("--set", nargs="+", default=[], metavar="[NAME:]KEY=VALUE", help="lstm-2:train.clip=1")
    arguments = parser.parse_args()
    group = Group(device=torch.device(arguments.device))
    if arguments.only:
        config = settings_of(arguments.only[0], arguments.data, arguments.device)
        with tempfile.TemporaryDirectory() as folder:
            data = encode_corpus(config, gather_text(config.data), RunFolder(Path(folder)), group=group)
            print(f"{len(data.train) - 1:,} tokens to train on, {data.valid.tokenization}", flush=True)
            for name in arguments.only:
                row = run_model(name, data, arguments, group)
                append(arguments.out / "rows.jsonl", row)
                print(json.dumps(row), flush=True)
                write_results(arguments.out)
    print(write_results(arguments.out))


if __name__ == "__main__":
    main()
