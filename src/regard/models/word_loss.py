"""What a batch costs, without ever holding the logits of all its words: a few rows at a time, gradients at once.

The logits of 4,096 tokens over 10,000 words are 160 MB, and autograd keeps them three times. On a CPU most of the time
of the output layer goes into moving them; here they stay in the cache.
"""

import importlib.util
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.errors import ArgumentError

_HAS_TRITON = importlib.util.find_spec("triton") is not None
#: Logits of a row that a program of the kernel holds at once.
BLOCK = 4096
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
    r_drop: float = 0.0,
) -> WordLoss:
    r"""Sum the cross-entropy of the words after `features`, with smoothed targets, over all that are not padding.

    $$L = \sum_t \Big( \log \sum_v e^{z_{tv}} - (1 - \epsilon) z_{t y_t} - \frac{\epsilon}{V} \sum_v z_{tv} \Big),
    \qquad \frac{\partial L}{\partial z_{tv}} = p_{tv} - (1 - \epsilon) [v = y_t] - \frac{\epsilon}{V}$$

    where $z$ = `output(features)`, and `features` are what `model.read` gives. The same as a loss of `model(…)`'s
    logits; it can be differentiated once. With `r_drop` the first and the second half of the batch are two passes over
    the same sentences, $p$ and $q$, and how far they are apart is added:

    $$\frac{\lambda}{2} \sum_t D(p_t \| q_t) + D(q_t \| p_t) = \frac{\lambda}{2} \sum_{tv} (p_{tv} - q_{tv}) \,
    \log \frac{p_{tv}}{q_{tv}}$$

    Reference: Szegedy et al. (2016), section 7, arXiv:1512.00567 (smoothing); Liang et al. (2021), equation 2,
    arXiv:2106.14448 (R-Drop).

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
    rows, words = features.flatten(0, -2), target.flatten()
    if r_drop:  # the two passes of a word stand one behind the other
        rows, words = (torch.stack(item.chunk(2), dim=1).flatten(0, 1) for item in (rows, words))
    real: Tensor | None = words != padding
    if _knows(words):
        numbers = (words != padding).nonzero().squeeze(-1)
        rows, words, real = rows.index_select(0, numbers), words.index_select(0, numbers), None
    weight: Tensor = output.weight
    bias: Tensor = output.bias
    if torch.is_autocast_enabled(rows.device.type):
        dtype = torch.get_autocast_dtype(rows.device.type)
        rows, weight, bias = rows.to(dtype), weight.to(dtype), bias.to(dtype)
    total, cross_entropy = _WordLoss.apply(rows, weight, bias, words, real, smoothing, r_drop)  # type: ignore[no-untyped-call]
    return WordLoss(total, cross_entropy.detach())


def _knows(tensor: Tensor) -> bool:
    """Return whether what a tensor holds is known without waiting for a device."""
    return tensor.device.type == "cpu"


class _WordLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        weight: Tensor,
        bias: Tensor,
        words: Tensor,
        real: Tensor | None,
        smoothing: float,
        r_drop: float,
    ) -> tuple[Tensor, Tensor]:
        needs_gradient = any(ctx.needs_input_grad[:3])
        gradients = [torch.empty_like(rows), torch.zeros_like(weight), torch.zeros_like(bias)] if needs_gradient else []
        limit = CHUNK_SIZE["cpu" if rows.device.type == "cpu" else "other"]
        size = max(1, limit // (2 * weight.size(0))) * 2  # the two passes of R-Drop together
        memory = rows.new_empty(min(size, rows.size(0)), weight.size(0))
        losses = []
        for first in range(0, rows.size(0), size):
            part, right = rows[first : first + size], words[first : first + size, None]
            counts = None if real is None else real[first : first + size]
            logits = torch.addmm(bias, part, weight.mT, out=memory[: part.size(0)])
            loss, slope = _slopes(logits, right, counts, smoothing=smoothing, r_drop=r_drop)
            losses.append(loss)
            if needs_gradient:
                slope = slope.to(part.dtype)
                torch.mm(slope, weight, out=gradients[0][first : first + size])
                gradients[1].addmm_(slope.mT, part)
                gradients[2].add_(slope.sum(0))
        if needs_gradient and smoothing:
            _spread(gradients, rows, weight, real, smoothing)
        ctx.save_for_backward(*gradients)
        total = torch.stack(losses).sum(0) if losses else torch.zeros(2, device=rows.device)
        smoothed, plain = total[0].clone(), total[1].clone()  # FSDP wants no views
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        scaled = [item * gradient.to(item.dtype) for item in ctx.saved_tensors]
        return (*scaled, None, None, None, None)


def _slopes(
    logits: Tensor, right: Tensor, counts: Tensor | None, *, smoothing: float, r_drop: float
) -> tuple[Tensor, Tensor]:
    """Give the loss with and without smoothing of a few rows, and its gradient, but for the smoothing.

    The logits may be written over.
    """
    if counts is not None and logits.is_cuda and _HAS_TRITON:
        return fused_slopes(logits, right, counts, smoothing=smoothing, r_drop=r_drop)
    logits = logits if logits.dtype.itemsize >= 4 else logits.float()
    highest, of_right = logits.amax(-1), logits.gather(-1, right).squeeze(-1)
    mean = logits.mean(-1) if smoothing else of_right
    probabilities = torch.softmax(logits, dim=-1)
    normalizer = highest - probabilities.amax(-1).log()  # log Σ exp z; the highest probability never underflows
    plain = normalizer - of_right
    smoothed = normalizer - (1 - smoothing) * of_right - smoothing * mean
    slope = probabilities
    if r_drop:
        apart, by_logit = _divergence(logits, normalizer, probabilities)
        smoothed = smoothed + r_drop / 4 * apart.repeat_interleave(2)
        slope = probabilities.add(by_logit, alpha=r_drop / 2)
    slope.scatter_add_(-1, right, torch.full_like(slope[:, :1], smoothing - 1))
    both = torch.stack([smoothed, plain])
    if counts is None:
        return both.sum(-1), slope
    return (both * counts).sum(-1), slope.mul_(counts[:, None])


def fused_slopes(
    logits: Float[Tensor, "rows vocabulary"],
    right: Int[Tensor, "rows 1"],
    counts: Bool[Tensor, " rows"],
    *,
    smoothing: float,
    r_drop: float,
) -> tuple[Float[Tensor, "2"], Float[Tensor, "rows vocabulary"]]:
    """Do the same in one Triton kernel, which writes the gradients over the logits."""
    import triton

    from regard.models.word_loss_triton import pair_kernel, row_kernel

    rows, vocabulary = logits.shape
    losses = torch.empty(2, rows, dtype=torch.float32, device=logits.device)
    block = min(BLOCK, triton.next_power_of_2(vocabulary))
    sizes = (rows, vocabulary, smoothing, r_drop)
    with torch.cuda.device_of(logits):  # Triton asks which device is the current one
        if r_drop:
            pair_kernel[(rows // 2,)](logits, right, counts, losses, *sizes, BLOCK=block, num_warps=8)
        else:
            row_kernel[(rows,)](logits, right, counts, losses, *sizes, BLOCK=block, num_warps=8)
    return losses.sum(1), logits


def _divergence(logits: Tensor, normalizer: Tensor, probabilities: Tensor) -> tuple[Tensor, Tensor]:
    """Give D(p‖q) + D(q‖p) of each two rows, and its gradient with respect to their logits."""
    logs = (logits - normalizer[:, None]).unflatten(0, (-1, 2))
    pair = probabilities.unflatten(0, (-1, 2))
    ratio = logs[:, 0] - logs[:, 1]
    ratios = torch.stack([ratio, -ratio], dim=1)
    means = (pair * ratios).sum(-1, keepdim=True)  # the two divergences
    slope = pair * (ratios - means + 1) - pair.flip(1)
    return means.sum((1, 2)), slope.flatten(0, 1)


def _spread(gradients: list[Any], rows: Tensor, weight: Tensor, real: Tensor | None, smoothing: float) -> None:
    """Take ε/V from every logit's gradient, through what it is multiplied by: no pass over the logits is needed."""
    share = smoothing / weight.size(0)
    if real is None:
        gradients[0].sub_(weight.sum(0), alpha=share)
        gradients[1].sub_(rows.sum(0), alpha=share)
        gradients[2].sub_(share * rows.size(0))
    else:
        counts = real.to(rows.dtype)
        gradients[0].sub_(torch.outer(counts, weight.sum(0)), alpha=share)
        gradients[1].sub_(counts @ rows, alpha=share)
        gradients[2].sub_(share * real.sum())
