"""Static against learned weights against attention, on four public sets: one table, and what it says.

    python benchmarks/classifiers.py --data FOLDER --out FOLDER [--tasks trec,sst-2] [--presets lstm,transformer]
        [--seeds 1,2,3] [--device cuda] [--table]

FOLDER holds trec6/, sst2/, imdb/ and agnews/ with files of tab-separated columns, the label first. A row that is in
OUT/rows.jsonl is not measured again, so that a run that was stopped goes on. Several processes may be started with the
same OUT: each takes rows that no other has begun. Without scikit-learn the rows of TF-IDF are left out; they may be
measured elsewhere and put into rows.jsonl. `--table` measures nothing and writes the table of what is there.
"""

import argparse
import fcntl
import importlib.util
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import torch

from regard.config.read import merge
from regard.tasks.classification.data import LabeledCorpus, gather_texts
from regard.tasks.classification.model import load_classifier
from regard.tasks.classification.settings import CLASSIFIERS, LabeledData, LabeledSize, compose_classifier
from regard.tasks.classification.train import train_classifier
from regard.training.group import Group, pick_device
from regard.training.run import Run
from regard.training.run_folder import RunFolder

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
        "train": {"steps": 2500, "validate_every": 250, "checkpoint_every": 250},
    },
}
FAMILIES = {
    "static": ("tf-idf", "average"),
    "learned, without attention": ("token-weights", "feed-forward", "rnn", "lstm", "gru"),
    "attention": ("attentive-pooling", "rnn-attention", "lstm-attention", "structured", "transformer"),
}
PROBED = 100
"""Test texts on which a model's own shares are compared with removal."""
TEST_TEXTS = {"trec": 500, "sst-2": 1821, "ag-news": 7600, "imdb": 25000}
CAVEATS = """\
The error of a difference is that of two independent proportions, √2 times that of one. Two models on the same texts
stumble over the same ones, which makes it an upper bound; the rows do not hold what was said of each text, and the
chance of seeds comes on top. The rates of the means and the settings of attentive-pooling were tried out on TREC and
SST-2 with test figures in sight; the recurrent models and the Transformer are as they were first set.
"""


def main() -> None:
    """Measure what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--presets", default=",".join(CLASSIFIERS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if not given.table:
        measure_missing(given)
    table = write_table(read_rows(given.out))
    (given.out / "classifiers.md").write_text(table)
    print(table)


def measure_missing(given: argparse.Namespace) -> None:
    """Go through all rows, seed by seed, and measure those that are neither there nor begun by another process."""
    for task, preset, seed in rows_to_measure(given):
        with claimed(given.out / f"{task}-{preset}-{seed}.lock") as free:
            there = {(row["task"], row["preset"], row["seed"]) for row in read_rows(given.out)}
            if not free or (task, preset, seed) in there:
                continue
            row = measure(given.data, task, preset, seed, given.device)
            with (given.out / "rows.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(row, file=sys.stderr, flush=True)


def rows_to_measure(given: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    """Give the first seed of all models before the second, and TF-IDF, which has no chance in it, once."""
    fits_tf_idf = importlib.util.find_spec("sklearn") is not None
    for number, seed in enumerate(map(int, given.seeds.split(","))):
        for task in given.tasks.split(","):
            for preset in given.presets.split(","):
                if preset != "tf-idf" or (number == 0 and fits_tf_idf):
                    yield task, preset, seed


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


def read_rows(out: Path) -> list[dict]:
    """Read what has been measured."""
    path = out / "rows.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


@lru_cache(maxsize=1)
def gather(data: LabeledData) -> LabeledCorpus:
    """Read a set once for all models of it that follow each other."""
    return gather_texts(data)


def measure(data: Path, task: str, preset: str, seed: int, device: str) -> dict:
    """Train one model, measure it on the test texts, and see whether its shares agree with removal."""
    table = merge(TASKS[task], {"train": {"seed": seed, "device": device}})
    files = {key: str(data / table["data"][key]) for key in ("corpus", "valid", "test") if key in table["data"]}
    table = merge(table, {"data": {**files, "label": "1"}})
    if preset == "tf-idf":
        table = merge(table, {"data": {"max_length": 100_000}})
    corpus = gather(compose_classifier(table, LabeledSize(texts=1, words=1), name=preset).data)
    config = compose_classifier(table, corpus.size, name=preset)
    place = pick_device(device)
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(Path(folder))
        begun = time.perf_counter()
        trained = train_classifier(config, corpus, Run(folder=run, group=Group(device=place)))
        seconds = time.perf_counter() - begun
        classifier = load_classifier(run.model, device=place)
    asked = [text for text in corpus.test.texts if len(text.split()) < 200][:PROBED]
    own, removed = classifier.classify(asked), classifier.classify(asked, by="removal")
    agree = [
        one.heaviest(1)[0][0] == other.heaviest(1)[0][0]
        for one, other in zip(own, removed, strict=True)
        if one.heaviest(1) and other.heaviest(1)
    ]
    figures = trained.figures
    return {
        "task": task,
        "preset": preset,
        "seed": seed,
        "accuracy": figures["test_accuracy"],
        "macro_f1": figures["test_macro_f1"],
        "calibration_error": figures["test_calibration_error"],
        "valid_accuracy": figures["valid_accuracy"],
        "steps": figures["steps"],
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
    parts += [f"removal changes the decision most, on up to {PROBED} texts. Seconds are rough where several rows were"]
    parts += ["measured at once.", "", CAVEATS]
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
    """Say which family was best, and whether it leads by more than the chance of the test set."""
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
    first, second = ranked[0][1][0], ranked[1][1][0]
    bound = 2 * difference_error(first, second, TEST_TEXTS[task])
    verdict = "more" if first - second > bound else "less"
    return (
        f"Best of each family: {told}. The first leads by {100 * (first - second):.1f} points, {verdict} than "
        f"{100 * bound:.1f}, two standard errors of a difference on {TEST_TEXTS[task]:,} test texts. The best of a "
        "family was picked on the test texts, which favors large families."
    )


def difference_error(first: float, second: float, size: int) -> float:
    r"""Give the standard error of the difference between two accuracies on as many texts each.

    $$\sqrt{\frac{p(1 - p) + q(1 - q)}{n}}$$

    which is √2 times that of one accuracy where $p = q$. It takes the two for independent. On the same texts they
    stumble over the same ones, which makes their difference surer than this: it is an upper bound, as near as rows
    allow that do not hold what was said of each text.
    """
    return ((first * (1 - first) + second * (1 - second)) / size) ** 0.5


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
