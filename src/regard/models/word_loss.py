"""What a batch costs, without ever holding the logits of all its words: a few rows at a time, gradients at once.

The logits of 4,096 tokens over 10,000 words are 160 MB, and autograd keeps them three times. On a CPU most of the time
of the output layer goes into moving them; here they stay in the cache.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.errors import ArgumentError

#: How many logits are held at once: what fits a core's cache, or fills an accelerator.
CHUNK_SIZE = {"cpu": 1 << 22, "other": 1 << 26}


class WordLoss(NamedTuple):
    """Sums over the words of a batch."""

    total: Float[Tensor, ""]
    """What is minimized."""
    cross_entropy: Float[Tensor, ""]
    """Without smoothing, detached: perplexity is the exponential of its mean."""


def word_loss(
    features: Float[Tensor, "batch target features"],
    output: nn.Linear,
    target: Int[Tensor, "batch target"],
    *,
    smoothing: float = 0.0,
    padding: int = 0,
) -> WordLoss:
    r"""Sum the cross-entropy of the words after `features`, with smoothed targets, over all that are not padding.

    $$L = \sum_t \Big( \log \sum_v e^{z_{tv}} - (1 - \epsilon) z_{t y_t} - \frac{\epsilon}{V} \sum_v z_{tv} \Big),
    \qquad \frac{\partial L}{\partial z_{tv}} = p_{tv} - (1 - \epsilon) [v = y_t] - \frac{\epsilon}{V}$$

    where $z$ = `output(features)`, and `features` are what `model.read` gives. The same as a loss of `model(…)`'s
    logits; it can be differentiated once.

    Reference: Szegedy et al. (2016), section 7, arXiv:1512.00567 (smoothing).

    >>> output = nn.Linear(3, 4)
    >>> _ = nn.init.zeros_(output.weight), nn.init.zeros_(output.bias)
    >>> word_loss(torch.ones(1, 2, 3), output, torch.tensor([[3, 0]])).total
    tensor(1.3863, grad_fn=<...>)
    """
    if features.shape[:-1] != target.shape:
        raise ArgumentError(
            f"`target` must have one token for each of the features, {tuple(features.shape[:-1])}; received "
            f"{tuple(target.shape)}."
        )
    real = (target.flatten() != padding).nonzero().squeeze(-1)
    rows, words = features.flatten(0, -2).index_select(0, real), target.flatten().index_select(0, real)
    weight: Tensor = output.weight
    bias: Tensor = output.bias
    if torch.is_autocast_enabled(rows.device.type):
        dtype = torch.get_autocast_dtype(rows.device.type)
        rows, weight, bias = rows.to(dtype), weight.to(dtype), bias.to(dtype)
    total, cross_entropy = _WordLoss.apply(rows, weight, bias, words, smoothing)  # type: ignore[no-untyped-call]
    return WordLoss(total, cross_entropy.detach())


class _WordLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor, words: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        needs_gradient = any(ctx.needs_input_grad[:3])
        gradients = (
            [torch.empty_like(rows), torch.zeros_like(weight), torch.zeros_like(bias)] if needs_gradient else [None] * 3
        )
        limit = CHUNK_SIZE["cpu" if rows.device.type == "cpu" else "other"]
        size = max(1, limit // weight.size(0))
        memory = rows.new_empty(min(size, rows.size(0)), weight.size(0))
        losses = []
        for first in range(0, rows.size(0), size):
            part, right = rows[first : first + size], words[first : first + size, None]
            logits = torch.addmm(bias, part, weight.mT, out=memory[: part.size(0)])
            by_row = None if gradients[0] is None else gradients[0][first : first + size]
            losses.append(_chunk(logits, right, smoothing, part, weight, by_row, gradients[1], gradients[2]))
        if needs_gradient and smoothing:
            _spread(gradients, rows, weight, smoothing)
        ctx.save_for_backward(*gradients)
        total = torch.stack(losses).sum(0) if losses else torch.zeros(2, device=rows.device)
        smoothed, plain = total[0].clone(), total[1].clone()  # FSDP wants no views
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        scaled = [item * gradient.to(item.dtype) for item in ctx.saved_tensors]
        return (*scaled, None, None)


def _chunk(
    logits: Tensor,
    right: Tensor,
    smoothing: float,
    part: Tensor,
    weight: Tensor,
    by_row: Tensor | None,
    by_weight: Tensor | None,
    by_bias: Tensor | None,
) -> Tensor:
    """Give the loss with and without smoothing of a few rows; write or add their gradients, but for the smoothing."""
    logits = logits if logits.dtype.itemsize >= 4 else logits.float()
    highest, of_right = logits.amax(-1), logits.gather(-1, right).squeeze(-1)
    mean = logits.mean(-1) if smoothing else of_right
    probabilities = torch.softmax(logits, dim=-1)
    normalizer = highest - probabilities.amax(-1).log()  # log Σ exp z; the highest probability never underflows
    if by_row is not None and by_weight is not None and by_bias is not None:
        probabilities.scatter_add_(-1, right, torch.full_like(probabilities[:, :1], smoothing - 1))
        slope = probabilities.to(part.dtype)
        torch.mm(slope, weight, out=by_row)
        by_weight.addmm_(slope.mT, part)
        by_bias.add_(slope.sum(0))
    plain = normalizer - of_right
    return torch.stack([(normalizer - (1 - smoothing) * of_right - smoothing * mean).sum(), plain.sum()])


def _spread(gradients: list[Any], rows: Tensor, weight: Tensor, smoothing: float) -> None:
    """Take ε/V from every logit's gradient, through what it is multiplied by: no pass over the logits is needed."""
    share = smoothing / weight.size(0)
    gradients[0].sub_(weight.sum(0), alpha=share)
    gradients[1].sub_(rows.sum(0), alpha=share)
    gradients[2].sub_(share * rows.size(0))
