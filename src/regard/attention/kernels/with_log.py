"""Torch's fused kernels with what they know beside the context: each row's log normalizer. Sinks follow from it.

The backward kernels take context and log normalizer as they were given, so that they serve changed ones too: those of
attention with one more key, or of a loss that depends on the log normalizer.
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.kernels.reference import log_normalizer, ungroup
from regard.attention.kernels.torch_kernel import Fused, favors_efficient, few_keys, plain
from regard.attention.kernels.twice import partial_gradients
from regard.attention.mask import Causal
from regard.attention.prepared import ALIGNMENT, as_bias
from regard.attention.tensors import Keys, Queries, widened

Kernel = Literal["cpu", "flash", "efficient", "cudnn"]
Settings = tuple[Kernel, bool, float]

#: What torch calls its choice on CUDA.
CHOICES: dict[int, Kernel] = {1: "flash", 2: "efficient", 3: "cudnn"}
#: Torch's kernels take vectors whose width is a multiple of this.
WIDTH = 8
#: With fewer keys torch's backward kernel on a CPU is slower in bfloat16 than in float32; with so many, as quick.
FEW_KEYS_OF_HALF = 256


def choose_kernel(fused: Fused) -> Kernel | None:
    """Return which of torch's kernels would run, or None where none of them does, or not in a way that serves here."""
    query, key, value, bias, causal, scale, grouped = fused
    device = query.device.type
    if torch.compiler.is_compiling() or device not in ("cpu", "cuda") or not key.size(-2) or not query.numel():
        return None
    if bias is not None and bias.requires_grad:
        return None
    if bias is None and not causal and few_keys(key):
        return None
    if favors_efficient(query, key) and not grouped:
        return "efficient"
    choice: int = torch._fused_sdp_choice(query, key, value, bias, 0.0, causal, scale=scale, enable_gqa=grouped)
    if device == "cpu":
        return "cpu" if choice == 1 else None
    return CHOICES.get(choice)


def widens_backward(query: Queries, key: Keys) -> bool:
    """Return whether the backward pass of a call in half precision is computed in float32, as is quicker on a CPU.

    With 32 keys, forward and backward take 3.5 times as long by torch's kernels in bfloat16, and in float16 2.9 to 6.5
    times, however many keys there are (benchmarks/attention-cpu.md).
    """
    if query.device.type != "cpu" or query.dtype.itemsize >= 4:
        return False
    return query.dtype == torch.float16 or key.size(-2) <= FEW_KEYS_OF_HALF


def attend(
    fused: Fused, kernel: Kernel, sink: Float[Tensor, "#batch #heads #query"] | None = None
) -> tuple[Float[Tensor, "batch heads query size"], Float[Tensor, "batch heads query"]]:
    r"""Give the context and each row's log normalizer, with the sink's score where there is one.

    $$c'_i = \sigma(\log Z_i - s)\, c_i, \qquad \log Z'_i = \log(Z_i + \exp(s))$$

    where $c$ and $\log Z$ are the kernel's and $s$ is `sink`. A row without a key has whatever the kernel calls its log
    normalizer.
    """
    query, key, value, bias, causal, scale, grouped = fused
    if grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    width = value.size(-1)
    query, key, value = (F.pad(item, (0, -width % WIDTH)) if width % WIDTH else item for item in (query, key, value))
    if bias is not None:
        bias = as_bias(bias, query.dtype) if bias.dtype == torch.bool else _aligned(bias)
        bias = bias.expand(*query.shape[:-1], key.size(-2))
    context, log = _Attend.apply((kernel, causal, scale), query, key, value, bias, sink)  # type: ignore[no-untyped-call]
    return context[..., :width] if context.size(-1) != width else context, log


def _aligned(bias: Tensor) -> Tensor:
    """Let the rows begin where torch's kernels want them."""
    keys = bias.size(-1)
    whole = not bias.is_cuda or (bias.stride(-1) == 1 and all(step % ALIGNMENT == 0 for step in bias.stride()[:-1]))
    return bias if whole else F.pad(bias, (0, -keys % ALIGNMENT))[..., :keys]


