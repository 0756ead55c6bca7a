"""What a checkpoint holds of a run, and how processes that have parts of its tensors write and read it together."""

import json
import os

import torch
from torch import Tensor, nn

from regard.errors import DataError
from regard.training.checkpoint import Checkpoint, Checkpoints
from regard.training.failure import reason
from regard.training.group import Group
from regard.training.sharded import read_shards, save_shards, shard_names, shard_templates
from regard.training.shards import is_divided
from regard.training.state import State
from regard.training.update import Tally


def check_whole(checkpoint: Checkpoint) -> None:
    """Raise unless a checkpoint says all that a run needs to go on from it; of its tensors loading says the rest."""
    state = checkpoint.state
    try:
        State.from_json(state["run"])
        count = len(state["random"])
        sums = [Tally.from_json(item) for item in state.get("tallies", [{}] * count)]
        numbers = [state["ranks"], state.get("per_update", 1), *state["batches"].values()]
        whole = all(type(item) is int for item in numbers) and state["ranks"] == count == len(sums) > 0
        streams = [checkpoint.tensors[f"rank-{rank}/random/cpu"] for rank in range(count)]
        whole = whole and all(item.dtype == torch.uint8 for item in streams)
        whole = whole and all({"python", "numpy"} <= item.keys() for item in state["random"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"The checkpoint of step {checkpoint.step} must be whole; received {reason(error)}.") from error
    if not whole:
        raise DataError(f"The checkpoint of step {checkpoint.step} must be whole; received one without all its parts.")


def save_divided(
    tensors: dict[str, Tensor], checkpoints: Checkpoints, step: int, *, group: Group
) -> dict[str, str] | None:
    """Let every process write the parts of divided tensors that it has; give the checksums of all files.

    None where no tensor is divided. Where the disk is full, all processes raise the same error.
    """
    divided = {name: item for name, item in tensors.items() if is_divided(item)}
    if not divided:
        return None
    number = 0
    try:
        folder = checkpoints.prepare(step, leads=group.leads)
    except OSError as error:
        if error.errno is None:
            raise
        number = error.errno
    if number := int(group.share_text(str(number))):
        raise OSError(number, os.strerror(number), str(checkpoints.folder))
    texts = group.gather_text(json.dumps(save_shards(divided, folder, rank=group.rank)))
    return {name: known for text in texts for name, known in json.loads(text).items()}


def read_own(checkpoint: Checkpoint, model: nn.Module | None, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Give the tensors of a checkpoint: where the model is divided, this process's parts of those that are saved so.

    `model` is None where it is not divided: then every tensor is whole.
    """
    if checkpoint.shards is None or model is None:
        return checkpoint.whole().tensors
    template = shard_templates(model, optimizer)
    parts = {name: template(name) for name in shard_names(checkpoint.shards)}
    return checkpoint.tensors | read_shards(checkpoint.shards, parts)


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give the tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): item for name, item in tensors.items() if name.startswith(prefix)}
