"""One update: the gradient of the mean loss over all target tokens of all processes, then AdamW."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.config.train import Train
from regard.errors import TrainingError
from regard.training.failure import first_line, is_out_of_memory
from regard.training.group import Group
from regard.training.job import Job, TrainingBatch
from regard.training.loss import Loss
from regard.training.memory import free_memory
from regard.training.optimizer import make_optimizer, set_rate
from regard.training.precision import autocast
from regard.training.schedule import learning_rate
from regard.training.shards import add_up_now, whole
from regard.training.state import State
from regard.training.streams import restore_torch_streams, torch_streams
from regard.training.watch import Watcher

_PATIENCE = 10
"""Updates in a row that may be left out because the gradient is not finite."""

SHORTER = "shorter sentences (data.clean.max_words)"
"""What else a translator's run may do where memory is short; other tasks name their own."""


class Update(NamedTuple):
    """What an update was: sums over the target tokens of this process, and the number of tokens of all."""

    loss: float
    cross_entropy: float
    tokens: float
    rate: float
    gradient_norm: float
    stop_requested: bool
    """Whether any process was requested to stop."""


@dataclass
class Tally:
    """Sums of one process since the last line of figures; the rate and the norm are those of the last step.

    They are saved in checkpoints, so that a resumed run's line is whole.
    """

    loss: float = 0.0
    cross_entropy: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    rate: float = 0.0
    gradient_norm: float = 0.0

    def add(self, update: Update, seconds: float) -> None:
        """Count a step."""
        self.loss += update.loss
        self.cross_entropy += update.cross_entropy
        self.tokens += update.tokens
        self.seconds += seconds
        self.rate, self.gradient_norm = update.rate, update.gradient_norm

    def to_json(self) -> dict[str, float]:
        """Give plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Tally":
        """Read what `to_json` gave; anything else is a `TypeError`."""
        if not all(isinstance(value, int | float) for value in values.values()):
            raise TypeError("sums are no numbers")
        return cls(**values)


class Updater:
    """Makes updates of a model; where it stands is in the state that each call is given."""

    def __init__(
        self,
        model: nn.Module,
        job: Job,
        settings: Train,
        *,
        group: Group,
        watcher: Watcher,
        shorter: str = SHORTER,
    ) -> None:
        self.model, self.job, self.settings, self.group, self.watcher = model, job, settings, group, watcher
        self._shorter = shorter
        self._pass = group.wrap(_Pass(model, job), shard=settings.shard)  # before the optimizer: it may divide them
        self.optimizer = make_optimizer(
            model,
            rate=settings.schedule.rate,
            weight_decay=settings.weight_decay,
            betas=(settings.beta1, settings.beta2),
        )
        self._parameters = [item for item in model.parameters() if item.requires_grad]

    def update(
        self, batches: Sequence[TrainingBatch], state: State, *, stop: bool = False, share: float = 0.0
    ) -> Update:
        """Make one update from `batches`; `share` of the time is spent, by the clock of the first process."""
        settings, leads = self.settings, self.group.leads
        counts = [sum(item.num_tokens for item in batches), float(stop), share if leads else 0.0]
        tokens, stops, state.share = self.group.sum(counts)
        state.step += 1
        scores = state.scores(settings.metric)
        at = state.progress() if state.share else state.step
        rate = learning_rate(settings.schedule, at, steps=settings.steps, validations=scores)
        set_rate(self.optimizer, rate)
        sums = self._gradients(batches, tokens, state)
        gradients = [item.grad for item in self._parameters if item.grad is not None]
        # One transfer from the device for all three numbers.
        loss, cross_entropy, norm = torch.stack([*sums, whole(torch.nn.utils.get_total_norm(gradients))]).tolist()
        if math.isfinite(norm):
            if 0 < settings.clip < norm:
                torch._foreach_mul_(gradients, settings.clip / norm)
            self.optimizer.step()
            state.skipped = 0
        else:
            self._skip(batches[0], state)
            loss, cross_entropy = (item if math.isfinite(item) else 0.0 for item in (loss, cross_entropy))
        state.tokens += int(tokens)
        return Update(loss, cross_entropy, tokens, rate, norm, bool(stops))

    def _gradients(self, batches: Sequence[TrainingBatch], tokens: float, state: State) -> tuple[Tensor, Tensor]:
        """Add up gradients over `batches`, dividing those that do not fit into memory until they do."""
        pieces = [piece for batch in batches for piece in _fitting(batch, state.largest)]
        device = self.group.device
        random = torch_streams(device)
        while True:
            self.optimizer.zero_grad(set_to_none=True)
            try:
                return self._accumulate(pieces, tokens)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                why = first_line(error)
            # Outside the handler, where the tensors of the failed pass are free again.
            restore_torch_streams(random, device)
            pieces = self._free_memory(pieces, state, why)

    def _accumulate(self, pieces: Sequence[TrainingBatch], tokens: float) -> tuple[Tensor, Tensor]:
        device = self.group.device
        total, cross_entropy = torch.zeros((), device=device), torch.zeros((), device=device)
        for number, piece in enumerate(pieces):
            if self.group.ranks > 1:
                add_up_now(self._pass, number + 1 == len(pieces))
            with autocast(self.settings.precision, device):
                loss: Loss = self._pass(piece.to(device, non_blocking=True))
            # DDP and FSDP take the mean over the processes; this makes it the mean over the tokens of all.
            (loss.total * (self.group.ranks / tokens)).backward()
            total += loss.total.detach()
            cross_entropy += loss.cross_entropy
        return total, cross_entropy

    def too_large(self, step: int, why: str) -> TrainingError:
        """Report that a step does not fit into memory, and what to do."""
        half, accumulate = self.settings.half_batch, 2 * self.settings.accumulate
        same = f" ({half} with train.accumulate = {accumulate} makes the same steps)" if half else ""
        return TrainingError(
            f"Step {step} must fit into memory; it does not: {why}. The last checkpoint is kept. Take smaller batches"
            f"{same}, {self._shorter} or a smaller model, in a new folder."
        )

    def _free_memory(self, pieces: Sequence[TrainingBatch], state: State, why: str) -> list[TrainingBatch]:
        free_memory()
        largest = max(pieces, key=lambda piece: piece.cells)
        if len(largest.indices) == 1 or self.group.ranks > 1:
            raise self.too_large(state.step, why)
        state.largest = largest.cells // 2
        self.watcher.noted(
            f"Step {state.step}: out of memory. Batches of more than {state.largest:,} cells are computed in parts "
            "from here on, with the same result."
        )
        return [piece for item in pieces for piece in _fitting(item, state.largest)]

    def _skip(self, batch: TrainingBatch, state: State) -> None:
        """Leave out an update whose gradient is not finite: the parameters stay good."""
        state.skipped += 1
        first = ", ".join(map(str, batch.indices[:5].tolist()))
        self.watcher.noted(
            f"Step {state.step}: the gradient is not finite, so the update is left out. The batch holds the examples "
            f"{first}{', …' if len(batch.indices) > 5 else ''}."
        )
        if state.skipped >= _PATIENCE:
            raise TrainingError(
                f"The gradient must be finite; in {_PATIENCE} steps in a row, to step {state.step}, it was not. No "
                "update was made in them, and the last checkpoint is good. Train more gently, in a new folder: a lower "
                f"rate (train.schedule.rate = {self.settings.schedule.rate / 3:.2g}), a longer warm-up "
                "(train.schedule.warm_up), clipping (train.clip = 1), or train.precision = fp32."
            )


class _Pass(nn.Module):
    """A forward pass that ends in the loss, so that DDP sees all of it, whatever of the model the job uses."""

    def __init__(self, model: nn.Module, job: Job) -> None:
        super().__init__()
        self.model = model
        self._job = job

    def forward(self, batch: TrainingBatch) -> Loss:
        return self._job.loss(self.model, batch)


def _fitting(batch: TrainingBatch, largest: int) -> list[TrainingBatch]:
    """Divide a batch until each part has at most `largest` cells or one sentence; 0 is no limit."""
    if not largest or batch.cells <= largest or len(batch.indices) == 1:
        return [batch]
    return [piece for half in batch.halve() for piece in _fitting(half, largest)]