def _widened_bias(bias: Tensor) -> Tensor:
    """Widen a bias, once for each axis along which it is repeated."""
    once = bias[tuple(slice(1) if step == 0 else slice(None) for step in bias.stride())]
    return widened(once).expand(bias.shape)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        settings: Settings,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        sink: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        context, log, rest = _forward(settings, query, key, value, bias)
        if sink is not None:
            gate = torch.sigmoid(log - sink)
            context = (context * gate.unsqueeze(-1)).to(context.dtype)
            log = torch.logaddexp(log, sink.to(log.dtype))
        ctx.settings, ctx.rest = settings, [None if isinstance(item, Tensor) else item for item in rest]
        kept = [item if isinstance(item, Tensor) else None for item in rest]
        ctx.save_for_backward(query, key, value, bias, sink, context, log, *kept)
        ctx.set_materialize_grads(False)
        return context, log

    @staticmethod
    def backward(ctx: Any, *arrived: Any) -> tuple[Tensor | None, ...]:
        query, key, value, bias, sink, context, log, *kept = ctx.saved_tensors
        tensors, needs = (query, key, value, bias, sink), ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():
            return None, *_with_graph(ctx.settings, tensors, needs, arrived)
        gradient, gradient_of_log = arrived
        gradient = torch.zeros_like(context) if gradient is None else gradient
        slope = None
        if sink is not None and needs[4]:
            spent = (widened(gradient) * widened(context)).sum(-1)  # by how much a larger sum lowers the loss
            spent = spent if gradient_of_log is None else spent - gradient_of_log
            slope = (-torch.exp(sink - log) * spent).sum_to_size(sink.shape).to(sink.dtype)
        saved = query, key, value, bias, context, log
        if gradient_of_log is None:
            rest = [number if item is None else item for item, number in zip(kept, ctx.rest, strict=True)]
            slopes = _backward(ctx.settings, gradient, saved, rest)
        else:
            slopes = _backward_with_log(ctx.settings, gradient, gradient_of_log, saved)
        return None, *slopes, None, slope


def _forward(
    settings: Settings, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Sequence[Any]]:
    """Give the context, the log normalizers, (batch, heads, query), and what the backward kernel wants beside."""
    kernel, causal, scale = settings
    match kernel:
        case "cpu":
            run = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
            context, log = run(query, key, value, 0.0, causal, attn_mask=bias, scale=scale)
            return context, log, ()
        case "flash":
            flash = torch.ops.aten._scaled_dot_product_flash_attention
            context, log, *rest, _ = flash(query, key, value, 0.0, causal, False, scale=scale)
            return context, log, rest
        case "efficient":
            efficient = torch.ops.aten._scaled_dot_product_efficient_attention
            context, log, *rest = efficient(query, key, value, bias, True, 0.0, causal, scale=scale)
            return context, log[..., : query.size(-2)], rest
        case "cudnn":
            cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention
            context, log, *rest, _ = cudnn(query, key, value, bias, True, 0.0, causal, False, scale=scale)
            return context, log.squeeze(-1), rest


