"""Static against learned weights against attention, on four public sets: one table, and what it says.

    python benchmarks/classifiers.py --data FOLDER --out FOLDER [--tasks trec,sst-2] [--seeds 1,2,3] [--device cuda]

FOLDER holds trec6/, sst2/, imdb/ and agnews/ with files of tab-separated columns, the label first. A row that is in
OUT/rows.jsonl is not measured again, so that a run that was stopped goes on.
"""

import argparse
import json
import platform
import shutil
import statistics
import sys
import time
from pathlib import Path

import torch

from regard.config.classify import CLASSIFIERS
from regard.config.classify_run import LabeledSize, compose_classifier
from regard.config.read import merge
from regard.tasks.classification import train_classifier
from regard.tasks.classifier import load_classifier
from regard.tasks.labeled_texts import gather_texts
from regard.tasks.run_folder import RunFolder
from regard.training.group import Group, pick_device
from regard.training.watch import Watchers

#: Files, columns and what suits each: long texts are cut for the networks, not for TF-IDF.
TASKS = {
    "trec": {"data": {"corpus": "trec6/train.tsv.xz", "test": "trec6/test.tsv.xz", "text": "2"}},
    "sst-2": {
        "data": {
            "corpus": "sst2/train.tsv.xz",
            "valid": "sst2/dev.tsv.xz",
            "test": "sst2/test.tsv.xz",
            "text": "2",
        }
    },
    "ag-news": {"data": {"corpus": "agnews/train10k.tsv.xz", "test": "agnews/test.tsv.xz", "text": "2+3"}},
    "imdb": {
        "data": {"corpus": "imdb/train.tsv.xz", "test": "imdb/test.tsv.xz", "text": "3", "max_length": 400},
        "train": {"steps": 4000, "validate_every": 400, "checkpoint_every": 400},
    },
}
FAMILIES = {
    "static": ("tf-idf", "average"),
    "learned, without attention": ("token-weights", "feed-forward", "rnn", "lstm"),
    "attention": ("attentive-pooling", "lstm-attention", "structured", "transformer"),
}
PROBED = 100
"""Test texts on which a model's own shares are compared with removal."""


