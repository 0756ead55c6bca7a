"""Calls of a few tokens, where checks and dispatch count: `attention` beside what a user would write instead.

    OMP_NUM_THREADS=1 python benchmarks/small_calls.py [--rounds 40]

Contenders take turns; the figure is the least processor time of a call, which other programs on the machine disturb
least.
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import Causal, RelativeBias, attention
from regard.layers import MultiHeadAttention

CALLS = 50  # in one measurement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    torch.manual_seed(7)
    print("| call | instead | instead, µs | regard, µs | ratio |\n| --- | --- | ---: | ---: | ---: |")
    with torch.no_grad():
        for name, instead, theirs, ours in cases():
            least = measure((theirs, ours), rounds)
            print(f"| {name} | {instead} | {least[0]:.1f} | {least[1]:.1f} | {least[1] / least[0]:.2f} |", flush=True)


def cases() -> list[tuple[str, str, Callable[[], object], Callable[[], object]]]:
    """Name each call, what is written instead, and both."""
    x, middle = torch.randn(1, 4, 8, 32), torch.randn(8, 8, 64, 64)
    bias = RelativeBias(table=torch.randn(8, 2 * 16 + 1))
    sdpa = F.scaled_dot_product_attention
    return [
        ("plain (1, 4, 8, 32)", "SDPA", lambda: sdpa(x, x, x), lambda: attention(x, x)),
        (
            "causal (1, 4, 8, 32)", "SDPA",
            lambda: sdpa(x, x, x, is_causal=True), lambda: attention(x, x, mask=Causal()),
        ),
        ("plain (8, 8, 64, 64)", "SDPA", lambda: sdpa(middle, middle, middle), lambda: attention(middle, middle)),
        (
            "weights (8, 8, 64, 64)", "eager softmax",
            lambda: eager(middle), lambda: attention(middle, middle, return_weights=True),
        ),
        (
            "relative bias (8, 8, 64, 64)", "the same, causal",
            lambda: attention(middle, middle, mask=Causal()), lambda: attention(middle, middle, position=bias),
        ),
        *cached_steps(),
    ]  # fmt: skip


def eager(x: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and context, as one writes them by hand."""
    weights = (x @ x.mT / x.size(-1) ** 0.5).softmax(-1)
    return weights @ x, weights


def cached_steps() -> list[tuple[str, str, Callable[[], object], Callable[[], object]]]:
    """One more token beside 100 in a cache, by hand and by the layer, with room for 150 or for 4,096."""
    layer, token, before = MultiHeadAttention(128, 4).eval(), torch.randn(1, 1, 128), torch.randn(1, 100, 128)
    query, key, value, output = (nn.Linear(128, 128) for _ in range(4))

    def heads(x: Tensor) -> Tensor:
        return x.unflatten(-1, (4, 32)).transpose(1, 2)

    keys, values = heads(key(before)), heads(value(before))

    def by_hand() -> Tensor:
        held = torch.cat([keys, heads(key(token))], dim=2), torch.cat([values, heads(value(token))], dim=2)
        return output(F.scaled_dot_product_attention(heads(query(token)), *held).transpose(1, 2).flatten(2))

    def step(capacity: int) -> Callable[[], object]:
        start = layer.remember(before).reserve(capacity)
        memory = start

        def run() -> Tensor:
            nonlocal memory
            memory = (start if memory.common_length() == 150 else memory).append(layer.remember(token))
            return layer(token, memory)

        return run

    return [(f"cached step, room for {room:,}", "by hand", by_hand, step(room)) for room in (150, 4096)]


def measure(contenders: tuple[Callable[[], object], ...], rounds: int) -> list[float]:
    """Give the least processor time of a call, in microseconds."""
    least = [float("inf")] * len(contenders)
    for _ in range(rounds):
        for number, call in enumerate(contenders):
            call()
            begun = time.process_time()
            for _ in range(CALLS):
                call()
            least[number] = min(least[number], (time.process_time() - begun) / CALLS * 1e6)
    return least


if __name__ == "__main__":
    main()
