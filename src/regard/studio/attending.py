"""Which layers of a model attend: none, for many that can be opened all the same."""

import torch
from torch import Tensor, nn

from regard.inspection.seam import attention_layers
from regard.layers.attend import Attend


def attending(model: nn.Module, part: str = "") -> list[str]:
    """Name the attention layers of a model whose name holds `part`.

    >>> attending(nn.Linear(2, 2))
    []
    """
    if not any(isinstance(module, Attend) for module in model.modules()):
        return []
    return [name for name in attention_layers(model) if part in name]


def alike(weights: Tensor) -> Tensor:
    """Look everywhere alike, whatever the layer's own weights; what is masked stays so."""
    return torch.full_like(weights, 1 / weights.size(-1))
