"""The fused additive kernel: in Triton's interpreter here, on a GPU where there is one."""

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from regard import Additive, Causal, Documents, Padding, Window, attention, explain_backend
from regard.attention.kernels import additive_few, additive_launch
from regard.attention.kernels.additive import span
from regard.attention.kernels.additive_call import Call, Masking
from regard.errors import BackendError
from unit.attention.additive_interpreted import cases, check_operations, compare, compare_others, compare_requested

PROGRAM = Path(__file__).with_name("additive_interpreted.py")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_in_the_interpreter_it_agrees_with_the_reference() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert (done.returncode, done.stdout) == (0, "agrees\n"), done.stderr[-3000:]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "it runs on CUDA alone"),
        ({"bias": torch.zeros(5, 7)}, "the kernel adds nothing to the scores"),
        ({"normalize": lambda scores, mask: scores}, "the kernel takes a softmax, not "),
        ({"score": Additive(torch.ones(6), activation="identity")}, "Additive is not the tanh layer"),
    ],
)
def test_it_says_why_it_refuses(options, reason) -> None:
    arguments = {"score": Additive(torch.ones(6))} | options
    with pytest.raises(BackendError, match=reason):
        attention(torch.ones(2, 5, 6), torch.ones(2, 7, 6), **arguments, backend="triton")


def test_wide_values_and_exact_numbers_are_refused() -> None:
    query, key = torch.ones(2, 5, 6), torch.ones(2, 7, 6)
    with pytest.raises(BackendError, match="values are wider than 512, and there are more than 8 queries"):
        attention(query.repeat(1, 2, 1), key, torch.ones(2, 7, 513), score=Additive(torch.ones(6)), backend="triton")
    with pytest.raises(BackendError, match=r"the kernel computes in float32 or less, not torch\.float64"):
        attention(query.double(), key.double(), score=Additive(torch.ones(6).double()), backend="triton")


@pytest.mark.parametrize(("batch", "keys"), [(0, 7), (2, 0), (65_536, 1)])
def test_nothing_and_too_many_are_refused(batch, keys) -> None:
    query, key = torch.ones(batch, 1, 2), torch.ones(batch, keys, 2)
    with pytest.raises(BackendError, match="an axis is empty, or batch and heads have more than 65,535 elements"):
        attention(query, key, score=Additive(torch.ones(2)), backend="triton")


@pytest.mark.parametrize(
    "mask",
    [
        Causal(),
        Causal(align="start"),
        Window(2, 1),
        Window(None, 3, align="start"),
        Padding(torch.tensor([4, 0])),
        Padding(torch.tensor(3)),
        Causal() & Padding(torch.tensor([2, 6])),
        Window(4, None) & Causal() & Padding(torch.tensor([6])),
    ],
)
def test_a_span_allows_what_the_mask_does(mask) -> None:
    shape = (2, 3, 5, 6)
    masking = span(mask, shape, torch.device("cpu"))
    dense = masking.dense(6, 5, 6, torch.device("cpu")).view(shape)
    assert torch.equal(dense, mask.dense(shape).expand(shape))


@pytest.mark.parametrize(
    "mask",
    [
        Documents.of_lengths([2, 3]),
        ~Causal(),
        Causal() | Window(1, 1),
        Causal(positions=torch.arange(5)),
        Padding(torch.tensor([1, 2])) & Padding(torch.tensor([3, 1])),
        Padding(torch.tensor([1, 2, 3])),
    ],
)
def test_other_masks_are_no_span(mask) -> None:
    assert span(mask, (2, 5, 5), torch.device("cpu")) is None


@pytest.mark.parametrize("queries", [1, 64, 100, 700])
def test_portions_are_equal_whole_blocks(queries, monkeypatch) -> None:
    monkeypatch.setattr(additive_launch, "SCRATCH", 2 * 4 * 2 * 64 * 256)  # 256 queries of two elements
    query, key = torch.ones(2, queries, 4), torch.ones(2, 10, 4)
    call = Call(query, key, torch.ones(1, 4), key, Masking(), None, 0.0)
    assert additive_launch._portion(call, 64) == {1: 1, 64: 64, 100: 100, 700: 256}[queries]


def fresh(shape, dtype, seed, scale=1.0):
    """Draw query, key, vector and value on the GPU; `shape` is (lead, queries, keys, hidden, width)."""
    *lead, queries, keys, hidden, width = shape
    draw = torch.Generator("cuda").manual_seed(seed)

    def normal(*sizes):
        return torch.randn(*sizes, generator=draw, device="cuda")

    heads = (lead[-1],) if len(lead) > 1 else ()
    operands = scale * normal(*lead, queries, hidden), scale * normal(*lead, keys, hidden), normal(*heads, hidden)
    return tuple(tensor.to(dtype) for tensor in (*operands, normal(*lead, keys, width)))


