"""How much memory a process has needed."""

import sys

import torch


def peak_memory(device: torch.device) -> int:
    """Give the most bytes held so far: of the GPU where training is there, else of the process; 0 where unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
