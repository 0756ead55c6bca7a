"""The part of a checkpoint that no process holds whole: each writes what it has, and any number of processes reads it.

Torch's distributed checkpoint does the work, in safetensors files: its own format is a pickle, which runs code when it
is read. The head of a file tells which part of each tensor it holds; we believe that only where the parts fill the
tensor, so that no file makes us take more memory than it has bytes.
"""

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from regard.errors import DataError
from regard.files import digest
from regard.training.failure import reason

if TYPE_CHECKING:
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

NAME = re.compile(r"shard-[0-9]{5}-model-00001-of-00001\.safetensors")


def save_shards(tensors: Mapping[str, Tensor], folder: Path, *, rank: int) -> dict[str, str]:
    """Write the parts that this process holds, while all others do; give the checksum of its file by its name."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
    with _explained(folder), _quietly():
        save(dict(tensors), storage_writer=writer)
    path = folder / f"shard-{rank + 1:05d}-model-00001-of-00001.safetensors"
    return {path.name: digest(path)} if path.is_file() else {}


def read_shards(folder: Path, templates: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Read of each tensor the part that its template holds in this process, while all others do; in new memory."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    tensors = {name: torch.empty_like(item) for name, item in templates.items()}
    with _explained(folder), _quietly():
        load(tensors, storage_reader=HuggingFaceStorageReader(str(folder)))
    return tensors


def read_whole(folder: Path) -> dict[str, Tensor]:
    """Read every tensor, whole, into this process alone."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    with _explained(folder), _quietly():
        reader = HuggingFaceStorageReader(str(folder))
        tensors = {name: torch.zeros(size, dtype=dtype) for name, (size, dtype) in _sizes(reader, folder).items()}
        load(tensors, storage_reader=reader, no_dist=True)
    return tensors


def shard_templates(model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[str], Tensor]:
    """Give the function that names the parameter a saved tensor is divided like: of the model, its mean, or AdamW."""
    from regard.training.parameters import named_tensors

    own = named_tensors(model)
    owners = [item.detach() for group in optimizer.param_groups for item in group["params"]]

    def template(name: str) -> Tensor:
        kind, _, rest = name.partition("/")
        try:
            return owners[int(rest.partition("/")[0])] if kind == "optimizer" else own[rest]
        except (IndexError, KeyError, ValueError) as error:
            raise DataError(f"The shards must be those of the model; received {name}, which it has not.") from error

    return template


def shard_names(folder: Path) -> list[str]:
    """List the tensors that the shards hold."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

    with _explained(folder):
        return sorted(_sizes(HuggingFaceStorageReader(str(folder)), folder))


def _sizes(reader: "HuggingFaceStorageReader", folder: Path) -> dict[str, tuple[torch.Size, torch.dtype]]:
    """Give the size of each tensor, whose parts must fill it."""
    sizes = {}
    for name, item in reader.read_metadata().state_dict_metadata.items():
        entry: Any = item
        parts = sum(math.prod(chunk.sizes) for chunk in entry.chunks)
        if parts != math.prod(entry.size):
            raise DataError(f"{folder} must hold all of {name}, {math.prod(entry.size):,} numbers; received {parts:,}.")
        sizes[name] = entry.size, entry.properties.dtype
    return sizes


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn torch's error, which is no `Exception`, into what was the matter in the first process that had one."""
    from torch.distributed.checkpoint.api import CheckpointException

    try:
        yield
    except CheckpointException as error:
        first = next(iter(error.failures.values()))[0]
        if isinstance(first, OSError | DataError):
            raise first from error
        raise _damaged(folder, first) from error
    except (KeyError, TypeError, ValueError, RuntimeError, RecursionError, SafetensorError) as error:
        if isinstance(error, DataError):
            raise
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: BaseException) -> DataError:
    return DataError(f"{folder} must hold whole shards; received {reason(error)}.")


@contextmanager
def _quietly() -> Iterator[None]:
    """Leave out torch's warnings about itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch.distributed")
        yield
