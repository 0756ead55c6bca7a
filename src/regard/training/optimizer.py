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
    trained = [one for one in model.parameters() if one.requires_grad]
    groups = [
        {"params": [one for one in trained if one.ndim > 1], "weight_decay": weight_decay},
        {"params": [one for one in trained if one.ndim <= 1], "weight_decay": 0.0},
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
    return {f"{number}/{name}": one[name] for number, one in state.items() for name in _MOMENTS if name in one}


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split("/")
        state.setdefault(int(number), {})[name] = tensor
    owners = [one for group in optimizer.param_groups for one in group["params"]]
    for place, moments in state.items():
        for moment in moments.keys() - {"step"}:
            moments[moment] = like(moments[moment], owners[place])
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _can_fuse(parameters: list[nn.Parameter]) -> bool:
    return all(one.device.type in ("cpu", "cuda") and one.is_floating_point() for one in parameters)
