"""The loop: update, report, validate, save, ready to stop after any step and to go on as if nothing had happened."""

import copy
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.config.train import Result, Train
from regard.errors import ArgumentError, DataError, Interrupted, TrainingError
from regard.training.checkpoint import Checkpoint, Checkpoints
from regard.training.failure import disk_full_reason, first_line, is_disk_full, is_out_of_memory, reason
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.job import Carrying, Job, endless
from regard.training.memory import peak_memory, within_memory
from regard.training.optimizer import load_optimizer, optimizer_tensors
from regard.training.parameters import MovingAverage, load_tensors, mean_tensors, named_tensors, replaced
from regard.training.precision import find_precision, matrix_products
from regard.training.regroup import Regrouping, next_epoch
from regard.training.saved import check_whole, read_own, save_divided, under
from regard.training.schedule import has_stalled
from regard.training.shards import is_divided, whole
from regard.training.state import State, ValidationClock
from regard.training.streams import capture_streams, restore_streams, seed_streams
from regard.training.update import SHORTER, Tally, Updater
from regard.training.watch import Deferring, Measured, Validated, Watcher


class Trainer:
    """One run: `train` goes from the newest checkpoint, or the start, to the end."""

    def __init__(
        self,
        model: nn.Module,
        job: Job,
        settings: Train,
        *,
        checkpoints: Checkpoints,
        watcher: Watcher,
        group: Group | None = None,
        interruption: Interruption | None = None,
        shorter: str = SHORTER,
        keep_best: Callable[[int], None] | None = None,
    ) -> None:
        """`keep_best` is called at each best validation with its step, while the model has its parameters."""
        self.group = group or Group()
        settings = replace(settings, precision=find_precision(settings.precision, self.group.device))
        shard = settings.shard and self.group.ranks > 1
        self.model = model if shard else model.to(self.group.device)
        self._trained = copy.deepcopy(model).to(self.group.device) if shard else self.model
        self.job, self.settings, self.checkpoints, self.watcher = job, settings, checkpoints, Deferring(watcher)
        self.interruption = interruption or Interruption()
        self.state = State()
        self.shortfall = ""
        """Why the parameters are not those that `settings.result` asks for, if so."""
        self._updater = Updater(self._trained, job, settings, group=self.group, watcher=self.watcher, shorter=shorter)
        self._average = MovingAverage(self._trained, settings.ema) if settings.ema else None
        self._tally = Tally()
        self._regrouping = Regrouping(
            before=self.group.ranks, now=self.group.ranks, per_update=settings.accumulate * self.group.ranks
        )
        self._keep_best = keep_best
        self._settled, self._validation_clock = False, ValidationClock()
        self._clock = time.perf_counter()

    def train(self) -> State:
        """Train to the end; the model then has the parameters that `settings.result` asks for, or the best there are.

        Where they are not what was asked for, `shortfall` says why.
        """
        self._begin()
        self._trained.train()
        stream = endless(self.job.batches)
        with matrix_products(self.settings.precision), self._losing_steps():
            while not self._finished():
                try:
                    self._step(stream)
                except (RuntimeError, MemoryError) as error:
                    if not is_out_of_memory(error):
                        raise
                    raise self._updater.too_large(self.state.step, first_line(error)) from error
        self._take_result()
        return self.state

    def save(self) -> bool:
        """Write a checkpoint of where the run stands, unless it stands within a step; say whether it was written."""
        if self._settled:
            self._save()
        return self._settled

    @contextmanager
    def _losing_steps(self) -> Iterator[None]:
        """Describe what a second Ctrl-C has lost: the steps since the last checkpoint."""
        try:
            yield
        except KeyboardInterrupt:
            saved = max(self.checkpoints.steps(), default=0)
            number = self.interruption.signal or int(signal.SIGINT)
            raise Interrupted(_stopped_at_once(self.state.step, saved, settled=self._settled), signal=number) from None

    def _step(self, stream: Iterator[Any]) -> None:
        self._settled = False
        begun, before = time.perf_counter(), self.state.progress()
        batches = [next(stream) for _ in range(self._regrouping.accumulate)]
        stop = self._updater.update(batches, self.state, stop=self.interruption.signal != 0, share=self._time_share())
        if self._average:
            self._average.update(self.state.step)
        if not self._updater.deferred or self._reports():
            self._count_updates()
        elapsed = time.perf_counter() - begun
        self.state.seconds, self._tally.seconds = self.state.seconds + elapsed, self._tally.seconds + elapsed
        self._after(before, stop=stop)

    def _count_updates(self) -> None:
        """Add up the figures of the updates since the last count."""
        for update in self._updater.finished(self.state):
            self._tally.add(update)

    def _reports(self) -> bool:
        return self.state.step % self.settings.log_every == 0 or self._at_limit()

    def _time_share(self) -> float:
        """Count the time since the last count, and give the share of `train.minutes` that is spent; 0 is no limit."""
        now = time.perf_counter()
        self.state.spent += now - self._clock
        self._clock = now
        return self.state.spent / (60 * self.settings.minutes) if self.settings.minutes else 0.0

    def _at_limit(self) -> bool:
        return self.state.step >= self.settings.steps or self.state.share >= 1

    def _finished(self) -> bool:
        scores = self.state.scores(self.settings.metric)[self.state.earlier :]
        return self._at_limit() or has_stalled(scores, self.settings.patience)

    def _after(self, before: float, *, stop: bool) -> None:
        """Report, validate and save when it is time to, and stop if asked; `before` is the progress a step ago."""
        settings, step, last = self.settings, self.state.step, self._at_limit()
        self.watcher.stepped(step)
        if self._reports():
            self._report()
        validate = self._validation_clock.is_due(self.state.progress(), before, settings.validate_every) or last
        if validate:
            self._validate()
        self._settled = True
        alone = self.group.ranks == 1  # what happens to one process, the others of a group do not know
        stop = (stop or (alone and self.interruption.signal != 0)) and not self._finished()
        problem = self.watcher.problem
        if validate or stop or (problem and alone) or step % settings.checkpoint_every == 0:
            self._save()
        if problem:
            raise problem
        if stop:
            number = self.interruption.signal or int(signal.SIGTERM)
            raise Interrupted(f"Stopped after step {step:,}, which is saved. The same command goes on.", signal=number)

    def _report(self) -> None:
        tally, self._tally = self._tally, Tally()
        loss, cross_entropy = self.group.sum([tally.loss, tally.cross_entropy])
        self.watcher.measured(
            Measured(
                step=self.state.step,
                loss=loss / tally.tokens,
                cross_entropy=cross_entropy / tally.tokens,
                rate=tally.rate,
                gradient_norm=tally.gradient_norm,
                tokens=self.state.tokens,
                tokens_per_second=tally.tokens / tally.seconds,
                epoch=self.job.batches.state()["epoch"],
                seconds=self.state.seconds,
                memory=peak_memory(self.group.device),
            )
        )

    def _validate(self) -> None:
        """Let the first process measure, and tell the others."""
        self._count_updates()
        text = ""
        metric = self.settings.metric
        averaged = self._average.tensors if self._average is not None else None
        if self._trained is not self.model:
            averaged = self._whole(averaged or named_tensors(self._trained))
        if self.group.leads:
            self.model.to(self.group.device).eval()
            with replaced(self.model, averaged), torch.no_grad():
                measure = partial(self.job.validate, self.model)
                result = within_memory(self.job, measure, noted=self.watcher.noted)
                if metric != "loss" and metric not in result.figures:
                    raise TrainingError(f"train.metric must be one that the task measures; received {metric}.")
                result = replace(result, step=self.state.step, seconds=self.state.seconds)
                self._keep(result)
            self.model.train()
            if self._trained is not self.model:
                self.model.cpu()
            text = json.dumps({"step": result.step, "loss": result.loss, **result.figures})
        self.state.validations.append(json.loads(self.group.share_text(text)))
        if self.group.leads:
            self.watcher.validated(result, best=self.state.best_step(metric) == self.state.step)

    def _keep(self, validated: Validated) -> None:
        """Let the parameters of the best validation so far be kept for use while training goes on."""
        later = copy.copy(self.state)
        later.validations = list(self.state.validations)
        later.record(validated)
        if self._keep_best is not None and later.best_step(self.settings.metric) == self.state.step:
            self.watcher.attempt(partial(self._keep_best, self.state.step))

    def _save(self) -> None:
        """Write a checkpoint; a signal waits for it; a full disk is reported, and tried again at the next one."""
        with self.interruption.held():
            self._save_whole()

    def _save_whole(self) -> None:
        self._count_updates()
        self._time_share()
        random, plain = capture_streams(self.group.device)
        carried = self.job.carried() if isinstance(self.job, Carrying) else {}
        own = {f"random/{name}": item for name, item in random.items()}
        own |= {f"carried/{name}": item for name, item in carried.items()}
        gathered = {name: self.group.gather(item) for name, item in own.items()}
        texts = self.group.gather_text(json.dumps(plain))
        tallies = self.group.gather_text(json.dumps(self._tally.to_json()))
        tensors = {f"model/{name}": item for name, item in named_tensors(self._trained).items()}
        tensors |= {f"optimizer/{name}": item for name, item in optimizer_tensors(self._updater.optimizer).items()}
        if self._average is not None:
            tensors |= {f"average/{name}": item for name, item in self._average.tensors.items()}
        try:
            shards = save_divided(tensors, self.checkpoints, self.state.step, group=self.group)
        except OSError as error:
            self._go_on_if_full(error)
            return
        if not self.group.leads:
            return
        tensors = {name: item for name, item in tensors.items() if not is_divided(item)}
        for name, states in gathered.items():
            tensors |= {f"rank-{rank}/{name}": item for rank, item in enumerate(states)}
        state = {
            "run": self.state.to_json(),
            "batches": self.job.batches.state(),
            "ranks": self.group.ranks,
            "per_update": self._regrouping.per_update,
            "random": [json.loads(text) for text in texts],
            "tallies": [json.loads(text) for text in tallies],
        }
        checkpoint = Checkpoint(self.state.step, {name: item.cpu() for name, item in tensors.items()}, state)
        try:
            self.checkpoints.save(checkpoint, shards=shards)
            self.checkpoints.prune(self._worth_keeping())
        except Exception as error:
            self._go_on_if_full(error)

    def _go_on_if_full(self, error: Exception) -> None:
        """Go on without a checkpoint where the disk is full; all else is raised."""
        if not is_disk_full(error):
            raise error
        self.watcher.noted(
            f"Step {self.state.step}: this checkpoint is not saved, since the disk of {self.checkpoints.folder} "
            f"{disk_full_reason(error)} before the end: training goes on, and tries again at the next one."
        )

    def _worth_keeping(self) -> list[int]:
        steps, settings = self.checkpoints.steps(), self.settings
        regular = [item for item in steps if item % settings.checkpoint_every == 0]
        averaged = regular[-settings.average :] if settings.result == "average" else []
        return [*steps[-settings.keep_checkpoints :], *averaged, self.state.best_step(settings.metric)]

    def _begin(self) -> None:
        """Go to the newest good checkpoint, or to the start."""
        if self.group.leads:
            self.checkpoints.make()
        result = self._newest()
        if result is None:
            seed_streams(self.settings.seed, self.group.rank)
            self.state = State(threads=self.settings.threads or torch.get_num_threads())
        else:
            self._restore(result)
        self.state.set_limits(self.settings.steps, self.settings.minutes)
        self._clock = time.perf_counter()
        if self.group.leads:  # what is later is damaged
            self.checkpoints.prune(item for item in self.checkpoints.steps() if item <= self.state.step)
        torch.set_num_threads(self.state.threads)
        self.watcher.started(self.state.step, self.settings.steps)

    def _newest(self) -> Checkpoint | None:
        result, damaged = self.checkpoints.newest(check_whole) if self.group.leads else (None, [])
        step = int(self.group.share_text(str(result.step if result else -1)))
        for line in damaged:
            goes_on = f"from step {step:,}" if result else "from the beginning"
            self.watcher.noted(f"A checkpoint is damaged, and training goes on {goes_on}: {line}")
        if not self.group.leads and step >= 0:
            return self.checkpoints.load(step)
        return result

    def _restore(self, checkpoint: Checkpoint) -> None:
        divided = self._trained if self._trained is not self.model else None
        tensors, state = read_own(checkpoint, divided, self._updater.optimizer), checkpoint.state
        load_tensors(self._trained, under("model/", tensors))
        load_optimizer(self._updater.optimizer, under("optimizer/", tensors))
        if self._average is not None:
            self._average.load(under("average/", tensors))
        self.state = State.from_json(state["run"])
        rank, before = self.group.rank, state["ranks"]
        per_update = state.get("per_update", before * self.settings.accumulate)
        self._regrouping = Regrouping(before=before, now=self.group.ranks, per_update=per_update)
        if before != self.group.ranks:
            self._regroup(checkpoint)
            return
        self.job.batches.restore(state["batches"])
        own = under(f"rank-{rank}/", tensors)
        restore_streams(under("random/", own), state["random"][rank], self.group.device)
        if "tallies" in state:
            self._tally = Tally.from_json(state["tallies"][rank])
        if isinstance(self.job, Carrying):
            self.job.carry_on(under("carried/", own))

    def _regroup(self, checkpoint: Checkpoint) -> None:
        """Go on with another number of processes: position in the data, random streams and sums are shared anew."""
        tensors, state, rank = checkpoint.tensors, checkpoint.state, self.group.rank
        own = under(f"rank-{rank}/", tensors)
        if own:
            restore_streams(under("random/", own), state["random"][rank], self.group.device)
        else:
            seed_streams(self.settings.seed, rank)
        carrying = any(name.startswith("rank-0/carried/") for name in tensors)
        try:
            self.job.batches.restore(self._regrouping.position(state["batches"], carrying=carrying))
        except ArgumentError:  # the end of an epoch that is shorter now
            self.job.batches.restore(next_epoch(state["batches"]))
        if "tallies" in state:
            self._tally = self._regrouping.tally(state["tallies"], rank)
        self.watcher.noted(self._regrouping.note())

    def _take_result(self) -> None:
        """Give the model the parameters that make the result; where that fails, those of the best validation."""
        last = self._whole(self._average.tensors if self._average is not None else named_tensors(self._trained))
        if not self.group.leads:
            return
        self.model.to(self.group.device)
        result = self.settings.result
        try:
            load_tensors(self.model, self._chosen(result, last))
        except Exception as error:
            if result == "best":
                raise
            load_tensors(self.model, self._chosen("best", last))
            best = self.state.best_step(self.settings.metric) or self.state.step
            self.shortfall = (
                f'train.result = "{result}" failed ({reason(error)}), so the model is that of step {best:,}'
            )

    def _chosen(self, result: Result, last: dict[str, Tensor]) -> dict[str, Tensor]:
        """Give the parameters of a kind of result; `last` are those of the last step."""
        match result:
            case "last":
                chosen = [self.state.step]
            case "best":
                chosen = [self.state.best_step(self.settings.metric) or self.state.step]
            case "average":
                steps = [item for item in self.checkpoints.steps() if item % self.settings.checkpoint_every == 0]
                chosen = steps[-self.settings.average :] or [self.state.step]
        return mean_tensors([last if item == self.state.step else self._saved(item, last) for item in chosen])

    def _whole(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Bring divided tensors together, one after the other, in the memory of the first process's CPU alone."""
        if self._trained is self.model:
            return tensors
        result = {}
        for name, item in tensors.items():
            gathered = whole(item)
            if self.group.leads:
                result[name] = gathered.cpu()
        return result

    def _saved(self, step: int, last: dict[str, Tensor]) -> dict[str, Tensor]:
        try:
            tensors = self.checkpoints.load(step).whole().tensors
        except DataError as error:
            self.watcher.noted(f"A checkpoint is damaged, and the last parameters take its place: {error}")
            return last
        return under("average/", tensors) or under("model/", tensors)


def _stopped_at_once(step: int, saved: int, *, settled: bool) -> str:
    """Describe what was lost by a stop in `step`, or after it where that is `settled`.

    >>> _stopped_at_once(12, 10, settled=False)
    'Stopped at once, within step 12: what was learned since step 10 is lost. The same command goes on from there.'
    """
    if settled and saved >= step:
        return f"Stopped after step {step:,}, which is saved. The same command goes on."
    lost = f"since step {saved:,} is lost. The same command goes on from there." if saved else "so far is lost."
    return f"Stopped at once, {'after' if settled else 'within'} step {step:,}: what was learned {lost}"
