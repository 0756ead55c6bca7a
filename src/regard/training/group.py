"""The processes that train together: who we are, and how numbers are added up over all."""

import ctypes
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from regard.errors import ArgumentError
from regard.files import digest
from regard.training.meeting import meet
from regard.training.shards import divide

START = timedelta(minutes=30)
"""How long processes wait for all others to start."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """One process among `ranks`."""

    rank: int = 0
    ranks: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 (a plain value)

    @property
    def leads(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def wrap(self, model: nn.Module, *, shard: bool = False) -> nn.Module:
        """Let gradients be averaged over all processes in the backward pass; `shard` divides the parameters too."""
        if self.ranks == 1:
            return model
        if shard:
            return divide(model, self.ranks, self.device)
        return DistributedDataParallel(model, device_ids=[self.device] if self.device.type == "cuda" else None)

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """Add up each number over all processes."""
        if self.ranks == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(item) for item in tensor.tolist()]

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """Collect a tensor of the same shape from every process, on the CPU."""
        if self.ranks == 1:
            return [tensor]
        placed = tensor.to(self.device)
        gathered = [torch.empty_like(placed) for _ in range(self.ranks)]
        dist.all_gather(gathered, placed)
        return [item.cpu() for item in gathered]

    def gather_text(self, text: str) -> list[str]:
        """Collect a text from every process."""
        if self.ranks == 1:
            return [text]
        data = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        lengths = [int(item) for item in self.gather(torch.tensor([len(data)]))]
        padded = torch.zeros(max(lengths), dtype=torch.uint8)
        padded[: len(data)] = data
        gathered = self.gather(padded)
        return [bytes(item[:length].tolist()).decode() for item, length in zip(gathered, lengths, strict=True)]

    def share_text(self, text: str) -> str:
        """Give every process the text of the first, which must not be empty."""
        return self.gather_text(text if self.leads else " ")[0]


def check_shared(path: Path, group: Group) -> None:
    """Raise, in every process, unless all of them read the same file: nodes must share the disk of a run."""
    for _ in range(50):  # another machine may learn of a new file a little later
        if group.leads or path.is_file():
            break
        time.sleep(0.1)
    digests = group.gather_text(digest(path) if path.is_file() else "none")
    others = [rank for rank, item in enumerate(digests) if item != digests[0]]
    if others:
        raise ArgumentError(
            f"`out` must be on a disk that all {group.ranks} processes share; process {others[0]} does not read the "
            f"{path.name} that the first wrote into {path.parent}. Name a folder on a shared disk."
        )


def pick_device(name: torch.device | str, local_rank: int = 0, *, argument: str = "train.device") -> torch.device:
    """Turn cpu, cuda or auto, a GPU where torch sees one, into a device of this machine; `argument` is what set it."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ArgumentError(
            f"`{argument}` must be cpu, auto, or cuda where torch sees a GPU; received {name}."
        ) from error
    return torch.device("cuda", local_rank) if device.type == "cuda" and device.index is None else device


@contextmanager
def joined_group(device: str) -> Iterator[Group]:
    """Join the processes that torchrun has started, or be alone."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks == 1:
        alone = Group(device=pick_device(device))
        with torch.cuda.device(alone.device) if alone.device.type == "cuda" else nullcontext():
            yield alone
        return
    target_device = pick_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if target_device.type == "cuda":
        torch.cuda.set_device(target_device)
    # Long, because the first process validates and reads data while the others wait.
    timeout = timedelta(hours=2)
    store, rank, ranks = next(rendezvous("env://", timeout=timeout))
    store = PrefixStore(meet(store, rank, ranks, timeout=START), store)
    backend = "nccl" if target_device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=timeout)
    try:
        yield Group(rank=dist.get_rank(), ranks=ranks, device=target_device)
    finally:
        if target_device.type == "cpu":
            _leave_in_memory(dist.group.WORLD)
        dist.destroy_process_group()


def _leave_in_memory(group: object) -> None:
    """Keep gloo's group until the process ends.

    Its threads drop the tensors of an exchange a moment after it, for which they need Python's lock; and whoever frees
    the group, DDP or Python itself, holds that lock while waiting for the threads to end. One of the two would wait for
    the other for ever, now and then. The pause lets them have the lock before Python itself is taken down.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))
    time.sleep(0.05)
