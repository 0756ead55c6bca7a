"""Translators that an experiment trains on a text of the user's: some at a time, and none again once it is finished.

Each model is a run of `regard train` in a folder of its own, so that an experiment that was stopped goes on where it
was. With several jobs each is trained and measured by a process of its own, and they may share one GPU.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from regard.config.read import merge, plain_values
from regard.data.builtin import corpus as builtin_corpus
from regard.data.corpora.catalogue import is_builtin
from regard.data.corpora.corpus import find_corpus, read_pairs
from regard.data.corpora.pair import Pair
from regard.data.formats.pharaoh import Lengths, format_links, read_links
from regard.errors import ArgumentError, TrainingError
from regard.experiments.experiment import Watch
from regard.experiments.text_worker import EDGES, Measured, is_answered, work
from regard.files import read_json, write_text
from regard.tasks.recipe import OnText, Recipe
from regard.tasks.translation.settings import Config
from regard.training.metrics import last_report
from regard.training.run_folder import RunFolder

Table = Mapping[str, Any]
LEARNED = 2.0
"""BLEU below which a model has learned too little to be ranked."""
_PAUSE = 0.5
"""Seconds between two checks of what the processes have done."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A translator of an experiment: a preset, and the settings in which it differs from the others."""

    name: str
    preset: str
    settings: Table = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TextRuns:
    """The text of an experiment: settings that all models share, and where they go."""

    folder: Path
    settings: Table
    """As `regard train` takes them; `model` of them goes over what each model has."""
    on_text: OnText = field(default_factory=OnText)
    jobs: int = 1
    """Models that are trained at a time, each by a process of its own."""
    recipe: Recipe | None = None

    @property
    def device(self) -> str:
        """Where models are measured."""
        return str(self.settings.get("train", {}).get("device", "auto"))


def recurrent(size: int) -> dict[str, Any]:
    """Give the sizes of a recurrent model: one layer, all vectors as wide."""
    return {"model": {"embedding_size": size, "hidden_size": size, "num_layers": 1, "dropout": 0.2}}


def bahdanau(size: int) -> dict[str, Any]:
    """Give the sizes of a model of one layer, which has no number of them to set."""
    return {"model": {"embedding_size": size, "hidden_size": size, "dropout": 0.2}}


def transformer(size: int) -> dict[str, Any]:
    """Give the sizes of a Transformer of three layers on each side."""
    model = {"size": size, "feed_forward_size": 4 * size, "num_heads": 4, "dropout": 0.2}
    return {"model": {**model, "num_encoder_layers": 3, "num_decoder_layers": 3, "tie": "output"}}


def too_early_clause(figures: Mapping[str, Measured]) -> str:
    """Give a clause for an order of models of which none has learned to translate; nothing where one has."""
    best = max(item.bleu for item in figures.values())
    return "" if best >= LEARNED else f", which means nothing yet, since no model reaches {LEARNED:g} BLEU"


def train_models(
    models: Sequence[Model], text: TextRuns, *, seed: int, watch: Watch, edges: Sequence[int] = EDGES
) -> dict[str, Measured]:
    """Train and measure the models, `text.jobs` at a time; those that are finished are not trained again."""
    if text.jobs < 1:
        raise ArgumentError(f"`jobs` must be at least 1; received {text.jobs}.")
    requests = _prepare(models, text, seed=seed, edges=edges)
    if text.jobs == 1:
        for number, (model, path) in enumerate(zip(models, requests, strict=True)):
            work(read_json(path).table(), watch=_watch_part(watch, model.name, number, len(models)))
    else:
        _work_at_once([model.name for model in models], requests, text, watch)
    return {
        model.name: Measured(**json.loads(_measured(text, model.name).read_text(encoding="utf-8"))["figures"])
        for model in models
    }


def _measured(text: TextRuns, name: str) -> Path:
    return text.folder / "measured" / f"{name}.json"


