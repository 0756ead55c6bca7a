"""The parameters of a model as named tensors: to save, to put back, to average."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.errors import DataError
from regard.models.folder import saved_tensors
from regard.training.shards import like


def named_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Give every parameter and saved buffer once, also where two modules share it."""
    return {name: item.detach() for name, item in saved_tensors(model).items()}


@torch.no_grad()
def load_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put tensors in place of the model's own; names and shapes must be the same."""
    own = named_tensors(model)
    if own.keys() != tensors.keys():
        odd = sorted(own.keys() ^ tensors.keys())
        raise DataError(f"The tensors must be those of the model; received {len(odd)} that differ, such as {odd[0]}.")
    for name, item in own.items():
        if item.shape != tensors[name].shape:
            raise DataError(
                f"{name} must have the shape {tuple(item.shape)}; received {tuple(tensors[name].shape)}. "
                "Was it saved from a model of another size?"
            )
        item.copy_(like(tensors[name], item))


@torch.no_grad()
def mean_tensors(several: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Average tensors name by name, in float64 on the CPU, wherever each is; whole numbers are those of the last.

    >>> mean_tensors([{"a": torch.tensor([1.0])}, {"a": torch.tensor([2.0])}])["a"].item()
    1.5
    """
    mean = {}
    for name, last in several[-1].items():
        if not last.is_floating_point():
            mean[name] = last.cpu().clone()
            continue
        # The last parameters are on the GPU that trained them, those of checkpoints are not.
        total = sum((item[name].cpu().double() for item in several), torch.zeros((), dtype=torch.float64))
        mean[name] = (total / len(several)).to(last.dtype)
    return mean


class MovingAverage:
    r"""An exponential moving average of the parameters.

    $$\bar\theta_s = d\,\bar\theta_{s-1} + (1 - d)\,\theta_s, \quad d = \min(\mathrm{decay}, (1 + s) / (10 + s))$$
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        own = named_tensors(model)
        self.tensors = {name: item.clone() for name, item in own.items()}
        # Parameters stay where they are: found once, not by name at each step.
        self._moving = {name: item for name, item in own.items() if item.is_floating_point()}
        self._copied = {name: item for name, item in own.items() if name not in self._moving}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the parameters after `step`."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_([self.tensors[name] for name in self._moving], list(self._moving.values()), 1 - decay)
        for name, item in self._copied.items():
            self.tensors[name].copy_(item)

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what was saved."""
        for name, own in self.tensors.items():
            own.copy_(like(tensors[name], own))


@contextmanager
def replaced(model: nn.Module, tensors: Mapping[str, Tensor] | None) -> Iterator[None]:
    """Let the model have other parameters for a while."""
    if tensors is None:
        yield
        return
    own = {name: item.clone() for name, item in named_tensors(model).items()}
    load_tensors(model, tensors)
    try:
        yield
    finally:
        load_tensors(model, own)
