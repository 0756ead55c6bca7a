"""One update: the gradient of the mean loss over all target tokens of all processes, then AdamW.

On one GPU nothing of it waits for the device: clipping, and leaving out what is not finite, are decided there, and the
figures of a step are read when somebody asks for them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.config.train import Train
from regard.errors import TrainingError
from regard.training.failure import first_line, is_out_of_memory
from regard.training.graphs import StepGraphs
from regard.training.group import Group
from regard.training.job import Job, TrainingBatch, Uncaptured
from regard.training.loss import Loss
from regard.training.memory import free_memory
from regard.training.optimizer import make_optimizer, set_rate, step_on_device
from regard.training.precision import autocast, matrices_of_linears, round_to_bfloat16
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


class _Made(NamedTuple):
    """An update whose figures are still to be read."""

    step: int
    tokens: float
    rate: float
    batch: TrainingBatch
    figures: Tensor
    """Loss, cross-entropy and the norm of the gradient, on the device."""


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

    def add(self, update: Update) -> None:
        """Count a step, but for its time."""
        self.loss += update.loss
        self.cross_entropy += update.cross_entropy
        self.tokens += update.tokens
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
        self.deferred = group.device.type == "cuda" and group.ranks == 1
        """Whether updates are made without waiting for the device."""
        self._pass = group.wrap(_Pass(model, job), shard=settings.shard)  # before the optimizer: it may divide them
        rounds = self.deferred and settings.precision == "bf16"
        self._rounded = matrices_of_linears(self._pass) if rounds else {}
        self.optimizer = make_optimizer(
            model,
            rate=settings.schedule.rate,
            weight_decay=settings.weight_decay,
            betas=(settings.beta1, settings.beta2),
            on_device=self.deferred,
        )
        self._parameters = [item for item in model.parameters() if item.requires_grad]
        self._made: list[_Made] = []
        self._graphs: StepGraphs | None = None
        if self.deferred and settings.graphs:
            self._graphs = self._make_graphs()

    def update(self, batches: Sequence[TrainingBatch], state: State, *, stop: bool = False, share: float = 0.0) -> bool:
        """Make one update from `batches`, and say whether any process was requested to `stop`.

        `share` of the time is spent, by the clock of the first process.
        """
        settings, leads = self.settings, self.group.leads
        counts = [sum(item.num_tokens for item in batches), float(stop), share if leads else 0.0]
        tokens, stops, state.share = self.group.sum(counts)
        state.step += 1
        scores = state.scores(settings.metric)
        at = state.progress() if state.share else state.step
        rate = learning_rate(settings.schedule, at, steps=settings.steps, validations=scores, updates=state.step)
        set_rate(self.optimizer, rate)
        state.tokens += int(tokens)
        figures = self._replay(batches, tokens, state)
        if figures is None:
            figures = self._apply(self._gradients(batches, tokens, state))
        self._made.append(_Made(state.step, tokens, rate, batches[0], figures))
        return bool(stops)

    def finished(self, state: State) -> list[Update]:
        """Give the updates since the last call, with their figures, for which the device is waited for once."""
        made, self._made = self._made, []
        if not made:
            return []
        rows = torch.stack([item.figures for item in made]).tolist()
        return [self._finish(item, row, state) for item, row in zip(made, rows, strict=True)]

    def _finish(self, made: _Made, figures: list[float], state: State) -> Update:
        loss, cross_entropy, norm = figures
        if math.isfinite(norm):
            state.skipped = 0
        else:
            self._report_skipped(made, state)
            loss, cross_entropy = (item if math.isfinite(item) else 0.0 for item in (loss, cross_entropy))
        return Update(loss, cross_entropy, made.tokens, made.rate, norm)

    def _make_graphs(self) -> StepGraphs | None:
        """Prepare to capture steps, or note why this run cannot."""
        reason = self.job.uncaptured if isinstance(self.job, Uncaptured) else ""
        if any(type(item) is nn.RNN for item in self.model.modules()):
            reason = "a plain recurrent network reads packed sentences"
        if self.settings.accumulate > 1:
            reason = f"train.accumulate is {self.settings.accumulate}"
        if reason:
            self.watcher.noted(f"Steps are not captured as CUDA graphs, and so are slower: {reason}.")
            return None
        return StepGraphs(self._whole_step, self.group.device, noted=self.watcher.noted)

    def _replay(self, batches: Sequence[TrainingBatch], tokens: float, state: State) -> Tensor | None:
        """Compute an update by a captured graph, where there is one for its batch."""
        if self._graphs is None or len(batches) > 1 or (state.largest and batches[0].cells > state.largest):
            return None
        figures = self._graphs.run(batches[0], 1 / tokens)
        return None if figures is None else figures.clone()  # the next replay writes over them

    def _whole_step(self, batch: TrainingBatch, scale: Tensor) -> Tensor:
        """Compute an update of a batch that is on the device."""
        self.optimizer.zero_grad(set_to_none=True)
        return self._apply(self._accumulate([batch], scale))

    def _apply(self, sums: tuple[Tensor, Tensor]) -> Tensor:
        """Step along the gradients, clipped, unless they are not finite; give the sums and the gradients' norm."""
        gradients = [item.grad for item in self._parameters if item.grad is not None]
        norm = whole(torch.nn.utils.get_total_norm(gradients))
        figures = torch.stack([*sums, norm])
        if self.deferred:
            step_on_device(self.optimizer, norm, clip=self.settings.clip)
            return figures
        figures = figures.cpu()  # one transfer for all three numbers
        length = float(figures[2])
        if math.isfinite(length):
            if 0 < self.settings.clip < length:
                torch._foreach_mul_(gradients, self.settings.clip / length)
            self.optimizer.step()
        return figures

    def _gradients(self, batches: Sequence[TrainingBatch], tokens: float, state: State) -> tuple[Tensor, Tensor]:
        """Add up gradients over `batches`, dividing those that do not fit into memory until they do."""
        pieces = [piece for batch in batches for piece in _fitting(batch, state.largest)]
        device = self.group.device
        random = torch_streams(device)
        while True:
            self.optimizer.zero_grad(set_to_none=True)
            try:
                # DDP and FSDP take the mean over the processes; this makes it the mean over the tokens of all.
                return self._accumulate(pieces, self.group.ranks / tokens)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                why = first_line(error)
            # Outside the handler, where the tensors of the failed pass are free again.
            restore_torch_streams(random, device)
            pieces = self._free_memory(pieces, state, why)

    def _accumulate(self, pieces: Sequence[TrainingBatch], scale: float | Tensor) -> tuple[Tensor, Tensor]:
        """Add up the gradients of each piece's loss times `scale`."""
        device = self.group.device
        total, cross_entropy = torch.zeros((), device=device), torch.zeros((), device=device)
        for number, piece in enumerate(pieces):
            if self.group.ranks > 1:
                add_up_now(self._pass, number + 1 == len(pieces))
            with autocast(self.settings.precision, device):
                loss = self._loss(piece.to(device, non_blocking=True))
            (loss.total * scale).backward()
            total += loss.total.detach()
            cross_entropy += loss.cross_entropy
        return total, cross_entropy

    def _loss(self, piece: TrainingBatch) -> Loss:
        """Compute the loss; matrices are rounded all together, where autocast would do one after the other."""
        if not self._rounded:
            return self._pass(piece)  # type: ignore[no-any-return]
        rounded = dict(zip(self._rounded, round_to_bfloat16(self._rounded.values()), strict=True))
        return torch.func.functional_call(self._pass, rounded, (piece,))  # type: ignore[no-any-return]

    def too_large(self, step: int, why: str) -> TrainingError:
        """Report that a step does not fit into memory, and what to do."""
        half, accumulate = self.settings.half_batch, 2 * self.settings.accumulate
        same = f" ({half} with train.accumulate = {accumulate} makes the same steps)" if half else ""
        return TrainingError(
            f"Step {step} must fit into memory; it does not: {why}. The last checkpoint is kept. Take smaller batches"
            f"{same}, {self._shorter} or a smaller model, in a new folder."
        )

    def _free_memory(self, pieces: Sequence[TrainingBatch], state: State, why: str) -> list[TrainingBatch]:
        held = len(self._graphs) if self._graphs is not None else 0
        if self._graphs is not None:
            self._graphs.drop()
        free_memory()
        if held:  # what was captured took the memory: the same once more without it
            return list(pieces)
        largest = max(pieces, key=lambda piece: piece.cells)
        if len(largest.indices) == 1 or self.group.ranks > 1:
            raise self.too_large(state.step, why)
        state.largest = largest.cells // 2
        self.watcher.noted(
            f"Step {state.step}: out of memory. Batches of more than {state.largest:,} cells are computed in parts "
            "from here on, with the same result."
        )
        return [piece for item in pieces for piece in _fitting(item, state.largest)]

    def _report_skipped(self, made: _Made, state: State) -> None:
        """Report an update that was left out because its gradient is not finite: the parameters stay good."""
        state.skipped += 1
        indices = [number for number in made.batch.indices.tolist() if number >= 0]  # others fill a shape up
        first = ", ".join(map(str, indices[:5]))
        self.watcher.noted(
            f"Step {made.step}: the gradient is not finite, so the update is left out. The batch holds the examples "
            f"{first}{', …' if len(indices) > 5 else ''}."
        )
        if state.skipped >= _PATIENCE:
            raise TrainingError(
                f"The gradient must be finite; in {_PATIENCE} steps in a row, to step {made.step}, it was not. No "
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
