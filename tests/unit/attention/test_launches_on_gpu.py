"""What a call starts on a CUDA device beside its kernel: launches are counted, waits forbidden, all of it captured."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import Causal, Documents, Padding, Sink, attention, explain_backend
from regard.layers import FeedForward, MultiHeadAttention, TransformerDecoderBlock, TransformerEncoderBlock

pytestmark = pytest.mark.gpu


def launches(work: Callable[[], object]) -> int:
    """Count the kernels of the second call: the first makes what is kept."""
    work()
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's profiler speaks of cycles, which are not used here
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            work()
            torch.cuda.synchronize()
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events())


def draw(device: torch.device, *shape: int) -> Tensor:
    return torch.randn(shape, device=device, dtype=torch.bfloat16)


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize(
    ("kind", "more", "more_backward"),
    [("causal", 0, 0), ("finite", 0, 0), ("padded", 3, 9)],
)
def test_launches_beside_the_kernel(
    kind: str, more: int, more_backward: int, trained: bool, cuda: torch.device
) -> None:
    query, key, value = (draw(cuda, 8, 4, 64, 64).requires_grad_(trained) for _ in range(3))
    lengths = torch.randint(1, 65, (8,), device=cuda)
    mask = {"causal": Causal(), "padded": Padding(lengths), "finite": Padding(lengths, finite=True)}[kind]
    bias = torch.zeros(8, 1, 1, 64, device=cuda, dtype=torch.bfloat16)

    def theirs() -> object:
        mask = {"is_causal": True} if kind == "causal" else {"attn_mask": bias}
        context = F.scaled_dot_product_attention(query, key, value, **mask)  # type: ignore[arg-type]
        return torch.autograd.grad(context, (query, key, value), context) if trained else context

    def ours() -> object:
        context = attention(query, key, value, mask=mask)
        return torch.autograd.grad(context, (query, key, value), context) if trained else context

    assert launches(ours) - launches(theirs) <= (more_backward if trained else more)


def layers(device: torch.device) -> dict[str, tuple[nn.Module, Callable[..., Tensor]]]:
    own, encoder = MultiHeadAttention(64, 4), TransformerEncoderBlock(MultiHeadAttention(64, 4), FeedForward(64, 128))
    decoder = TransformerDecoderBlock(MultiHeadAttention(64, 4), MultiHeadAttention(64, 4), FeedForward(64, 128))
    for module in (own, encoder, decoder):
        module.to(device=device, dtype=torch.bfloat16)
    return {
        "causal": (own, lambda x, lengths: own(x, mask=Causal())),
        "padded": (own, lambda x, lengths: own(x, mask=Padding(lengths))),
        "both": (own, lambda x, lengths: own(x, mask=Causal() & Padding(lengths))),
        "memory": (own, lambda x, lengths: own(x, own.remember(x, mask=Padding(lengths)))),
        "encoder": (encoder, lambda x, lengths: encoder(x, mask=Padding(lengths))),
        "encoder, finite": (encoder, lambda x, lengths: encoder(x, mask=Padding(lengths, finite=True))),
        "decoder": (decoder, lambda x, lengths: decoder(x, decoder.remember(x, mask=Padding(lengths)))),
    }


@pytest.mark.parametrize("name", ["causal", "padded", "both", "memory", "encoder", "encoder, finite", "decoder"])
def test_no_call_waits_and_a_graph_can_be_captured(name: str, cuda: torch.device) -> None:
    """A graph runs again with other numbers and lengths: what was made of a mask must not stay behind."""
    module, call = layers(cuda)[name]
    parameters = list(module.parameters())
    x, lengths = draw(cuda, 8, 32, 64), torch.randint(1, 33, (8,), device=cuda)

    def step() -> tuple[Tensor, ...]:
        output = call(x, lengths)
        return output, *torch.autograd.grad(output.float().square().sum(), parameters)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls the mode a prototype, and speaks of streams
        try:
            torch.cuda.set_sync_debug_mode("error")
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                step()
                step()
            torch.cuda.current_stream().wait_stream(side)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = step()
        x.copy_(draw(cuda, 8, 32, 64))
        lengths.copy_(torch.randint(1, 33, (8,), device=cuda))
        graph.replay()
        truth = step()
    for result, expected in zip(captured, truth, strict=True):
        torch.testing.assert_close(result, expected, atol=0.05, rtol=0.05)


def test_a_mask_made_before_a_capture_follows_its_lengths(cuda: torch.device) -> None:
    x, lengths = draw(cuda, 4, 2, 32, 16), torch.tensor([32, 20, 7, 1], device=cuda)
    mask = Padding(lengths)
    results = []
    attention(x, x, mask=mask)
    for _ in range(2):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results.append((graph, attention(x, x, mask=mask)))
    lengths.copy_(torch.tensor([3, 32, 8, 9], device=cuda))
    for graph, result in results:
        graph.replay()
        torch.testing.assert_close(result, attention(x, x, mask=Padding(lengths)))


@pytest.mark.parametrize("length", [64, 1024])
@pytest.mark.parametrize("given", ["documents", "tensor"])
def test_rows_without_a_key_are_zero_by_every_kernel(length: int, given: str, cuda: torch.device) -> None:
    """Of a boolean mask cuDNN's kernel makes a bias of finite numbers, and gives a mean of the values."""
    inputs = [draw(cuda, 2, 4, length, 64).requires_grad_() for _ in range(3)]
    ids = torch.arange(length, device=cuda).expand(2, -1) // (length // 4) - 1
    mask: Any = Documents(ids, ids.abs())
    mask = mask if given == "documents" else mask.dense((2, 4, length, length), cuda)
    for _ in range(2):
        context = attention(*inputs, mask=mask)
        gradients = torch.autograd.grad(context.float().square().sum(), inputs)
        assert not context[:, :, : length // 4].any()
        assert not gradients[0][:, :, : length // 4].any()
        assert all(gradient.isfinite().all() for gradient in gradients)
        truth = attention(*inputs, mask=mask, backend="reference")
        torch.testing.assert_close(context.float(), truth.float(), atol=0.03, rtol=0.03)


@pytest.mark.parametrize("shape", [(2, 2, 24, 16), (2, 2, 24, 20), (2, 2, 300, 64)], ids=str)
@pytest.mark.parametrize("kind", ["causal", "padded", "open"])
def test_second_derivatives(shape: tuple[int, ...], kind: str, cuda: torch.device) -> None:
    """By torch's kernels of all widths, for half precision too."""
    inputs = [draw(cuda, *shape).requires_grad_() for _ in range(3)]
    lengths = torch.tensor([shape[2], 5], device=cuda)
    mask = {"causal": Causal(), "padded": Padding(lengths), "open": None}[kind]
    results = []
    for backend in (None, "reference"):
        context = attention(*inputs, mask=mask, backend=backend)
        slopes = torch.autograd.grad(context.float().square().sum(), inputs, create_graph=True)
        again = torch.autograd.grad(sum(slope.float().square().sum() for slope in slopes), inputs)
        results.append([context, *slopes, *again])
    for result, truth in zip(*results, strict=True):
        scale = max(1.0, float(truth.detach().float().abs().max()))
        torch.testing.assert_close(result.float(), truth.float(), atol=0.05 * scale, rtol=0)


@pytest.mark.parametrize(("length", "kernel"), [(64, "memory-efficient"), (1024, "cuDNN")])
def test_the_choice_is_named(length: int, kernel: str, cuda: torch.device) -> None:
    """Few tokens go to the memory-efficient kernel, many to what torch prefers."""
    inputs = [draw(cuda, 4, 8, length, 64) for _ in range(3)]
    for mask in (Causal(), Padding(torch.full((4,), length - 3, device=cuda)), None):
        report = explain_backend(*inputs, mask=mask)
        assert report.chosen == "sdpa"
        assert report.kernel == kernel
        assert f"sdpa       chosen: torch's {kernel} kernel" in str(report)


@pytest.mark.parametrize("kind", ["causal", "padded"])
@pytest.mark.parametrize("length", [50, 300])
def test_sinks_and_log_normalizers_of_the_kernels(length: int, kind: str, cuda: torch.device) -> None:
    """Context, sink and log normalizer with all gradients, by the kernel's own log normalizer."""
    inputs, sink = [draw(cuda, 3, 4, length, 64).requires_grad_() for _ in range(3)], torch.randn(4, device=cuda)
    sink.requires_grad_()
    lengths = torch.tensor([length, length // 2, 0], device=cuda)
    mask = Causal() if kind == "causal" else Padding(lengths)
    results = []
    for backend in ("sdpa", "reference"):
        context = attention(*inputs, mask=mask, normalize=Sink(sink), backend=backend)
        partial = attention(*inputs, mask=mask, return_log_normalizer=True, backend=backend)
        log = partial.log_normalizer.masked_fill(partial.log_normalizer == -torch.inf, 0.0)
        loss = context.float().square().sum() + log.square().sum() + partial.context.float().sum()
        results.append([context, partial.context, partial.log_normalizer, *torch.autograd.grad(loss, [*inputs, sink])])
    for result, truth in zip(*results, strict=True):
        finite = truth.isfinite()
        assert torch.equal(result[~finite], truth[~finite])
        scale = max(1.0, float(truth[finite].detach().float().abs().max()))
        torch.testing.assert_close(result[finite].float(), truth[finite].float(), atol=0.05 * scale, rtol=0)


def test_weights_on_request_are_those_of_the_reference(cuda: torch.device) -> None:
    for width in (64, 48):
        inputs = [draw(cuda, 2, 4, 100, width) for _ in range(3)]
        for mask in (Causal(), None, Padding(torch.tensor([100, 0], device=cuda))):
            result = attention(*inputs, mask=mask, return_weights=True)
            truth = attention(*inputs, mask=mask, return_weights=True, backend="reference")
            torch.testing.assert_close(result.weights, truth.weights, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(result.log_normalizer, truth.log_normalizer, atol=1e-4, rtol=1e-4)


def test_large_tensors_are_zeroed_by_words(cuda: torch.device) -> None:
    inputs = [draw(cuda, 2, 16, 4096, 64).requires_grad_() for _ in range(3)]
    lengths = torch.tensor([4096, 1000], device=cuda)
    with torch.no_grad():
        for tensor in inputs[1:]:
            tensor[1, :, 1000:] = torch.nan
    context = attention(*inputs, mask=Padding(lengths))
    gradients = torch.autograd.grad(context.float().sum(), inputs)
    assert context.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[1][1, :, 1000:].any()