def _prepare(models: Sequence[Model], text: TextRuns, *, seed: int, edges: Sequence[int]) -> list[Path]:
    """Write what the models share, and a request for each."""
    for part in ("data", "runs", "measured", "requests"):
        (text.folder / part).mkdir(parents=True, exist_ok=True)
    shared = merge(plain_values(Config, text.settings), {"data": _training_files(text), "train": {"seed": seed + 1}})
    chosen = {"model": shared.pop("model", {})}
    threads = max(1, (os.cpu_count() or 1) // text.jobs)
    shared = merge({"train": {"threads": threads, "samples": 0}}, shared)
    test, gold = _write_pairs(text.folder / "data/test.json", _test_pairs(text)), ""
    if pairs := _gold_pairs(text):
        gold = _write_pairs(text.folder / "data/gold.json", pairs)
    paths = []
    for model in models:
        request = {
            "out": str(text.folder / "runs" / model.name),
            "measured": str(_measured(text, model.name)),
            "preset": model.preset,
            "settings": merge(merge(shared, model.settings), chosen),
            "test": test,
            "gold": gold,
            "words": "marks" if is_builtin(str(text.settings.get("data", {}).get("corpus", ""))) else "whitespace",
            "edges": list(edges),
            "beam": text.on_text.beam,
            "device": text.device,
        }
        paths.append(text.folder / "requests" / f"{model.name}.json")
        write_text(paths[-1], json.dumps(request, indent=1))
    return paths


def _training_files(text: TextRuns) -> Table:
    """Give settings of other files to train on, where not all pairs are wanted: files of the first."""
    data, pairs = text.settings.get("data", {}), text.on_text.pairs
    if not pairs or is_builtin(str(data.get("corpus", ""))):
        return {}
    corpus = find_corpus(str(data.get("source") or data.get("corpus")), str(data.get("target") or "") or None)
    some = list(islice(read_pairs(corpus, bad="skip"), pairs))
    names = {side: str(text.folder / "data" / f"train-{pairs}.{side}") for side in ("source", "target")}
    for side, name in names.items():
        write_text(Path(name), "".join(f"{getattr(pair, side)}\n" for pair in some))
    return {"corpus": "", "more": [], **names}


def _test_pairs(text: TextRuns) -> list[Pair]:
    data, most = text.settings.get("data", {}), text.on_text.tested
    if is_builtin(name := str(data.get("corpus", ""))):
        return builtin_corpus(name, split="test", size=most or 200, seed=int(data.get("seed", 0)))
    named = str(data.get("test_source") or data.get("test") or "")
    if not named:
        raise ArgumentError(
            "data.test_source: must name the test pairs of an experiment, with data.test_target; received nothing."
        )
    pairs = read_pairs(find_corpus(named, str(data.get("test_target") or "") or None), bad="skip")
    return list(islice(pairs, most or None))


def _gold_pairs(text: TextRuns) -> list[Pair]:
    """Read the pairs whose links are known; those of a built-in corpus are its test pairs."""
    if is_builtin(str(text.settings.get("data", {}).get("corpus", ""))):
        return [pair for pair in _test_pairs(text) if pair.links]
    files, recipe = text.on_text, text.recipe
    if not files.gold_source:
        return []
    names = [files.gold_source, files.gold_target, files.gold_links]
    if recipe is not None:
        keys = ("gold_source", "gold_target", "gold_links")
        names = [recipe.find_file(f"experiment.{key}", name) for key, name in zip(keys, names, strict=True)]
    pairs = list(read_pairs(find_corpus(names[0], names[1]), bad="refuse"))
    lengths = [Lengths(len(pair.source.split()), len(pair.target.split())) for pair in pairs]
    links = read_links(Path(names[2]), lengths=lengths, bad="drop")
    return [Pair(source=pair.source, target=pair.target, links=own) for pair, own in zip(pairs, links, strict=True)]


def _write_pairs(path: Path, pairs: Sequence[Pair]) -> str:
    write_text(path, json.dumps([[pair.source, pair.target, format_links(pair.links)] for pair in pairs]))
    return str(path)


def _watch_part(watch: Watch, name: str, number: int, count: int) -> Callable[[float], None]:
    return lambda share: watch((number + share) / count, f"training {name}")


def _work_at_once(names: Sequence[str], requests: Sequence[Path], text: TextRuns, watch: Watch) -> None:
    """Give each request to a process of its own, some at a time; one that fails leaves the others to finish."""
    done = [name for name, path in zip(names, requests, strict=True) if is_answered(read_json(path).table())]
    waiting = [(name, path) for name, path in zip(names, requests, strict=True) if name not in done]
    running, failed = dict[str, subprocess.Popen[bytes]](), dict[str, int]()
    try:
        while waiting or running:
            while waiting and len(running) < text.jobs:
                name, path = waiting.pop(0)
                running[name] = _start(path, text.folder / f"{name}.log")
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    done.append(name)
                    if process.returncode:
                        failed[name] = process.returncode
            shares = [_share(text.folder / "runs" / name) for name in running]
            watch((len(done) + sum(shares)) / len(names), f"training {', '.join(running) or 'nothing'}")
            time.sleep(_PAUSE)
    finally:
        for process in running.values():
            process.terminate()  # by which a run saves where it is
        for process in running.values():
            process.wait()
    if failed:
        raise TrainingError(_why(failed, text.folder))


def _start(request: Path, log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as file:
        command = [sys.executable, "-c", "from regard.experiments.text_worker import main; main()", str(request)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)


def _why(failed: Mapping[str, int], folder: Path) -> str:
    """Say which processes failed, and what the first of them wrote last."""
    name, code = next(iter(failed.items()))
    log = folder / f"{name}.log"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    why = lines[-1] if lines else "nothing was written"
    others = f"{', '.join(list(failed)[1:])} failed too. " if len(failed) > 1 else ""
    return (
        f"{name} must be trained and measured; its process ended with {code}: {why} The whole output is in {log}. "
        f"{others}The same command does again what has failed."
    )


def _share(run: Path) -> float:
    """Give how much of a run is done, by its last report."""
    report, folder = last_report(run / "metrics.jsonl"), RunFolder(run)
    if report is None or not folder.config.is_file():
        return 0.0
    train = folder.table().get("train", {})
    steps, minutes = float(train.get("steps", 0) or 1), float(train.get("minutes", 0))
    spent = float(report.get("seconds") or 0) / (60 * minutes) if minutes else 0.0
    return min(1.0, max(float(report["step"]) / steps, spent))
