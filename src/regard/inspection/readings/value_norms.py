"""How much a memory can move what attends to it: the norms of what attention really adds up."""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.models.sequence.recurrent import RecurrentModel
from regard.models.sequence.recurrent_decoder import RecurrentMemory
from regard.models.sequence.transformer import TransformerModel
from regard.models.sequence.transformer_state import TransformerMemory


@torch.no_grad()
def value_norms(
    model: nn.Module, memory: TransformerMemory | RecurrentMemory
) -> Float[Tensor, "batch layers heads source"]:
    r"""Measure what a weight of one on each source token would add, for each layer and head that attends to the source.

    $$\lVert \alpha_{ij} f(x_j) \rVert = \alpha_{ij} \lVert f(x_j) \rVert, \qquad f(x) = (x W^V + b^V) W^O_h$$

    where $W^O_h$ are the rows of the output matrix that belong to head $h$; the layer's own $b^O$ belongs to no token.
    A recurrent model adds up the encoder's states as they are, so $f(x) = x$, unless its attention has heads.

    Reference: Kobayashi et al. (2020), equation 4, arXiv:2004.10102.
    """
    if isinstance(model, TransformerModel) and isinstance(memory, TransformerMemory):
        attentions = [cast(nn.Module, block.cross_attention) for block in model.decoder]
        return torch.stack([_norms(item, held) for item, held in zip(attentions, memory.blocks, strict=True)], dim=1)
    if isinstance(model, RecurrentModel) and isinstance(memory, RecurrentMemory) and memory.source is not None:
        with_heads = [item for item in model.decoder.modules() if isinstance(item, MultiHeadAttention)]
        return _norms(with_heads[0] if with_heads else None, memory.source).unsqueeze(1)
    raise ArgumentError(
        f"`model` must be a Transformer or a recurrent model with attention to have value norms; received "
        f"{type(model).__name__}."
    )


def _norms(attention: nn.Module | None, memory: Memory) -> Float[Tensor, "batch heads source"]:
    norms: Tensor
    if not isinstance(attention, MultiHeadAttention):
        norms = torch.linalg.vector_norm(memory.value, dim=-1)
        return norms if norms.ndim == 3 else norms.unsqueeze(1)
    value = memory.value.repeat_interleave(attention.num_heads // attention.num_key_value_heads, dim=1)
    rows = attention.output.weight.unflatten(1, (attention.num_heads, attention.head_size))  # size heads head_size
    moved = torch.einsum("bhsf,ohf->bhso", value, rows)
    norms = torch.linalg.vector_norm(moved, dim=-1)
    return norms
