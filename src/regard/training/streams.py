"""The random streams of a process, as plain values: what a resumed run must draw from is part of its checkpoint."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed_streams(seed: int, rank: int = 0) -> None:
    """Start every stream; each rank has its own dropout."""
    mixed = int(np.random.SeedSequence([seed, rank]).generate_state(1, np.uint64)[0])
    torch.manual_seed(mixed % 2**63)
    random.seed(mixed)
    np.random.seed(mixed % 2**32)


def torch_streams(device: torch.device | None = None) -> dict[str, Tensor]:
    """Give the state of torch's streams: that of the CPU, and of the GPU `device`, on which dropout is drawn there."""
    states = {"cpu": torch.get_rng_state()}
    if device is not None and device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_torch_streams(states: Mapping[str, Tensor], device: torch.device | None = None) -> None:
    """Go on where `torch_streams` was called; a run that goes on without its GPU draws from the CPU's alone."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and device is not None and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)


def capture_streams(device: torch.device | None = None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Give the state of torch's streams as tensors, and of Python's and numpy's as JSON."""
    version, numbers, gauss = random.getstate()
    name, keys, *rest = np.random.get_state(legacy=True)
    plain = {
        "python": [version, list(numbers), gauss],
        "numpy": [
            name,
            np.asarray(keys).tolist(),
            *(float(item) if isinstance(item, float) else int(item) for item in rest),
        ],
    }
    return torch_streams(device), plain


def restore_streams(
    tensors: Mapping[str, Tensor], plain: Mapping[str, Any], device: torch.device | None = None
) -> None:
    """Go on where `capture_streams` was called.

    >>> saved = capture_streams()
    >>> first = torch.rand(3), random.random(), np.random.rand()
    >>> restore_streams(*saved)
    >>> bool((torch.rand(3) == first[0]).all()), random.random() == first[1], np.random.rand() == first[2]
    (True, True, True)
    """
    restore_torch_streams(tensors, device)
    version, numbers, gauss = plain["python"]
    random.setstate((version, tuple(numbers), gauss))
    name, keys, *rest = plain["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
