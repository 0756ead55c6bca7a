"""Dropout that is quick on a CPU, and the kinds of it that recurrent models have."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError

#: Sixteen random bits decide about a number.
LEVELS = 1 << 16


class Dropout(nn.Dropout):
    """What `nn.Dropout` is, five times as fast on a CPU.

    Torch draws a random double for each number there, which takes longer than a layer's matrix product. Here one draw
    of 64 bits serves four numbers. `shared` drops the same features at every position of a sentence.

    Reference: Srivastava et al. (2014); Gal and Ghahramani (2016), section 4, arXiv:1512.05287 (shared).
    Differs: on a CPU the probability is a multiple of 2⁻¹⁶; what is kept is scaled by exactly that.

    >>> Dropout(0.5).eval()(torch.ones(2, 3)).sum()
    tensor(6.)
    """

    fusible: ClassVar[bool] = True

    def __init__(self, probability: float = 0.5, *, shared: bool = False) -> None:
        if not 0 <= probability <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {probability}.")
        super().__init__(probability)
        self.shared = shared

    def forward(self, features: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch size"]:
        """Drop in training mode only."""
        if not self.training or self.p == 0:
            return features
        if self.shared and features.ndim == 3:
            kept = keep(features.new_empty(features.size(0), 1, features.size(2)), self.p)
            return features * kept
        if features.device.type != "cpu" or torch.compiler.is_compiling() or not features.numel():
            return F.dropout(features, self.p)
        return _Drop.apply(features, self.p)  # type: ignore[no-any-return, no-untyped-call]


def keep(like: Tensor, probability: float) -> Tensor:
    """Draw what to multiply by: zero where a number is dropped, else a little more than one."""
    if like.device.type != "cpu" or torch.compiler.is_compiling() or not like.numel():
        return F.dropout(torch.ones_like(like), probability)
    threshold = round(probability * LEVELS)
    if threshold == LEVELS:
        return torch.zeros_like(like)
    count = like.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = (bits[:count] >= threshold - LEVELS // 2).view(like.shape).to(like.dtype)
    return kept.mul_(LEVELS / (LEVELS - threshold))


def drop_words(
    embedding: Float[Tensor, "batch position size"], probability: float
) -> Float[Tensor, "batch position size"]:
    """Drop whole words.

    Reference: Gal and Ghahramani (2016), section 4.2, arXiv:1512.05287; Sennrich, Haddow and Birch (2016), section
    2.2, arXiv:1606.02891.
    Differs: each occurrence is drawn by itself, where the first paper drops a word all along the sentence.
    """
    return embedding * keep(embedding.new_empty(*embedding.shape[:2], 1), probability)


class _Drop(torch.autograd.Function):
    """One multiplication each way, instead of the several that autograd would keep track of."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, probability: float) -> Tensor:
        kept: Tensor = keep(features, probability)
        ctx.kept = kept
        return features * kept

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        return gradients[0] * ctx.kept, None


def quicken(model: nn.Module) -> None:
    """Replace every `nn.Dropout` by `Dropout` inside a model."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, Dropout(child.p))
