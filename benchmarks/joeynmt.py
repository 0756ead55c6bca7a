"""regard beside Joey NMT 2.3: how fast both train, on one CPU thread, and translate, on Multi30k English to German.

    python benchmarks/joeynmt.py --data FOLDER --joey PYTHON --work FOLDER [--train] [--translate [--device cuda]]

`--data` holds train, valid and test2016 (`.en.xz`, `.de.xz`), lower-cased and tokenized, with `bpe.codes.xz` and
`joint_vocab.txt.xz`; `--joey` is a Python that has Joey NMT; `--work` keeps text, models and results, so that a second
run is quicker. Every figure is from a process of its own, and the two systems take turns. The tables are written to
`joeynmt-cpu.md` beside this file, or to `joeynmt-gpu.md`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
from joeynmt_report import write_report
from joeynmt_settings import CASES, FITTED, Case, joey_settings, regard_settings
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

HERE = Path(__file__).parent
SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of Multi30k")
    parser.add_argument("--joey", required=True, help="a Python that has Joey NMT 2.3")
    parser.add_argument("--work", type=Path, required=True, help="a folder for text, models and results")
    parser.add_argument("--train", action="store_true", help="measure training")
    parser.add_argument("--translate", action="store_true", help="measure translation")
    parser.add_argument("--rounds", type=int, default=3, help="how often; medians are reported")
    parser.add_argument("--sentences", type=int, default=1000, help="how many to translate")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where both translate")
    parser.add_argument("--quick", action="store_true", help="a few updates and sentences, to see that it runs")
    arguments = parser.parse_args()
    if arguments.train and arguments.device != "cpu":
        raise SystemExit("--train must be measured with --device cpu.")
    sides = Sides(arguments)
    sides.prepare()
    if arguments.train:
        sides.keep("train", _measure_training(sides, arguments))
    if arguments.translate:
        sides.keep("translate", _measure_translation(sides, arguments))
    name = "joeynmt-cpu.md" if arguments.device == "cpu" else "joeynmt-gpu.md"
    target = (arguments.work if arguments.quick else HERE) / name
    target.write_text(write_report(CASES, sides.results(), arguments.device), encoding="utf-8")
    print(f"written: {target}")


class Sides:
    """Starts the two systems on the same text."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.joey_python, self.work, self.device = arguments.joey, arguments.work.resolve(), arguments.device
        nested = arguments.data / "lowercase-tokenised"
        self.data = nested if nested.is_dir() else arguments.data
        kind = "" if self.device == "cpu" else "-gpu"
        self.results_path = self.work / f"results{kind}{'-quick' if arguments.quick else ''}.json"

    def joey(self, command: str, case: Case | None = None, **options: Any) -> Found:
        """Run a command of `joeynmt_peer.py`."""
        given = {"config": self.work / f"{case.name}.yaml", **options} if case else options
        return _run([self.joey_python, HERE / "joeynmt_peer.py", command], given, self.device)

    def regard(self, command: str, case: Case | None = None, **options: Any) -> Found:
        """Run a command of `joeynmt_regard.py`."""
        given = {"config": self.work / f"{case.name}.json", **options} if case else options
        return _run([sys.executable, HERE / "joeynmt_regard.py", command], {"texts": self.work, **given}, self.device)

    def prepare(self) -> None:
        """Divide the text into pieces, write settings for both, and see that both number every token alike."""
        self.work.mkdir(parents=True, exist_ok=True)
        if not (self.work / "test2016.de").is_file():
            self.joey("segment", data=self.data, out=self.work)
        _write_tokenizer(self.work)
        for case in CASES:
            settings = {"yaml": joey_settings(case, self.work, self.device), "json": regard_settings(case)}
            for ending, table in settings.items():
                (self.work / f"{case.name}.{ending}").write_text(json.dumps(table, indent=1), encoding="utf-8")
        if "tokens" not in self.results():
            ours, theirs = self.regard("tokens"), self.joey("tokens", CASES[0])
            if ours["checksum"] != theirs["checksum"]:
                raise SystemExit(f"The token numbers must be the same in both; received {ours} and {theirs}.")
            self.keep("tokens", ours)

    def results(self) -> Found:
        return json.loads(self.results_path.read_text(encoding="utf-8")) if self.results_path.is_file() else {}

    def keep(self, part: str, found: Any) -> None:
        day = time.strftime("%Y-%m-%d")
        kept = self.results() | {part: {"date": day, **found} if isinstance(found, dict) else found}
        self.results_path.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def _run(command: list[Any], options: Found, device: str) -> Found:
    """Run a process on one thread and read the JSON in its last line."""
    flags = [str(part) for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)]
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, "1") | {"PYTHONWARNINGS": "ignore"}
    if device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run([*map(str, command), *flags], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[1:]))} failed:\n{done.stderr[-2000:]}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def _measure_training(sides: Sides, arguments: argparse.Namespace) -> Found:
    """Time updates: Joey NMT, then regard with its own batches, then regard with those that Joey NMT drew."""
    found: Found = {case.name: {"joey": [], "regard": [], "same": []} for case in CASES}
    drawn = sides.work / "batches.json"
    for turn in range(2 if arguments.quick else arguments.rounds):
        for case in CASES:
            how = {"updates": 3 if arguments.quick else case.updates, "warm_up": 1 if arguments.quick else 2}
            how["seed"] = turn + 1
            rows = found[case.name]
            rows["joey"].append(sides.joey("train", case, batches=drawn, **how))
            rows["regard"].append(sides.regard("train", case, **{**how, "updates": 2 * how["updates"]}))
            rows["same"].append(sides.regard("train", case, batches=drawn, **how))
            _tell(f"round {turn + 1}, {case.title}", rows, lambda one: one["tokens"] / one["cpu_seconds"], "tokens")
    return {"models": found}


