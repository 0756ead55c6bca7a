"""What a run tells while it goes, and who listens: a file, a terminal, TensorBoard."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from regard.errors import MissingExtraError
from regard.files import write_text
from regard.training.failure import is_disk_full


class Looks(NamedTuple):
    """Where a model looked while it translated: for each token it said, the weight of each source token."""

    source: tuple[str, ...]
    """The source tokens, as the vocabulary spells them, `</s>` last."""
    target: tuple[str, ...]
    """The tokens said, `</s>` last where it was."""
    weights: tuple[tuple[float, ...], ...]
    """The mean over the heads of the last layer, to three digits: a row for each token said."""


class Sample(NamedTuple):
    """A sentence, its translation by the model, and by a person."""

    source: str
    hypothesis: str
    reference: str
    looks: Looks | None = None
    """Where the model looked, where it attends."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The steps since the last such report."""

    step: int
    loss: float
    """What is minimized, per target token."""
    cross_entropy: float
    """Without smoothing and additions, per target token, in nats."""
    rate: float
    gradient_norm: float
    tokens: int
    """Target tokens since the start."""
    tokens_per_second: float
    epoch: int
    seconds: float
    """Time trained since the start, interruptions left out."""
    memory: int
    """Most bytes the process, or the GPU, has held."""

    @property
    def perplexity(self) -> float:
        """The exponential of the cross-entropy."""
        return math.exp(min(self.cross_entropy, 50.0))


@dataclass(frozen=True, kw_only=True)
class Validated:
    """What a validation found."""

    loss: float
    """Cross-entropy per target token, in nats."""
    figures: dict[str, float] = field(default_factory=dict)
    """Such as bleu and chrf."""
    samples: tuple[Sample, ...] = ()
    step: int = 0
    seconds: float = 0.0


@runtime_checkable
class Watcher(Protocol):
    """Whoever wants to know how a run goes."""

    def started(self, step: int, steps: int) -> None:
        """Training begins, or goes on after `step`."""

    def stepped(self, step: int) -> None:
        """An update was made."""

    def measured(self, measured: Measured) -> None:
        """Some steps were made."""

    def validated(self, validated: Validated, *, best: bool) -> None:
        """A validation was made."""

    def noted(self, text: str) -> None:
        """Something happened that the user should know."""


@dataclass(frozen=True)
class Watchers:
    """Several, told one after the other."""

    watchers: Sequence[Watcher] = ()

    def started(self, step: int, steps: int) -> None:
        """Pass it on."""
        for one in self.watchers:
            one.started(step, steps)

    def stepped(self, step: int) -> None:
        """Pass it on."""
        for one in self.watchers:
            one.stepped(step)

    def measured(self, measured: Measured) -> None:
        """Pass it on."""
        for one in self.watchers:
            one.measured(measured)

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Pass it on."""
        for one in self.watchers:
            one.validated(validated, best=best)

    def noted(self, text: str) -> None:
        """Pass it on."""
        for one in self.watchers:
            one.noted(text)


class MetricsFile:
    """`metrics.jsonl`: a line for each report; a resumed run drops the lines of the steps it makes again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[str] = []

    def started(self, step: int, steps: int) -> None:
        """Go back to `step`."""
        del steps
        kept = [line for line in read_metrics(self._path) if line.get("step", 0) <= step]
        write_text(self._path, "".join(_line(one) for one in kept))

    def stepped(self, step: int) -> None:
        """Write nothing."""

    def measured(self, measured: Measured) -> None:
        """Write a line of event train."""
        figures = asdict(measured) | {"perplexity": measured.perplexity}
        self._write({"event": "train", **figures})

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Write a line of event valid."""
        samples = [
            one._asdict() | {"looks": None if one.looks is None else one.looks._asdict()} for one in validated.samples
        ]
        figures = {"step": validated.step, "seconds": validated.seconds, "loss": validated.loss, **validated.figures}
        self._write({"event": "valid", **figures, "best": best, "samples": samples})

    def noted(self, text: str) -> None:
        """Write a line of event note."""
        self._write({"event": "note", "text": text})

    def _write(self, line: dict[str, Any]) -> None:
        self._waiting.append(_line(line))
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(self._waiting))
            self._waiting.clear()
        except OSError as error:
            if not is_disk_full(error):
                raise  # else the lines wait for the next time: training matters more


class TensorBoard:
    """The same figures for TensorBoard."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError(
                "`train.tensorboard` needs the package tensorboard, which is not installed. "
                "Install it: pip install 'regard[tensorboard]'."
            ) from error
        self._writer = SummaryWriter(str(folder))

    def started(self, step: int, steps: int) -> None:
        """Write nothing."""

    def stepped(self, step: int) -> None:
        """Write nothing."""

    def measured(self, measured: Measured) -> None:
        """Write the curves of training."""
        for name in ("loss", "perplexity", "rate", "gradient_norm", "tokens_per_second"):
            self._writer.add_scalar(f"train/{name}", getattr(measured, name), measured.step)

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Write the curves of validation."""
        del best
        for name, value in {"loss": validated.loss, **validated.figures}.items():
            self._writer.add_scalar(f"valid/{name}", value, validated.step)
        self._writer.flush()

    def noted(self, text: str) -> None:
        """Write nothing."""


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a metrics.jsonl, leaving out one that was cut off."""
    if not path.is_file():
        return []
    lines = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return [line for line in lines if isinstance(line, dict)]


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
