"""Whole training steps as CUDA graphs: one launch in place of thousands.

A graph is a recording of the kernels of one step, on tensors that stay where they are. So batches must come in few
shapes, and nothing in a step may wait for the device. The first batch of a shape is computed as ever; when the shape
comes again, its step is captured, and from then on replayed: the same kernels, the same random numbers.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from regard.layers.process_switches import capturing
from regard.training.failure import first_line, is_out_of_memory
from regard.training.job import TrainingBatch

#: Computes a step of a batch, whose loss is multiplied by a number, and gives figures to read later.
DeviceStep: TypeAlias = Callable[[Any, Tensor], Tensor]
#: Shapes that are captured at most: a graph takes a few megabytes, and a tenth of a second to make.
MOST = 128

_Shape: TypeAlias = tuple[tuple[torch.Size, torch.dtype], ...]


class Captured(NamedTuple):
    """A step, recorded."""

    inputs: dict[str, Tensor]
    """Where a batch is put."""
    scale: Float[Tensor, ""]
    """What its loss is multiplied by."""
    figures: Float[Tensor, " figures"]
    """What the step gives, until the next one."""
    replay: Callable[[], None]
    """Compute the step once more, on what `inputs` and `scale` hold now."""


class StepGraphs:
    """Computes steps: eagerly where a shape is new, else by replaying what was captured."""

    def __init__(self, step: DeviceStep, device: torch.device, *, noted: Callable[[str], None]) -> None:
        self._step, self._device, self._noted = step, device, noted
        self._met: set[_Shape] = set()
        self._captured: dict[_Shape, Captured] = {}
        self._pool: Any = None
        self.refused = ""
        """Why no more steps are captured, if so."""

    def run(self, batch: TrainingBatch, scale: float) -> Float[Tensor, " figures"] | None:
        """Compute the step of a batch and give its figures; None where it is not captured."""
        tensors = tensors_of(batch)
        shape = tuple((item.shape, item.dtype) for item in tensors.values())
        captured = self._captured.get(shape)
        if captured is None:
            if shape not in self._met or self.refused or len(self._captured) >= MOST:
                self._met.add(shape)
                return None
            captured = self._capture(batch, tensors)
            if captured is None:
                return None
            self._captured[shape] = captured
        for name, tensor in tensors.items():
            captured.inputs[name].copy_(_pinned(tensor), non_blocking=True)
        captured.scale.fill_(scale)
        captured.replay()
        return captured.figures

    def _capture(self, batch: TrainingBatch, tensors: dict[str, Tensor]) -> Captured | None:
        """Record the step of a batch; where that fails, note why, once, and capture no more."""
        try:
            return capture(self._step, batch, tensors, self._device, pool=self._pool_of_all())
        except (RuntimeError, MemoryError) as error:
            self.refused = first_line(error)
            why = "memory is short" if is_out_of_memory(error) else self.refused
        self.drop()
        self._noted(f"Steps are not captured as CUDA graphs from here on, and so are slower: {why}.")
        return None

    def _pool_of_all(self) -> Any:
        """Let all graphs work in the same memory: none of them is replayed beside another."""
        if self._pool is None and self._device.type == "cuda":
            self._pool = torch.cuda.graph_pool_handle()
        return self._pool

    def drop(self) -> None:
        """Free what was captured."""
        self._captured.clear()
        self._pool = None

    def __len__(self) -> int:
        """How many shapes are captured."""
        return len(self._captured)


def capture(
    step: DeviceStep, batch: TrainingBatch, tensors: dict[str, Tensor], device: torch.device, *, pool: Any
) -> Captured:
    """Record a step on copies of a batch's tensors."""
    inputs = {name: item.to(device, copy=True) for name, item in tensors.items()}
    scale = torch.ones((), device=device)
    here = _with_tensors(batch, inputs)
    graph = torch.cuda.CUDAGraph()
    with capturing(device), torch.cuda.graph(graph, pool=pool):
        figures = step(here, scale)
    return Captured(inputs, scale, figures, graph.replay)


def tensors_of(batch: Any) -> dict[str, Tensor]:
    """Give the tensors of a batch, a named tuple or a dataclass, by name."""
    names = [field.name for field in fields(batch)] if is_dataclass(batch) else batch._fields
    items = {name: getattr(batch, name) for name in names}
    return {name: item for name, item in items.items() if isinstance(item, Tensor)}


def _with_tensors(batch: Any, tensors: dict[str, Tensor]) -> Any:
    return batch._replace(**tensors) if hasattr(batch, "_replace") else replace(batch, **tensors)


def _pinned(tensor: Tensor) -> Tensor:
    """Move a tensor to memory that a GPU reads while we go on."""
    return tensor.pin_memory() if tensor.device.type == "cpu" and torch.cuda.is_available() else tensor
