"""Time and memory of small pieces of work, taken in turns so that a noisy machine is noisy to all alike."""

import ctypes
import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

Work = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What one piece of work cost."""

    milliseconds: float
    """Median over the rounds."""
    extra_mebibytes: float
    """The most memory held at one time beyond what was held before."""


def measure(
    works: Mapping[str, Work], *, rounds: int, device: torch.device, seconds: float = 20.0
) -> dict[str, Measurement]:
    """Run each piece of work once to warm up, once for its memory, then in turns for its time."""
    memory = {}
    for name, work in works.items():
        work()
        memory[name] = _extra_memory(work, device)
    times: dict[str, list[float]] = {name: [] for name in works}
    end = time.perf_counter() + seconds
    for turn in range(rounds):
        for name, work in works.items():
            times[name].append(_seconds(work, device))
        if turn >= 2 and time.perf_counter() > end:
            break
    return {
        name: Measurement(milliseconds=sorted(taken)[len(taken) // 2] * 1e3, extra_mebibytes=memory[name])
        for name, taken in times.items()
    }


def _seconds(work: Work, device: torch.device) -> float:
    if device.type == "cuda":
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize(device)
        return float(start.elapsed_time(stop)) / 1e3
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _extra_memory(work: Work, device: torch.device) -> float:
    """Give the peak in MiB: the allocator's on CUDA, the process's high-water mark on Linux, else not known."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        torch.cuda.synchronize(device)
        return (torch.cuda.max_memory_allocated(device) - before) / 2**20
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        work()
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)  # give freed memory back, so that taking it again counts
    reset.write_text("5")  # start the high-water mark anew
    before = _status_kibibytes(status, "VmRSS")
    work()
    return max(0.0, (_status_kibibytes(status, "VmHWM") - before) / 1024)


def _status_kibibytes(status: Path, field: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1])
