"""AdamW over a model's parameters, and its state as named tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from regard.training.shards import like

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def make_optimizer(
    model: nn.Module, *, rate: float, weight_decay: float, betas: tuple[float, float]
) -> torch.optim.AdamW:
    """Make AdamW, in one kernel where torch has it; biases, norms and other vectors do not decay.

    Reference: Loshchilov and Hutter (2019), algorithm 2, arXiv:1711.05101.
    """
    trained = [item for item in model.parameters() if item.requires_grad]
    groups = [
        {"params": [item for item in trained if item.ndim > 1], "weight_decay": weight_decay},
        {"params": [item for item in trained if item.ndim <= 1], "weight_decay": 0.0},
    ]
    # A tensor as rate is not needed: the schedule sets it before each step.
    return torch.optim.AdamW(groups, lr=rate, betas=betas, eps=1e-9, fused=_can_fuse(trained))


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Give what the optimizer remembers, by the parameter's number."""
    state = optimizer.state_dict()["state"]
    return {f"{number}/{name}": item[name] for number, item in state.items() for name in _MOMENTS if name in item}


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split("/")
        state.setdefault(int(number), {})[name] = tensor
    owners = [item for group in optimizer.param_groups for item in group["params"]]
    for index, moments in state.items():
        for moment in moments.keys() - {"step"}:
            moments[moment] = like(moments[moment], owners[index])
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _can_fuse(parameters: list[nn.Parameter]) -> bool:
    return all(item.device.type in ("cpu", "cuda") and item.is_floating_point() for item in parameters)
