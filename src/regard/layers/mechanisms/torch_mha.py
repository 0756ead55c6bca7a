"""The parameters of `nn.MultiheadAttention` by our names, and back."""

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError, ArgumentTypeError

_SIDES = ("query", "key", "value")


def read_torch_mha(module: nn.MultiheadAttention) -> dict[str, Tensor]:
    """Give the parameters as `MultiHeadAttention.state_dict` names them."""
    if not isinstance(module, nn.MultiheadAttention):
        raise ArgumentTypeError(f"`module` must be an nn.MultiheadAttention; received {type(module).__name__}.")
    if module.bias_k is not None or module.add_zero_attn:
        option = "add_zero_attn" if module.add_zero_attn else "add_bias_kv"
        raise ArgumentError(
            f"`module` must have no keys of its own; received {option}=True. Such a key can be appended to the memory."
        )
    weights = module.in_proj_weight
    parts = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight) if weights is None else weights.chunk(3)
    state = {f"{side}.weight": part for side, part in zip(_SIDES, parts, strict=True)}
    state["output.weight"] = module.out_proj.weight
    if module.in_proj_bias is not None:
        biases = module.in_proj_bias.chunk(3)
        state |= {f"{side}.bias": part for side, part in zip(_SIDES, biases, strict=True)}
        state["output.bias"] = module.out_proj.bias
    return {name: tensor.detach() for name, tensor in state.items()}


@torch.no_grad()
def write_torch_mha(module: nn.MultiheadAttention, state: dict[str, Tensor], head_size: int) -> None:
    """Copy our parameters, repeating key-value heads that are shared."""
    size = module.embed_dim
    full = {name: _ungrouped(state[name], size, head_size) for name in state if name.startswith(("key", "value"))}
    full = {**state, **full}
    if module.in_proj_weight is None:
        targets = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        for side, target in zip(_SIDES, targets, strict=True):
            target.copy_(full[f"{side}.weight"])
    else:
        module.in_proj_weight.copy_(torch.cat([full[f"{side}.weight"] for side in _SIDES]))
    module.out_proj.weight.copy_(full["output.weight"])
    if module.in_proj_bias is not None:
        zero = torch.zeros_like(module.out_proj.bias)
        module.in_proj_bias.copy_(torch.cat([full.get(f"{side}.bias", zero) for side in _SIDES]))
        module.out_proj.bias.copy_(full.get("output.bias", zero))


def _ungrouped(parameter: Tensor, size: int, head_size: int) -> Tensor:
    """Repeat the rows of each key-value head for its group of query heads."""
    heads = parameter.unflatten(0, (-1, head_size))
    repeated: Tensor = heads.repeat_interleave(size // parameter.size(0), dim=0)
    return repeated.flatten(0, 1)
