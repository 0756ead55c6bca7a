"""What a run tells while it goes, and who listens: a terminal, TensorBoard; its file is in `metrics.py`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from regard.errors import DataError, MissingExtraError


class SampleWeights(NamedTuple):
    """What a model attended to while it translated: for each token it generated, the weight of each source token."""

    source: tuple[str, ...]
    """The source tokens, as the vocabulary spells them, `</s>` last."""
    target: tuple[str, ...]
    """The tokens generated, `</s>` last where it was."""
    weights: tuple[tuple[float, ...], ...]
    """The mean over the heads of the last layer, to three digits: a row for each token generated."""


class Sample(NamedTuple):
    """An input, the output of the model, and the reference: a translation, a continuation, or the like."""

    source: str
    hypothesis: str
    reference: str
    weights: SampleWeights | None = None
    """What the model attended to, where it attends."""
    alignment: SampleWeights | None = None
    """What it attends to while it is forced to output the reference: the same rows at every validation."""


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
    """Several watchers, called one after the other."""

    watchers: Sequence[Watcher] = ()

    def started(self, step: int, steps: int) -> None:
        """Pass it on."""
        for item in self.watchers:
            item.started(step, steps)

    def stepped(self, step: int) -> None:
        """Pass it on."""
        for item in self.watchers:
            item.stepped(step)

    def measured(self, measured: Measured) -> None:
        """Pass it on."""
        for item in self.watchers:
            item.measured(measured)

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Pass it on."""
        for item in self.watchers:
            item.validated(validated, best=best)

    def noted(self, text: str) -> None:
        """Pass it on."""
        for item in self.watchers:
            item.noted(text)


class Deferring:
    """Passes reports on; a file that cannot be written is a problem to raise when the step is finished, not in it."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.problem: OSError | DataError | None = None

    def started(self, step: int, steps: int) -> None:
        """Pass it on; there is nothing yet that could be left half done."""
        self._watcher.started(step, steps)

    def stepped(self, step: int) -> None:
        """Pass it on."""
        self.attempt(partial(self._watcher.stepped, step))

    def measured(self, measured: Measured) -> None:
        """Pass it on."""
        self.attempt(partial(self._watcher.measured, measured))

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Pass it on."""
        self.attempt(partial(self._watcher.validated, validated, best=best))

    def noted(self, text: str) -> None:
        """Pass it on."""
        self.attempt(partial(self._watcher.noted, text))

    def attempt(self, report: Callable[[], None]) -> None:
        """Call what writes; a file that it cannot write is the problem."""
        try:
            report()
        except (OSError, DataError) as error:
            self.problem = self.problem or error


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
