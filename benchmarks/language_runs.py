"""What the language benchmarks share: a run of the library's own loop that fits into its minutes, and its curve."""

import json
import math
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.language import BagSpec, NGramSpec
from regard.models.language.build import count_text
from regard.models.language.network import LanguageNetwork
from regard.models.language.ngram import NGramModel
from regard.models.sequence.build import count_parameters
from regard.tasks.language.job import VALID_LANES, LanguageJob
from regard.tasks.language.settings import LanguageConfig
from regard.tasks.language.train import Encoded, start_network
from regard.training.group import Group
from regard.training.loop import Trainer
from regard.training.run_folder import RunFolder
from regard.training.watch import Measured, Validated

PROBE = 100
"""Steps that show how long one takes; the first fifth is not counted."""
TEST_LENGTH = 512
"""Tokens that a model with a state reads at once when it is tested."""


class Fitted(NamedTuple):
    """A trained model, and what it took."""

    model: LanguageNetwork
    steps: int
    best_step: int
    tokens: int
    seconds: float
    """Wall time of training, with validation and saving."""


@dataclass
class Curve:
    """Prints how a run goes, and adds a line of JSON to `file` for each report; several runs may share the file."""

    name: str
    file: Path | None = None
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
        self._write("train", measured.step, measured.seconds, measured.cross_entropy)

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Print the validation."""
        print(
            f"{self.name} step {validated.step:>6,} {validated.seconds:7.1f} s  VALID {validated.loss:.4f}  "
            f"perplexity {validated.figures['perplexity']:.2f}{'  best' if best else ''}",
            flush=True,
        )
        self._write("valid", validated.step, validated.seconds, validated.loss)

    def noted(self, text: str) -> None:
        """Print it."""
        print(f"{self.name}: {text}", flush=True)

    def _write(self, event: str, step: int, seconds: float, loss: float) -> None:
        if self.file is not None:
            line = {"model": self.name, "event": event, "step": step, "seconds": round(seconds, 2), "loss": loss}
            append(self.file, line)


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file, in one write, so that processes that share it do not mix theirs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read what `append` wrote."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def last_run(lines: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Give what a model's last run wrote; runs of one name follow each other in a file."""
    own: list[Mapping[str, Any]] = []
    for line in lines:
        if line["model"] == name:
            own = [] if own and line["seconds"] < own[-1]["seconds"] else own
            own.append(line)
    return own


def new_model(config: LanguageConfig, data: Encoded, *, compiled: bool) -> LanguageNetwork:
    """Build the network, the same for every call."""
    assert not isinstance(config.model, NGramSpec | BagSpec)
    model = start_network(config.model, data, seed=config.train.seed)
    if compiled:
        model.compile()
    return model


def fit_steps(config: LanguageConfig, data: Encoded, group: Group, *, minutes: float, compiled: bool) -> LanguageConfig:
    """Make a few steps, and give the settings with as many as fit into the minutes, at most those they ask for."""
    probe = replace(
        config.train, steps=PROBE, log_every=PROBE // 5, validate_every=10**9, checkpoint_every=10**9, result="last"
    )
    model, curve = new_model(config, data, compiled=compiled), Curve("probe")
    with tempfile.TemporaryDirectory() as folder:
        _train(model, replace(config, train=probe), data, Path(folder), group, curve)
    (first, begun), (last, ended) = curve.times[0], curve.times[-1]
    each = (ended - begun) / (last - first)
    steps = min(config.train.steps, max(PROBE, int(60 * minutes / each)))
    print(f"{1000 * each:.1f} ms a step: {steps:,} of {config.train.steps:,} steps fit into {minutes:g} minutes")
    every = max(1, config.train.validate_every * steps // config.train.steps)
    schedule = replace(config.train.schedule, warm_up=min(config.train.schedule.warm_up, steps // 10))
    return replace(
        config,
        train=replace(config.train, steps=steps, validate_every=every, checkpoint_every=every, schedule=schedule),
    )


def train_model(
    config: LanguageConfig, data: Encoded, folder: Path, group: Group, curve: Curve, *, compiled: bool = False
) -> Fitted:
    """Train in a folder that is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = new_model(config, data, compiled=compiled)
    begun = time.perf_counter()
    trainer = _train(model, config, data, folder, group, curve)
    state = trainer.state
    return Fitted(model, state.step, state.best_step("loss"), state.tokens, time.perf_counter() - begun)


def count_model(config: LanguageConfig, data: Encoded) -> tuple[dict[str, Any], Any]:
    """Make a counting model, and say what it took."""
    assert isinstance(config.model, NGramSpec | BagSpec)
    begun = time.perf_counter()
    model = count_text(config.model, data.train, vocabulary_size=data.tokenizer.size)
    seconds = time.perf_counter() - begun
    size = sum(len(level.keys) for level in model.levels) if isinstance(model, NGramModel) else len(model.counts)
    return {"parameters": size, "counts": True, "steps": 0, "tokens": len(data.train) - 1, "seconds": seconds}, model


def measure_model(model: Any, config: LanguageConfig, data: Encoded) -> dict[str, Any]:
    """Measure the validation text as in training, and the test text as well as the model can.

    A model with a state reads the test in one go; one without reads windows that overlap by three quarters.
    """
    length = config.data.length
    valid = data.valid.measure(model, length=length, lanes=VALID_LANES)
    found: dict[str, Any] = {"valid_loss": valid.loss, "valid_perplexity": valid.perplexity}
    windows = isinstance(model, LanguageNetwork) and not model.carries
    if windows:
        found["valid_loss_overlapping"] = data.valid.measure(model, length=length, stride=length // 4).loss
    if data.test is not None:
        stride = length // 4 if windows else 0
        test = data.test.measure(model, length=length if windows else TEST_LENGTH, stride=stride)
        found |= {"test_perplexity": test.perplexity, "bits_per_word": test.loss / math.log(2)}
        found |= {"bits_per_byte": test.bits_per_byte, "tokenization": test.tokenization}
    return found


def network_figures(fitted: Fitted) -> dict[str, Any]:
    """Say what a network took."""
    return {
        "parameters": count_parameters(fitted.model),
        "counts": False,
        "steps": fitted.steps,
        "best_step": fitted.best_step,
        "tokens": fitted.tokens,
        "seconds": fitted.seconds,
    }


def _train(
    model: LanguageNetwork, config: LanguageConfig, data: Encoded, folder: Path, group: Group, curve: Curve
) -> Trainer:
    job = LanguageJob(data.train, data.valid, data.tokenizer, config, carries=model.carries, group=group)
    checkpoints = RunFolder(folder).checkpoints
    trainer = Trainer(model, job, config.train, checkpoints=checkpoints, watcher=curve, group=group)
    trainer.train()
    model.eval()
    return trainer