#: (batch, heads, queries, keys, hidden, width): odd, longer than a block, for one compiled kernel.
SHAPES = [(3, 1, 17, 65, 9), (2, 3, 65, 33, 7, 13), (2, 129, 200, 30, 3)]
#: One of everything, and wide values: each is compiled anew.
MORE_SHAPES = [(1, 1, 1, 1, 1), (1, 2, 70, 2, 5, 40), (4, 3, 130, 64, 512)]
MASKS = {
    "none": lambda batch, queries, keys: None,
    "dense": lambda batch, queries, keys: torch.rand(queries, keys, device="cuda") > 0.5,
    "causal": lambda batch, queries, keys: Causal(),
    "padding": lambda batch, queries, keys: Padding(torch.arange(batch, device="cuda") * keys // batch),
    "window": lambda batch, queries, keys: Window(40, 3) & Padding(torch.arange(batch, device="cuda") + keys // 2),
}
TOLERANCE = {torch.float32: 3e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}


def close_by_norm(result, truth, tolerance, name) -> None:
    """Compare by norm, which a few large numbers cannot hide behind, and nowhere far off."""
    assert result.shape == truth.shape, name
    assert result.isfinite().equal(truth.isfinite()), name
    result, truth = result.double().nan_to_num(neginf=0.0), truth.nan_to_num(neginf=0.0)
    near_zero = 1e-5 * truth.numel() ** 0.5
    assert (result - truth).norm() <= tolerance * truth.norm() + near_zero, (
        name,
        (result - truth).norm() / truth.norm(),
    )
    assert (result - truth).abs().max() <= 10 * tolerance * (truth.abs().max() + 0.1), name


def compare_fresh(shape, kind, dtype, seed) -> None:
    """Compare all that the kernels give with float64, and two runs with each other."""
    query, key, vector, value = leaves = [part.requires_grad_() for part in fresh(shape, dtype, seed)]
    exact = [part.detach().double().requires_grad_() for part in leaves]
    mask = MASKS[kind](shape[0], shape[-4], shape[-3])
    result = attention(query, key, value, score=Additive(vector), mask=mask, return_weights=True, backend="triton")
    truth = attention(
        exact[0], exact[1], exact[3], score=Additive(exact[2]), mask=mask, return_weights=True, backend="reference"
    )
    for name, ours, true in zip(("context", "weights", "log"), result, truth, strict=True):
        close_by_norm(ours.detach(), true.detach(), TOLERANCE[dtype], (kind, shape, name))
    arrived = torch.randn_like(result.context)
    gradients = torch.autograd.grad(result.context, leaves, arrived)
    again = torch.autograd.grad(
        attention(query, key, value, score=Additive(vector), mask=mask, backend="triton"), leaves, arrived
    )
    expected = torch.autograd.grad(truth.context, exact, arrived.double())
    for name, ours, same, true in zip(("query", "key", "vector", "value"), gradients, again, expected, strict=True):
        assert torch.equal(ours, same), (kind, shape, name)  # nothing is added in an order that may change
        close_by_norm(ours, true, TOLERANCE[dtype], (kind, shape, name))


@pytest.mark.gpu
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize(
    ("kernels", "kind", "dtype"),
    [
        ("many", "none", torch.bfloat16),
        ("many", "window", torch.float32),
        ("few", "dense", torch.bfloat16),
        ("few", "padding", torch.float32),
    ],
)
def test_on_a_gpu_fresh_numbers_agree_with_float64(kernels, kind, dtype, monkeypatch) -> None:
    monkeypatch.setattr(additive_few, "serves", lambda call: kernels == "few")
    for seed, shape in enumerate(SHAPES):
        compare_fresh(shape, kind, dtype, seed)


@pytest.mark.gpu
@pytest.mark.slow  # kernels are compiled for every precision, mask and width
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("kernels", ["few", "many"])
def test_on_a_gpu_every_mask_and_precision_agrees_with_float64(kernels, kind, dtype, monkeypatch) -> None:
    monkeypatch.setattr(additive_few, "serves", lambda call: kernels == "few")
    for seed, shape in enumerate([*SHAPES, *MORE_SHAPES]):
        compare_fresh(shape, kind, dtype, seed)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("scale", [4.0, 15.0, 60.0])
@pytest.mark.parametrize("small", [0, 1 << 28])
def test_on_a_gpu_large_numbers_agree_with_float64(small, scale, monkeypatch) -> None:
    monkeypatch.setattr(additive_few, "SMALL", small)
    query, key, vector, value = leaves = [
        part.requires_grad_() for part in fresh((2, 70, 90, 24, 8), torch.float32, 3, scale)
    ]
    exact = [part.detach().double().requires_grad_() for part in leaves]
    context = attention(query, key, value, score=Additive(vector), backend="triton")
    truth = attention(exact[0], exact[1], exact[3], score=Additive(exact[2]), backend="reference")
    close_by_norm(context.detach(), truth.detach(), 3e-5, "context")
    gradients = torch.autograd.grad(context.sum(), leaves)
    for ours, true in zip(gradients, torch.autograd.grad(truth.sum(), exact), strict=True):
        close_by_norm(ours, true, 2e-4, scale)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("small", [0, 1 << 28])
def test_on_a_gpu_it_agrees_with_the_reference(small, monkeypatch) -> None:
    monkeypatch.setattr(additive_few, "SMALL", small)
    for name, options, tensors in cases("cuda"):
        compare(name, options, tensors)
    compare_requested(9, "cuda")
    compare_requested(3, "cuda")
    compare_others("cuda")


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.usefixtures("cuda")
def test_on_a_gpu_torch_approves_of_the_operations() -> None:
    check_operations(9, "cuda")
    check_operations(1, "cuda")


@pytest.mark.gpu
@pytest.mark.usefixtures("cuda")
def test_on_a_gpu_it_is_chosen_and_captured_without_waiting() -> None:
    query, key, vector, value = leaves = [
        part.requires_grad_() for part in fresh((8, 1, 30, 32, 32), torch.bfloat16, 1)
    ]
    mask = Padding(torch.full((8,), 20, device="cuda"))
    assert explain_backend(query, key, value, score=Additive(vector), mask=mask).chosen == "triton"

    def step():
        context = attention(query, key, value, score=Additive(vector), mask=mask, dropout=0.5)
        return context, *torch.autograd.grad(context.sum(), leaves)

    with warnings.catch_warnings():  # torch warns that it may miss some
        warnings.simplefilter("ignore")
        torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(2):
            step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    graph.replay()
    first = [result.clone() for result in results]
    graph.replay()
    assert all(result.isfinite().all() for result in results)
    assert not torch.equal(first[0], results[0])  # dropout draws anew at every replay


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.usefixtures("cuda")
def test_on_a_gpu_it_compiles_exports_and_takes_part_in_autocast() -> None:
    leaves = [part.requires_grad_() for part in fresh((2, 9, 20, 16, 24), torch.float32, 1)]

    def attend(query, key, vector, value):
        return attention(query, key, value, score=Additive(vector), mask=Causal())

    truth = attend(*leaves)
    compiled = torch.compile(attend, fullgraph=True)(*leaves)
    torch.testing.assert_close(compiled, truth)
    for ours, true in zip(
        torch.autograd.grad(compiled.sum(), leaves), torch.autograd.grad(truth.sum(), leaves), strict=True
    ):
        torch.testing.assert_close(ours, true)

    class Module(torch.nn.Module):
        def forward(self, query, key, vector, value):
            return attend(query, key, vector, value)

    exported = torch.export.export(Module(), tuple(part.detach() for part in leaves))
    assert "additive_attention" in str(exported.graph)
    torch.testing.assert_close(exported.module()(*(part.detach() for part in leaves)), truth.detach())
    with torch.autocast("cuda", torch.bfloat16):
        half = attend(*leaves)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), truth, atol=0.03, rtol=0.03)


@pytest.mark.gpu
@pytest.mark.usefixtures("cuda")
@pytest.mark.filterwarnings("ignore")  # the profiler's own
@pytest.mark.parametrize(("small", "most"), [pytest.param(0, 7, marks=pytest.mark.slow), (1 << 28, 4)])
def test_on_a_gpu_a_call_is_few_launches(small, most, monkeypatch) -> None:
    monkeypatch.setattr(additive_few, "SMALL", small)
    leaves = [part.requires_grad_() for part in fresh((4, 64, 64, 64, 64), torch.bfloat16, 1)]
    query, key, vector, value = leaves
    mask, arrived = Causal() & Padding(torch.full((4,), 50, device="cuda")), torch.ones_like(value)

    def step():
        torch.autograd.grad(attention(query, key, value, score=Additive(vector), mask=mask), leaves, arrived)

    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    launched = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    cleared = ("memset", "memcpy", "fill")  # a split's sums start at zero where tiles are left out
    launched = [name for name in launched if not any(word in name.lower() for word in cleared)]
    assert 0 < len(launched) <= most, launched
