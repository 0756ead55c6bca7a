"""The operator beside SDPA, nn.MultiheadAttention, FlexAttention and plain eager torch."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Additive, Causal, Mask, Padding, Softmax, Window, attention
from regard.attention.normalize import normalize
from regard.bench.measure import Measurement, Work, measure


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of shapes to measure; the first contender is what the ratios are against."""

    name: str
    shape: tuple[int, ...]
    contenders: dict[str, Callable[..., Tensor]]
    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one contender took; ratios are against the case's first contender."""

    case: str
    shape: tuple[int, ...]
    contender: str
    forward: Measurement
    forward_ratio: float
    training: Measurement | None
    training_ratio: float | None


def cases(device: torch.device, dtype: torch.dtype, *, quick: bool = False) -> Iterator[Case]:
    """Give the cases: scaled dot product plain, causal, padded and windowed, and additive."""
    small = [(8, 8, 64, 64), (8, 8, 256, 64)]
    large = [(4, 16, 1024, 64), (4, 16, 4096, 128)]
    for shape in small[:1] if quick else small if device.type == "cpu" else large:
        for name in ("scaled dot", "causal", "padded"):
            yield _dot_case(name, shape, device, dtype)
    if not quick:
        yield _dot_case("window 128", (2, 8, 1024, 64) if device.type == "cpu" else (4, 16, 8192, 64), device, dtype)
    for shape in [(2, 128, 128, 64)] if quick else [(8, 64, 64, 256), (2, 1024, 1024, 256)]:
        yield _additive_case(shape, device, dtype)


def run(case: Case, *, rounds: int, training: bool = True) -> list[Row]:
    """Measure every contender of a case, forward alone and forward with backward."""
    device = case.inputs[0].device
    forward = measure(
        {name: _forward(contend, case) for name, contend in case.contenders.items()}, rounds=rounds, device=device
    )
    able = {name: work for name, contend in case.contenders.items() if (work := _training(contend, case)) is not None}
    backward = measure(able, rounds=rounds, device=device) if training else {}
    base = next(iter(case.contenders))
    return [
        Row(
            case=case.name,
            shape=case.shape,
            contender=name,
            forward=forward[name],
            forward_ratio=forward[name].milliseconds / forward[base].milliseconds,
            training=backward.get(name),
            training_ratio=backward[name].milliseconds / backward[base].milliseconds if name in backward else None,
        )
        for name in case.contenders
    ]


def _forward(contend: Callable[..., Tensor], case: Case) -> Work:
    def work() -> Tensor:
        with torch.no_grad():
            return contend(*case.inputs)

    return work


def _training(contend: Callable[..., Tensor], case: Case) -> Work | None:
    leaves = [tensor.detach().requires_grad_() for tensor in case.inputs]
    tensors = [*leaves, *case.parameters]

    def work() -> object:
        return torch.autograd.grad(contend(*leaves).sum(), tensors, allow_unused=True)

    try:
        work()
    except (NotImplementedError, RuntimeError):  # FlexAttention cannot train on the CPU
        return None
    return work


def _dot_case(name: str, shape: tuple[int, ...], device: torch.device, dtype: torch.dtype) -> Case:
    batch, heads, length, width = shape
    query, key, value = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
    lengths = torch.arange(length, length - batch, -1, device=device)
    masks: dict[str, Mask | None] = {"causal": Causal(), "padded": Padding(lengths), "window 128": Window(128, 0)}
    mask = masks.get(name)
    dense = None if mask is None else mask.dense((batch, heads, length, length), device)
    causal = name == "causal"

    def fused(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=None if causal else dense, is_causal=causal)

    def ours(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return attention(query, key, value, mask=mask)

    def eager(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / math.sqrt(width)
        return normalize(scores, dense, Softmax()) @ value

    contenders = {"SDPA": fused, "regard": ours, "eager": eager}
    flexible = _flex(name, length, lengths, device)
    if flexible is not None:
        contenders["FlexAttention, compiled"] = flexible
    if name in ("scaled dot", "causal"):
        contenders["nn.MultiheadAttention, with its projections"] = _torch_layer(shape, causal, device, dtype)
    return Case(name=name, shape=shape, contenders=contenders, inputs=(query, key, value))


def _torch_layer(
    shape: tuple[int, ...], causal: bool, device: torch.device, dtype: torch.dtype
) -> Callable[..., Tensor]:
    _, heads, length, width = shape
    layer = nn.MultiheadAttention(heads * width, heads, batch_first=True, device=device, dtype=dtype)
    future = torch.ones(length, length, dtype=torch.bool, device=device).triu(1) if causal else None

    def forward(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        rows = (tensor.transpose(1, 2).flatten(2) for tensor in (query, key, value))
        return layer(*rows, attn_mask=future, is_causal=causal, need_weights=False)[0]  # type: ignore[no-any-return]

    return forward


def _flex(name: str, length: int, lengths: Tensor, device: torch.device) -> Callable[..., Tensor] | None:
    """Write the mask for FlexAttention by hand, as its user would; None where it cannot be compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    rules: dict[str, Callable[..., Tensor]] = {
        "causal": lambda b, h, i, j: j <= i,
        "padded": lambda b, h, i, j: j < lengths[b],
        "window 128": lambda b, h, i, j: (j <= i) & (j >= i - 128),
    }
    rule = rules.get(name)
    batch = len(lengths) if name == "padded" else None
    blocks = None if rule is None else create_block_mask(rule, batch, None, length, length, device=device)
    compiled = torch.compile(flex_attention)

    def forward(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        with torch._dynamo.config.patch(recompile_limit=64):  # one kernel a case: past eight, torch stops compiling
            return compiled(query, key, value, block_mask=blocks)

    try:
        probe = torch.randn(len(lengths), 1, length, 64, device=device)
        with torch.no_grad():
            forward(probe, probe, probe)
    except Exception:  # no compiler, or a shape it cannot lower: torch raises many kinds here
        return None
    return forward


def _additive_case(shape: tuple[int, ...], device: torch.device, dtype: torch.dtype) -> Case:
    batch, queries, keys, hidden = shape
    query = torch.randn(batch, queries, hidden, device=device, dtype=dtype)
    key = torch.randn(batch, keys, hidden, device=device, dtype=dtype)
    vector = torch.randn(hidden, device=device, dtype=dtype).requires_grad_()

    def eager(query: Tensor, key: Tensor) -> Tensor:
        return torch.softmax(torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3)) @ vector, -1) @ key

    def ours(query: Tensor, key: Tensor) -> Tensor:
        return attention(query, key, score=Additive(vector))

    contenders = {"eager": eager, "regard": ours}
    if device.type == "cuda":
        contenders["eager, torch.compile"] = torch.compile(eager)
    return Case(name="additive", shape=shape, contenders=contenders, inputs=(query, key), parameters=(vector,))
