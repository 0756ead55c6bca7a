"""FSDP2: each process keeps a part of every parameter, of its gradient and of AdamW's memory.

Blocks of a Transformer come together when they are computed and are parted again after it; what is left, such as
embeddings, stays together from the start of a pass to its end. Torch's part for this takes a second or two to import,
so that it is imported where it is used. Each process holds the whole parameters once, when it starts; the first one has
them on its CPU besides, to validate and to save.
"""

import warnings
from typing import TYPE_CHECKING, TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor


def divide(whole_pass: nn.Module, ranks: int, device: torch.device) -> nn.Module:
    """Divide the parameters of a forward pass in place."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    # Nothing changes a block's memory in place while there is a backward pass to come.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")
    mesh = init_device_mesh(device.type, (ranks,))
    for block in whole_pass.modules():
        if isinstance(block, TransformerEncoderBlock | TransformerDecoderBlock):
            fully_shard(block, mesh=mesh)
            if isinstance(block, TransformerDecoderBlock):
                register_fsdp_forward_method(block, "remember")  # called beside `forward`
    fully_shard(whole_pass, mesh=mesh)
    return whole_pass


def whole(tensor: Tensor) -> Tensor:
    """Bring the parts of a tensor together, which every process must ask for; a tensor that is whole stays as it is."""
    return tensor.full_tensor() if is_divided(tensor) else tensor


def like(tensor: Tensor, own: Tensor) -> Tensor:
    """Take of a whole tensor the part that `own` holds; a part stays as it is."""
    if not is_divided(own) or is_divided(tensor):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(own.device), own.device_mesh, own.placements, src_data_rank=None)


def add_up_now(module: nn.Module, now: bool) -> None:
    """Return whether the next backward pass adds gradients up over the processes."""
    if isinstance(module, DistributedDataParallel):
        module.require_backward_grad_sync = now
        return
    from torch.distributed.fsdp import FSDPModule

    assert isinstance(module, FSDPModule)
    module.set_requires_gradient_sync(now)


def is_divided(tensor: Tensor) -> "TypeGuard[DTensor]":
    """Tell whether this process holds a part of a tensor."""
    return hasattr(tensor, "full_tensor")