def main() -> None:
    """Measure what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--presets", default=",".join(CLASSIFIERS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    for task in given.tasks.split(","):
        for preset in given.presets.split(","):
            for seed in [1] if preset == "tf-idf" else map(int, given.seeds.split(",")):  # TF-IDF has no chance in it
                if not any((row["task"], row["preset"], row["seed"]) == (task, preset, seed) for row in rows):
                    rows.append(measure(given.data, given.out, task, preset, seed, given.device))
                    with path.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
                    print(rows[-1], file=sys.stderr, flush=True)
    table = write_table(rows)
    (given.out / "classifiers.md").write_text(table)
    print(table)


def measure(data: Path, out: Path, task: str, preset: str, seed: int, device: str) -> dict:
    """Train one model, measure it on the test texts, and see whether its shares agree with removal."""
    table = merge(TASKS[task], {"train": {"seed": seed, "device": device}})
    files = {key: str(data / table["data"][key]) for key in ("corpus", "valid", "test") if key in table["data"]}
    table = merge(table, {"data": {**files, "label": "1"}})
    if preset == "tf-idf":
        table = merge(table, {"data": {"max_length": 100_000}})
    corpus = gather_texts(compose_classifier(table, LabeledSize(texts=1, words=1), name=preset).data)
    config = compose_classifier(table, corpus.size, name=preset)
    folder = RunFolder(out / "run")
    shutil.rmtree(folder.path, ignore_errors=True)
    folder.path.mkdir()
    place = pick_device(device)
    begun = time.perf_counter()
    trained = train_classifier(config, corpus, folder, command="", watcher=Watchers(), group=Group(device=place))
    seconds = time.perf_counter() - begun
    classifier = load_classifier(folder.model, device=place)
    asked = [text for text in corpus.test.texts if len(text.split()) < 200][:PROBED]
    own, removed = classifier.classify(asked), classifier.classify(asked, by="removal")
    agree = [
        one.heaviest(1)[0][0] == other.heaviest(1)[0][0]
        for one, other in zip(own, removed, strict=True)
        if one.heaviest(1) and other.heaviest(1)
    ]
    shutil.rmtree(folder.path, ignore_errors=True)
    figures = trained.figures
    return {
        "task": task,
        "preset": preset,
        "seed": seed,
        "accuracy": figures["test_accuracy"],
        "macro_f1": figures["test_macro_f1"],
        "calibration_error": figures["test_calibration_error"],
        "parameters": figures["parameters"],
        "agrees": sum(agree) / max(len(agree), 1),
        "heaviest": statistics.fmean(max(one.weights, default=0.0) for one in own),
        "seconds": seconds,
        "machine": torch.cuda.get_device_name(place) if place.type == "cuda" else f"CPU, {platform.machine()}",
    }


def write_table(rows: list[dict]) -> str:
    """Write one line for each model and set, means over the seeds, and what they come to."""
    parts = ["# Static weights, learned weights, attention", "", __doc__.split("\n\n")[0], ""]
    parts += [
        f"regard {version()}, {', '.join(sorted({row['machine'] for row in rows}))}. Accuracy and macro-F1 on the"
    ]
    parts += ["test texts, in percent, mean over seeds ± standard deviation; ECE is the expected calibration error;"]
    parts += ["*largest* the mean share of the word that weighs most; *agrees* how often that word is the one whose"]
    parts += [f"removal changes the decision most, on up to {PROBED} texts.", ""]
    for task in TASKS:
        found = [row for row in rows if row["task"] == task]
        if not found:
            continue
        parts += [f"## {task}", "", "| model | accuracy | macro-F1 | ECE | largest | agrees | seconds | seeds |"]
        parts += ["| --- | --: | --: | --: | --: | --: | --: | --: |"]
        for preset in CLASSIFIERS:
            same = [row for row in found if row["preset"] == preset]
            if same:
                mean = {key: statistics.fmean(row[key] for row in same) for key in same[0] if is_number(same[0][key])}
                parts += [
                    f"| {preset} | {spread([row['accuracy'] for row in same])} | {100 * mean['macro_f1']:.1f} | "
                    f"{mean['calibration_error']:.3f} | {mean['heaviest']:.2f} | {agreement(preset, mean)} | "
                    f"{mean['seconds']:.0f} | {len(same)} |"
                ]
        parts += ["", conclude(task, found), ""]
    return "\n".join(parts)


def conclude(task: str, rows: list[dict]) -> str:
    """Say which family was best, and by how much against the chance of the test set."""
    best = {}
    for family, presets in FAMILIES.items():
        means = {
            preset: statistics.fmean(row["accuracy"] for row in rows if row["preset"] == preset)
            for preset in presets
            if any(row["preset"] == preset for row in rows)
        }
        if means:
            preset = max(means, key=means.__getitem__)
            best[family] = (means[preset], preset)
    ranked = sorted(best.items(), key=lambda item: -item[1][0])
    told = "; ".join(f"{family}: {preset} {100 * accuracy:.1f}" for family, (accuracy, preset) in ranked)
    if len(ranked) < 2:
        return f"Best of each family: {told}."
    gap = ranked[0][1][0] - ranked[1][1][0]
    size = {"trec": 500, "sst-2": 1821, "ag-news": 7600, "imdb": 25000}[task]
    error = (ranked[0][1][0] * (1 - ranked[0][1][0]) / size) ** 0.5
    verdict = "more" if gap > 2 * error else "less"  # on one set of texts; seeds add to it
    return (
        f"Best of each family: {told}. The first leads by {100 * gap:.1f} points, {verdict} than two standard errors "
        f"on {size:,} test texts ({100 * 2 * error:.1f}). The best of a family was picked on the test "
        "texts, which favors large families."
    )


def spread(values: list[float]) -> str:
    """Write a mean with its standard deviation."""
    mean = f"{100 * statistics.fmean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean


def agreement(preset: str, mean: dict) -> str:
    """Write how often own shares and removal agree, which says nothing where all shares are equal."""
    return "–" if preset == "average" else f"{mean['agrees']:.2f}"


def is_number(value: object) -> bool:
    """Tell numbers from names."""
    return isinstance(value, int | float)


def version() -> str:
    """Give the version of regard."""
    from regard import __version__

    return __version__


if __name__ == "__main__":
    main()
