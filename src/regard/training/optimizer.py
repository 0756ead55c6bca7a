"""AdamW over a model's parameters, and its state as named tensors."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.training.shards import like

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def make_optimizer(
    model: nn.Module, *, rate: float, weight_decay: float, betas: tuple[float, float], on_device: bool = False
) -> torch.optim.AdamW:
    """Make AdamW, in one kernel where torch has it; biases, norms and other vectors do not decay.

    `on_device` keeps the rate and the count of steps there, so that a step can be captured as a CUDA graph.

    Reference: Loshchilov and Hutter (2019), algorithm 2, arXiv:1711.05101.
    """
    trained = [item for item in model.parameters() if item.requires_grad]
    groups = [
        {"params": [item for item in trained if item.ndim > 1], "weight_decay": weight_decay},
        {"params": [item for item in trained if item.ndim <= 1], "weight_decay": 0.0},
    ]
    first = torch.tensor(rate, device=trained[0].device) if on_device else rate
    fused = _can_fuse(trained)
    return torch.optim.AdamW(groups, lr=first, betas=betas, eps=1e-9, fused=fused, capturable=on_device)


def step_on_device(optimizer: torch.optim.AdamW, norm: Float[Tensor, ""], *, clip: float) -> None:
    """Step along gradients of this norm, clipped, unless it is not finite, without asking the device.

    These are the two numbers by which torch's `GradScaler` tells a fused optimizer the same.
    """
    skipped = (~norm.isfinite()).float()
    divisor = (norm / clip).clamp_min(1.0) if clip else None
    optimizer.__dict__.update(found_inf=skipped, grad_scale=divisor)
    optimizer.step()
    optimizer.__dict__.update(found_inf=None, grad_scale=None)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next step."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
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
