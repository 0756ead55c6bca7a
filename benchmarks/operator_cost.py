"""What a call of the operator does beside its kernel: launches, host time, device time and waits, beside bare SDPA.

    python benchmarks/operator_cost.py --device cuda [--calls 200]

Launches are those of one call; host time is that of issuing a call, device time that of a call in a row of many, by
CUDA events, so that it is the larger of both. A wait is a call that made the host wait for the device.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from regard import Causal, Padding, attention
from regard.attention import Mask
from regard.layers import FeedForward, MultiHeadAttention, TransformerDecoderBlock, TransformerEncoderBlock

Work = Callable[[], object]
SHAPES = {"small": (64, 8, 64, 64), "tiny": (128, 4, 32, 32), "large": (4, 16, 4096, 128)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--only", default="", help="measure the cases whose name holds this")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(7)
    print("| case | what | launches | host µs | device µs | ratio | waits |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    groups: dict[str, dict[str, Work]] = {}
    for name, what, work in cases(device):
        if options.only in name:
            groups.setdefault(name, {})[what] = work
    for name, works in groups.items():
        times = timed(works, max(options.calls // (20 if "large" in name else 1), 1), device)
        base = next(iter(times.values()))[1]
        for what, (host, spent) in times.items():
            counts = f"{launches(works[what], device)} | {host:.1f} | {spent:.1f} | {spent / base:.2f}"
            print(f"| {name} | {what} | {counts} | {waited(works[what], device)} |", flush=True)


def cases(device: torch.device) -> Iterator[tuple[str, str, Work]]:
    """Name each case and contender, and give its work; a contender follows what it is compared with."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    shapes = SHAPES if device.type == "cuda" else {"small": (2, 2, 20, 16)}
    for size, shape in shapes.items():
        for kind in ("causal", "padded"):
            yield from operator_cases(f"{kind} {size}", kind, shape, device, dtype)
    yield from weights_cases((16, 8, 1024, 64) if device.type == "cuda" else (2, 2, 20, 16), device, dtype)
    yield from layer_cases(device, dtype)