def _measure_translation(sides: Sides, arguments: argparse.Namespace) -> Found:
    """Time the search of both with the same parameters, which regard has trained."""
    found: Found = {}
    sentences = 64 if arguments.quick else arguments.sentences
    for case in CASES:
        folder = sides.work / (f"{case.name}-quick" if arguments.quick else case.name)
        if not (folder / "joey.ckpt").is_file():
            sides.regard("train", case, updates=20 if arguments.quick else FITTED, out=folder, device=sides.device)
        ours, theirs = {"model": folder}, {"checkpoint": folder / "joey.ckpt"}
        rows: Found = {"joey": [], "regard": []}
        how = {"source": sides.work / "test2016.en", "sentences": sentences}
        if sides.device == "cpu":  # that both compute the same need not be seen twice
            rows |= _agreement(sides, case, how | {"beam": 1, "sentences": min(sentences, 200)}, ours, theirs)
        ours = {**ours, "device": sides.device}
        for turn in range(1 if arguments.quick else arguments.rounds):
            rows["joey"].append(sides.joey("translate", case, **theirs, **how))
            rows["regard"].append(sides.regard("translate", case, **ours, **how))
            _tell(f"round {turn + 1}, {case.title}", rows, lambda one: sentences / one["cpu_seconds"], "sentences")
        rows["alike"] = _alike(rows["joey"][0], rows["regard"][0])
        references = (sides.work / "test2016.de").read_text(encoding="utf-8").splitlines()[:sentences]
        for one in rows["joey"] + rows["regard"]:
            one["bleu"] = _bleu(one.pop("texts"), references)
        found[case.name] = rows
    return {"sentences": sentences, "models": found}


def _agreement(sides: Sides, case: Case, greedy: Found, ours: Found, theirs: Found) -> Found:
    """Give the cross-entropy of the test set by either, and the share of greedy outputs that are the same."""
    entropy = {
        "joey": sides.joey("score", case, **theirs)["cross_entropy"],
        "regard": sides.regard("score", case, **ours)["cross_entropy"],
    }
    outputs = sides.joey("translate", case, **theirs, **greedy), sides.regard("translate", case, **ours, **greedy)
    return {"cross_entropy": entropy, "greedy": _alike(*outputs)}


def _alike(theirs: Found, ours: Found) -> float:
    """Give the share of sentences that both translate in the same words."""
    pairs = list(zip(theirs["texts"], ours["texts"], strict=True))
    return sum(one == other for one, other in pairs) / len(pairs)


def _bleu(texts: Sequence[str], references: Sequence[str]) -> float:
    whole = [[line.replace("@@ ", "") for line in side] for side in (texts, references)]
    return float(sacrebleu.corpus_bleu(whole[0], [whole[1]], tokenize="none", force=True).score)


def _tell(title: str, rows: Found, rate: Callable[[Found], float], unit: str) -> None:
    """Say how it goes, on stderr."""
    last = {name: rate(rows[name][-1]) for name in ("joey", "regard", "same") if name in rows}
    figures = ", ".join(f"{name} {value:,.0f}" if value > 99 else f"{name} {value:.1f}" for name, value in last.items())
    print(f"{title}: {unit} a CPU second: {figures}", file=sys.stderr, flush=True)


def _write_tokenizer(folder: Path) -> None:
    """Write a vocabulary of pieces between spaces, in Joey NMT's order after the special tokens."""
    pieces = (folder / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
    numbers = {piece: number for number, piece in enumerate([*SPECIAL_TOKENS, *pieces])}
    backend = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    backend.normalizer = normalizers.Strip()
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.save(str(folder / "tokenizer.json"))


if __name__ == "__main__":
    main()
