"""Additive attention on a GPU: eager torch, torch.compile and the fused kernel, in one run.

    python benchmarks/additive.py [--dtype bfloat16] [--shape 16,512,512,256 …]

Milliseconds are the least of three means of ten calls; "device" replays the same calls from a CUDA graph, without the
cost of launching. Extra memory is the peak beyond what was held before, outputs and gradients included. The error is
the greatest of the context against float64 (of one batch element).
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from regard import Additive, attention

SHAPES = [(16, 512, 512, 256), (8, 2048, 2048, 128), (64, 64, 64, 512), (128, 1, 30, 512)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--shape", type=lambda text: tuple(map(int, text.split(","))), nargs="*", default=SHAPES)
    parser.add_argument("--contender", nargs="*", choices=list(CONTENDERS), default=list(CONTENDERS))
    options = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.dtype}\n")
    print("| (batch, queries, keys, hidden) | | forward ms | with backward ms | device ms | extra MiB | error |")
    print("| --- | --- | --: | --: | --: | --: | --: |", flush=True)
    for shape in options.shape:
        report(shape, getattr(torch, options.dtype), options.contender)


def report(shape: tuple[int, ...], dtype: torch.dtype, names: list[str]) -> None:
    """Print a row for each contender."""
    batch, queries, keys, hidden = shape
    torch.manual_seed(1)
    sides = [torch.randn(batch, rows, hidden, device="cuda", dtype=dtype) for rows in (queries, keys, keys)]
    vector = torch.randn(hidden, device="cuda", dtype=dtype) / hidden**0.5
    tensors = [side.requires_grad_() for side in (*sides, vector)]
    truth = _exact(*(tensor.detach()[:1].double() for tensor in sides), vector.detach().double())
    for name in names:
        call, step = _forward(CONTENDERS[name], tensors), _training(CONTENDERS[name], tensors)
        error = float((call()[:1].double() - truth).abs().max())
        step()
        memory = _extra_memory(step)
        times = [_milliseconds(call), _milliseconds(step), _replayed(call), _replayed(step)]
        device = f"{times[2]:.3f}; {times[3]:.3f}"
        print(
            f"| {shape} | {name} | {times[0]:.3f} | {times[1]:.3f} | {device} | {memory:,.0f} | {error:.1e} |",
            flush=True,
        )


def eager(query: Tensor, key: Tensor, value: Tensor, vector: Tensor) -> Tensor:
    """Write it out."""
    return torch.softmax(torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3)) @ vector, -1) @ value


def fused(query: Tensor, key: Tensor, value: Tensor, vector: Tensor) -> Tensor:
    """Call the operator."""
    return attention(query, key, value, score=Additive(vector))


CONTENDERS: dict[str, Callable[..., Tensor]] = {
    "regard": fused,
    "eager": eager,
    "torch.compile": torch.compile(eager, dynamic=False),
}


def _exact(query: Tensor, key: Tensor, value: Tensor, vector: Tensor) -> Tensor:
    return torch.cat([eager(part, key, value, vector) for part in query.split(64, 1)], 1)


def _forward(contend: Callable[..., Tensor], tensors: list[Tensor]) -> Callable[[], Tensor]:
    def call() -> Tensor:
        with torch.no_grad():
            return contend(*tensors)

    return call


def _training(contend: Callable[..., Tensor], tensors: list[Tensor]) -> Callable[[], object]:
    arrived = torch.randn_like(tensors[0])

    def step() -> object:
        return torch.autograd.grad(contend(*tensors), tensors, arrived)

    return step


def _milliseconds(work: Callable[[], object], calls: int = 10) -> float:
    work()
    means = []
    for _ in range(3):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            work()
        stop.record()
        torch.cuda.synchronize()
        means.append(start.elapsed_time(stop) / calls)
    return min(means)


def _replayed(work: Callable[[], object]) -> float:
    """Give the time of the work replayed from a graph; NaN where it cannot be captured."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            work()
    except RuntimeError:
        return float("nan")
    return _milliseconds(graph.replay)


def _extra_memory(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


if __name__ == "__main__":
    main()
