"""Which layers of a model attend: none, for many that can be opened all the same."""

from torch import nn

from regard.inspection.trace.attention_layers import attention_layers
from regard.layers.attend import Attend


def attending(model: nn.Module, part: str = "") -> list[str]:
    """Name the attention layers of a model whose name holds `part`.

    >>> attending(nn.Linear(2, 2))
    []
    """
    if not any(isinstance(module, Attend) for module in model.modules()):
        return []
    return [name for name in attention_layers(model) if part in name]