def _backward(
    settings: Settings, gradient: Tensor, saved: Sequence[Any], rest: Sequence[Any]
) -> tuple[Tensor, Tensor, Tensor]:
    """Call the backward kernel with the context and the log normalizers that were given."""
    kernel, causal, scale = settings
    query, key, value, bias, context, log = saved
    match kernel:
        case "cpu":
            run = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
            if widens_backward(query, key):
                gradient, query, key, value, context = map(widened, (gradient, query, key, value, context))
                bias = None if bias is None else _widened_bias(bias)
            slopes = run(gradient, query, key, value, context, log, 0.0, causal, attn_mask=bias, scale=scale)
            slopes = [slope.to(saved[0].dtype) for slope in slopes]
        case "flash":
            *counts, seed, offset = rest
            flash = torch.ops.aten._scaled_dot_product_flash_attention_backward
            options = (*counts, 0.0, causal, seed, offset)
            slopes = flash(gradient, query, key, value, context, log.contiguous(), *options, scale=scale)
        case "efficient":
            efficient = torch.ops.aten._scaled_dot_product_efficient_attention_backward
            log = F.pad(log, (0, -log.size(-1) % 32), value=torch.inf).contiguous()
            options = (*rest, 0.0, [True, True, True, False], causal)
            slopes = efficient(gradient, query, key, value, bias, heads_inside(context), log, *options, scale=scale)
        case "cudnn":
            *counts, seed, offset = rest
            cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention_backward
            log = log.unsqueeze(-1).contiguous()
            options = (seed, offset, bias, *counts, 0.0, causal)
            slopes = cudnn(gradient, query, key, value, context, log, *options, scale=scale)
    return slopes[0], slopes[1], slopes[2]


def heads_inside(context: Float[Tensor, "batch heads query size"]) -> Float[Tensor, "batch heads query size"]:
    """Lay a context out in memory as (batch, query, heads, size): the efficient kernel takes no other.

    >>> context = torch.zeros(2, 3, 5, 4)
    >>> heads_inside(context).stride(), heads_inside(context).shape == context.shape
    ((60, 4, 12, 1), True)
    """
    return context.transpose(1, 2).contiguous().transpose(1, 2)


def _backward_with_log(
    settings: Settings, gradient: Tensor, gradient_of_log: Tensor, saved: Sequence[Any]
) -> tuple[Tensor, Tensor, Tensor]:
    """Do so for a loss that depends on the log normalizers too.

    The gradient of a score is its weight times what its value contributes, the sum over features of gradient times
    value, less the same sum for the context. One more feature, whose value is one, puts the gradient of the log
    normalizer into the first sum; its context is set to zero, so that it is not in the second.
    """
    kernel, causal, scale = settings
    query, key, value, bias, context, log = saved
    width = value.size(-1)
    query, key, value, context, gradient = (F.pad(item, (0, WIDTH)) for item in (query, key, value, context, gradient))
    value[..., width] = 1.0
    gradient[..., width] = gradient_of_log
    rest: list[Tensor] = []
    if kernel != "cpu":  # every kernel's log normalizers are the same numbers
        kernel, rest = "efficient", [torch.zeros((), dtype=torch.long, device=query.device) for _ in range(2)]
    slopes = _backward((kernel, causal, scale), gradient, (query, key, value, bias, context, log), rest)
    return slopes[0][..., :width], slopes[1][..., :width], slopes[2][..., :width]


def _with_graph(
    settings: Settings, tensors: Sequence[Tensor | None], needs: Sequence[bool], arrived: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Give the gradients by operations that can be differentiated again."""
    _, causal, scale = settings
    wanted = [number for number, gradient in enumerate(arrived) if gradient is not None]

    def compute(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, sink: Tensor | None) -> Any:
        fused = Fused(query, key, value, bias, causal, scale, False)
        outputs = plain(fused), _plain_log(fused)
        if sink is not None:
            gate = torch.sigmoid(outputs[1] - sink).unsqueeze(-1)
            outputs = (outputs[0] * gate).to(value.dtype), torch.logaddexp(outputs[1], sink)
        return [outputs[number] for number in wanted]

    gradients: Any = [arrived[number] for number in wanted]
    return partial_gradients(compute, tensors, needs, gradients)


def _plain_log(fused: Fused) -> Tensor:
    scores = widened(fused.query) * fused.scale @ widened(fused.key).mT
    mask = Causal().dense(scores.shape, scores.device) if fused.causal else None
    if fused.bias is not None:
        boolean = fused.bias.dtype == torch.bool
        mask = fused.bias if boolean else fused.bias != -torch.inf
        scores = scores if boolean else scores + fused.bias
    return log_normalizer(scores, mask)