def operator_cases(
    name: str, kind: str, shape: tuple[int, ...], device: torch.device, dtype: torch.dtype
) -> Iterator[tuple[str, str, Work]]:
    """Give SDPA with a ready mask and the operator, without and with gradients."""
    query, key, value = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
    lengths = torch.randint(shape[2] // 2, shape[2] + 1, shape[:1], device=device)
    causal = kind == "causal"
    mask: Mask = Causal() if causal else Padding(lengths)
    dense = None if causal else Padding(lengths).dense((*shape[:3], shape[2]), device)

    def theirs(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=dense, is_causal=causal)

    def ours(query: Tensor, key: Tensor, value: Tensor, mask: Mask = mask) -> Tensor:
        return attention(query, key, value, mask=mask)

    contenders = {"SDPA": theirs, "regard": ours}
    if not causal:
        contenders["regard, lengths on the CPU"] = partial(ours, mask=Padding(lengths.cpu()))
        contenders["regard, finite"] = partial(ours, mask=Padding(lengths, finite=True))
    leaves = [tensor.detach().requires_grad_() for tensor in (query, key, value)]
    gradient = torch.randn_like(query)
    for what, call in contenders.items():
        yield name, what, partial(call, query, key, value)
        yield f"{name}, kept for gradients", what, partial(call, *leaves)
        yield f"{name}, with backward", what, partial(differentiated, call, leaves, gradient)


def differentiated(call: Callable[..., Tensor], leaves: list[Tensor], gradient: Tensor) -> object:
    """Call and take the gradients."""
    return torch.autograd.grad(call(*leaves), leaves, gradient)


def weights_cases(shape: tuple[int, ...], device: torch.device, dtype: torch.dtype) -> Iterator[tuple[str, str, Work]]:
    """Give weights and context by hand and by the operator."""
    query, key, value = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
    mask = Causal()
    future = torch.ones(shape[2], shape[2], dtype=torch.bool, device=device).triu(1)

    def eager() -> tuple[Tensor, Tensor]:
        weights = (query @ key.mT / shape[3] ** 0.5).masked_fill(future, -torch.inf).softmax(-1)
        return weights @ value, weights

    def eager_wide() -> tuple[Tensor, Tensor]:
        scores = query.float() @ key.mT.float() / shape[3] ** 0.5
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        return (weights @ value.float()).to(dtype), weights

    yield "weights, causal", "eager", eager
    yield "weights, causal", "eager, float32", eager_wide
    yield "weights, causal", "regard", lambda: attention(query, key, value, mask=mask, return_weights=True)


def layer_cases(device: torch.device, dtype: torch.dtype) -> Iterator[tuple[str, str, Work]]:
    """Give a layer and blocks of Transformers, forward and with the gradients of all parameters."""
    batch, length, size, heads = (64, 64, 256, 4) if device.type == "cuda" else (2, 6, 16, 2)
    states = torch.randn(batch, length, size, device=device, dtype=dtype)
    lengths = torch.randint(length // 2, length + 1, (batch,), device=device)
    layer = MultiHeadAttention(size, heads)
    encoder = TransformerEncoderBlock(MultiHeadAttention(size, heads), FeedForward(size, 4 * size))
    decoder = TransformerDecoderBlock(
        MultiHeadAttention(size, heads), MultiHeadAttention(size, heads), FeedForward(size, 4 * size)
    )
    for module in (layer, encoder, decoder):
        module.to(device=device, dtype=dtype)
    calls: dict[str, tuple[torch.nn.Module, Callable[[], Tensor]]] = {
        "layer, causal": (layer, lambda: layer(states, mask=Causal())),
        "layer, padded": (layer, lambda: layer(states, mask=Padding(lengths))),
        "encoder block, padded": (encoder, lambda: encoder(states, mask=Padding(lengths))),
        "decoder block, padded": (decoder, lambda: decoder(states, decoder.remember(states, mask=Padding(lengths)))),
    }
    for name, (module, call) in calls.items():
        parameters = list(module.parameters())
        with torch.no_grad():
            gradient = torch.randn_like(call())

        def forward(call: Callable[[], Tensor] = call) -> Tensor:
            with torch.no_grad():
                return call()

        def training(
            call: Callable[[], Tensor] = call, parameters: list[Tensor] = parameters, gradient: Tensor = gradient
        ) -> object:
            return torch.autograd.grad(call(), parameters, gradient)

        yield name, "regard", forward
        yield f"{name}, with backward", "regard", training


def timed(works: dict[str, Work], calls: int, device: torch.device) -> dict[str, tuple[float, float]]:
    """Give the host's and the device's microseconds of a call: the least of ten rows of calls, taken in turns."""
    least = dict.fromkeys(works, (float("inf"), float("inf")))
    for work in works.values():
        for _ in range(5):
            work()
    for _ in range(10):
        for what, work in works.items():
            host, spent = row_of_calls(work, calls, device)
            least[what] = min(least[what][0], host), min(least[what][1], spent)
    return least


def row_of_calls(work: Work, calls: int, device: torch.device) -> tuple[float, float]:
    """Call many times in a row; on a CPU both times are the same."""
    if device.type == "cuda":
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
    begun = time.perf_counter()
    for _ in range(calls):
        work()
    host = spent = (time.perf_counter() - begun) / calls * 1e6
    if device.type == "cuda":
        stop.record()
        torch.cuda.synchronize()
        spent = start.elapsed_time(stop) / calls * 1e3
    return host, spent


def launches(work: Work, device: torch.device) -> int:
    """Count the kernels that one call starts; on a CPU, the operations."""
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(
        activities=[activity.CPU, activity.CUDA] if device.type == "cuda" else [activity.CPU]
    ) as profile:
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()
    if device.type != "cuda":
        return sum(event.name.startswith("aten::") for event in profile.events())
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events())


def waited(work: Work, device: torch.device) -> int:
    """Count the waits of the host for the device in one call."""
    if device.type != "cuda":
        return 0
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in caught)


if __name__ == "__main__":
    main()
