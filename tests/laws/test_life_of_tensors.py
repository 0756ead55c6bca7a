"""Autograd, not a closure of ours, decides how long tensors live."""

import gc
import weakref

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard import Additive, Causal, Padding, attention


def projected(x: Tensor) -> tuple[Tensor, list[weakref.ref[Tensor]]]:
    query, key, value = (x * factor for factor in (1.0, 2.0, 3.0))
    context = attention(query, key, value, mask=Causal(), backend="sdpa")
    return context.sum(), [weakref.ref(tensor) for tensor in (query, key, value)]


def test_backward_frees_what_the_kernel_needed() -> None:
    x = torch.randn(1, 2, 5, 8, requires_grad=True)
    loss, inside = projected(x)
    assert all(reference() is not None for reference in inside)
    loss.backward()
    gc.collect()
    assert [reference() for reference in inside] == [None, None, None]


def test_activation_checkpointing_saves_the_memory_it_promises() -> None:
    seen: list[weakref.ref[Tensor]] = []

    def block(x: Tensor) -> Tensor:
        loss, inside = projected(x)
        seen.extend(inside)
        return loss

    x = torch.randn(1, 2, 5, 8, requires_grad=True)
    loss = checkpoint(block, x, use_reentrant=False)
    gc.collect()
    assert [reference() for reference in seen] == [None, None, None]
    loss.backward()
    assert x.grad is not None


@pytest.mark.parametrize("spread", [10.0, 1000.0])
def test_gaussian_is_accurate_however_many_bandwidths_keys_lie_apart(spread: float) -> None:
    from regard import Gaussian

    key = torch.linspace(0, spread, 200)[None, :, None]
    value = torch.randn(1, 200, 3)
    query = key[:, ::7] + 0.1
    exact = attention(query.double(), key.double(), value.double(), score=Gaussian(0.5), backend="reference")
    found = attention(query, key, value, score=Gaussian(0.5))
    assert (found - exact).abs().max() < 1e-4


@pytest.mark.compiled
def test_compiled_chunks_are_few() -> None:
    vector = torch.randn(64)
    nodes: list[int] = []

    def count(graph: torch.fx.GraphModule, _: list[Tensor]) -> torch.fx.GraphModule:
        nodes.append(len(graph.graph.nodes))
        return graph

    for length in (256, 1024):
        torch._dynamo.reset()
        query = torch.randn(1, length, 64)
        torch.compile(lambda q: attention(q, q, score=Additive(vector)), backend=count, dynamic=False)(query)
    assert nodes[1] <= nodes[0] * 1.5


def test_lengths_on_the_cpu_serve_tensors_elsewhere() -> None:
    query = torch.empty(2, 3, 4, device="meta")
    assert attention(query, query, mask=Padding(torch.tensor([3, 1])), backend="reference").shape == (2, 3, 4)
