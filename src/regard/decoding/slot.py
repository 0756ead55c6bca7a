"""A step of search as a CUDA graph, with the buffers that it reads and writes; and the reading of a source likewise."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from regard.decoding.beam import Beam, BeamStep
from regard.decoding.history import Step
from regard.decoding.tensor_tree import leaves, parts, rebuilt
from regard.layers.process_switches import capturing
from regard.models.sequence.protocol import AnyModel

STEPS = 4
"""Steps from one reading of the flags to the next."""
MOST_STEPS = 64
"""Steps whose picks a slot keeps on the device until they are read."""


class Running(NamedTuple):
    """A search in progress: all that a step reads and writes."""

    beam: Beam
    state: Any
    memory: Any


class Encoder:
    """The captured reading of sources of one shape."""

    def __init__(self, model: AnyModel, source: Tensor, lengths: Tensor, pool: Any) -> None:
        self._model, self._source, self._lengths = model, source.clone(), lengths.clone()
        self._memory: Any = None
        self._replay = capture(self._read, source.device, pool)

    def __call__(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"]) -> Any:
        """Give what was read, in buffers that the next call writes anew."""
        self._source.copy_(source)
        self._lengths.copy_(lengths)
        self._replay()
        return self._memory

    def _read(self) -> None:
        self._memory = self._model.encode(self._source, self._lengths)


class Slot:
    """The buffers of a search of certain shapes, and the captured step that reads and writes them."""

    def __init__(self, take_step: BeamStep, running: Running, pool: Any) -> None:
        self.running: Running = rebuilt(running, iter([leaf.clone() for leaf in leaves(running)]))
        self._take_step = take_step
        self.taken = 0
        """Steps since the picks were read."""
        shape, kept = running.beam.total.shape, min(self.capacity, MOST_STEPS)
        self._numbers = running.beam.pick.new_zeros(kept, 3, *shape)
        self._scores = running.beam.total.new_zeros(kept, 2, *shape)
        self._index, self._alive = running.beam.pick.new_zeros(1), running.beam.total.new_zeros(shape[0]).bool()
        self.bytes = sum(leaf.numel() * leaf.element_size() for leaf in leaves(self.running))
        self._replay = capture(self._step, running.beam.total.device, pool)

    @property
    def capacity(self) -> int:
        """How many tokens the state has capacity for; a state that does not grow holds any number."""
        blocks = [part for part in parts(self.running.state) if hasattr(part, "capacity")]
        return min((block.capacity for block in blocks), default=2**62)

    def load(self, running: Running) -> None:
        """Go on with another search of these shapes."""
        for own, new in zip(leaves(self.running), leaves(running), strict=True):
            own.copy_(new)
        self._index.zero_()
        self.taken = 0

    def replay(self, steps: int) -> None:
        """Take so many steps, at most `STEPS`, without waiting for the device."""
        for _ in range(steps):
            self._replay()
        self.taken += steps

    def alive(self) -> Bool[Tensor, " sentences"]:
        """Wait for the device, and mark the sentences that are not done."""
        return self._alive.cpu()

    @property
    def full(self) -> bool:
        """Whether the picks must be read before more steps are taken."""
        return self.taken + STEPS > len(self._numbers)

    def read(self, sentences: Int[Tensor, " sentences"], real: Int[Tensor, " real"]) -> list[Step]:
        """Give the steps since the last reading, of the real sentences."""
        numbers, scores = (item[: self.taken].cpu()[:, :, real] for item in (self._numbers, self._scores))
        self._index.zero_()
        self.taken = 0
        parent, token, flags = numbers.unbind(1)
        row = real.unsqueeze(1) * numbers.size(-1) + parent
        of_steps = parent, row, token, *scores.unbind(1), flags > 0, flags > 1
        of_real = sentences[real]
        return [Step._make((of_real, *step, None)) for step in zip(*of_steps, strict=True)]

    def select(self, stay: Int[Tensor, " staying"], *, capacity: int) -> Running:
        """Copy these sentences, with capacity for so many tokens at least, for another slot to go on with."""
        beam, state, memory = self.running
        beam = beam.select(stay)
        assert beam.rows is not None
        state = state.select(beam.rows).fixed(max(capacity, self.capacity))
        rows = None if self.running.beam.rows is None else torch.arange(len(beam.rows), device=stay.device)
        return Running(beam._replace(rows=rows), reordered(state, rows), memory.select(stay))

    def _step(self) -> None:
        """Take one step from the buffers into the buffers, and note its picks."""
        beam, state, memory = self.running
        following, state, step = self._take_step(beam, state, memory)
        torch.any(following.total != -torch.inf, 1, out=self._alive)
        numbers = torch.stack([step.parent, step.token, step.kept.long() + step.ended])  # what has ended was kept
        self._numbers.index_copy_(0, self._index, numbers.unsqueeze(0))
        scores = torch.stack([step.log_probability, step.score])
        self._scores.index_copy_(0, self._index, scores.unsqueeze(0))
        following = following._replace(pick=beam.pick)  # 0, 1, … at every step: all that is picked goes on
        copy_changed(leaves(self.running), leaves(Running(following, state, memory)))
        self._index += 1


def copy_changed(own: list[Shaped[Tensor, "..."]], new: list[Shaped[Tensor, "..."]]) -> None:
    """Copy what was not written in place, all tensors of one precision at once."""
    changed = [pair for pair in zip(own, new, strict=True) if pair[0].data_ptr() != pair[1].data_ptr()]
    for dtype in dict.fromkeys(item.dtype for item, _ in changed):
        some = [pair for pair in changed if pair[0].dtype is dtype]
        torch._foreach_copy_([item for item, _ in some], [item for _, item in some])


def reordered(state: Any, rows: Int[Tensor, " rows"] | None) -> Any:
    """Take the rows in their order, where every step will: the state then has all the tensors that it has later on."""
    return state if rows is None else state.select(rows)


def capture(work: Callable[[], None], device: torch.device, pool: Any) -> Callable[[], None]:
    """Capture work as a CUDA graph, and give what replays it; without a GPU, the work itself."""
    if device.type != "cuda":
        return work
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream), capturing(device):
        work()  # so that libraries make their plans, which a capture forbids
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")  # other threads may use the device
        try:
            work()
        except BaseException:
            with suppress(RuntimeError):  # which would only say that the capture has failed
                graph.capture_end()
            raise
        graph.capture_end()
    torch.cuda.current_stream(device).wait_stream(stream)
    replay: Callable[[], None] = graph.replay
    return replay
