"""How many operations a call makes beside its kernel: these numbers may fall, and must not grow."""

from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from regard import Causal, Documents, Padding, Sink, Window, attention
from regard.attention import Mask
from regard.attention.prepared import MOST_SHAPES, keep, recall
from regard.layers import FeedForward, MultiHeadAttention, TransformerDecoderBlock, TransformerEncoderBlock
from regard.layers.memory import Memory

LENGTHS = torch.tensor([20, 5])
VIEWS = (torch.ops.aten.detach.default, torch.ops.aten._unsafe_view.default)


class Operations(TorchDispatchMode):
    """Records the operations that are dispatched, views left out, and the largest tensor that any gives.

    `_unsafe_view` is a view too, though not declared as one: torch 2.15 ends each `linear` with it, older ones do not.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.largest = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if not function.is_view and function not in VIEWS:
            self.names.append(str(function))
            items = result if isinstance(result, (tuple, list)) else [result]
            self.largest = max([self.largest, *(item.numel() for item in items if isinstance(item, Tensor))])
        return result


def operations(work: Callable[[], object]) -> Operations:
    """Record the second call: the first makes what is kept."""
    work()
    with Operations() as recorded:
        work()
    return recorded


def differentiated(work: Callable[[], Tensor], tensors: list[Tensor]) -> Callable[[], object]:
    """Take the gradients too, where the tensors want them."""
    if not tensors[0].requires_grad:
        return work

    def forward_and_backward() -> object:
        context = work()
        return torch.autograd.grad(context, tensors, torch.ones_like(context))

    return forward_and_backward


#: By how many operations a call may exceed torch's own with a boolean mask ready: six look for NaN on a CPU, and three
#: of torch's own, which make numbers of the mask, are spared.
MOST_MORE = {"open": 0, "causal": 0, "finite": -3, "padded": 3, "causal, padded": 3, "documents": 3}
MASKS: dict[str, Mask | None] = {
    "open": None,
    "causal": Causal(),
    "padded": Padding(LENGTHS),
    "finite": Padding(LENGTHS, finite=True),
    "causal, padded": Causal() & Padding(LENGTHS),
    "documents": Documents(torch.arange(20) // 7),
}


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_a_call_beside_the_kernel(name: str, trained: bool) -> None:
    inputs = [torch.randn(2, 2, 20, 8, requires_grad=trained) for _ in range(3)]
    mask = MASKS[name]
    dense = None if mask is None or name == "causal" else mask.dense((2, 2, 20, 20))
    theirs = differentiated(
        lambda: F.scaled_dot_product_attention(*inputs, attn_mask=dense, is_causal=name == "causal"), inputs
    )
    ours = differentiated(lambda: attention(*inputs, mask=mask), inputs)
    recorded = operations(ours)
    assert len(recorded.names) - len(operations(theirs).names) <= MOST_MORE[name], recorded.names


def layers() -> dict[str, tuple[torch.nn.Module, Callable[[], Tensor], int, int]]:
    """Name each call, and how many operations it may make, forward and with the gradients of its parameters."""
    x, padding, finite = torch.randn(2, 20, 16), Padding(LENGTHS), Padding(LENGTHS, finite=True)
    own, encoder = MultiHeadAttention(16, 2), TransformerEncoderBlock(MultiHeadAttention(16, 2), FeedForward(16, 32))
    decoder = TransformerDecoderBlock(MultiHeadAttention(16, 2), MultiHeadAttention(16, 2), FeedForward(16, 32))
    return {
        "layer, causal": (own, lambda: own(x, mask=Causal()), 5, 16),
        "layer, padded": (own, lambda: own(x, mask=padding), 7, 18),
        "layer, finite": (own, lambda: own(x, mask=finite), 5, 16),
        "encoder block, finite": (encoder, lambda: encoder(x, mask=finite), 12, 38),
        "encoder block, padded": (encoder, lambda: encoder(x, mask=padding), 15, 43),
        "decoder block": (decoder, lambda: decoder(x, decoder.remember(x, mask=finite)), 19, 58),
    }


@pytest.mark.parametrize("name", layers())
def test_a_layer_and_a_block(name: str) -> None:
    module, call, forward, training = layers()[name]
    with torch.no_grad():
        recorded = operations(call)
    assert len(recorded.names) <= forward, recorded.names
    recorded = operations(differentiated(call, list(module.parameters())))
    assert len(recorded.names) <= training, recorded.names


@pytest.mark.parametrize("options", [{}, {"normalize": Sink(torch.zeros(2))}, {"return_log_normalizer": True}], ids=str)
@pytest.mark.parametrize("mask", [None, Causal(), Padding(torch.tensor([300, 60]))], ids=repr)
def test_no_tensor_of_all_pairs(options: dict[str, Any], mask: Mask | None) -> None:
    inputs = [torch.randn(2, 2, 300, 8, requires_grad=True) for _ in range(3)]

    def work() -> object:
        result = attention(*inputs, mask=mask, **options)
        outputs = [result] if isinstance(result, Tensor) else list(result)
        return torch.autograd.grad(sum(output.sum() for output in outputs), inputs)

    assert operations(work).largest < 300 * 300


# What is kept with a mask


def test_layers_that_share_a_mask_make_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, ...]] = []
    dense = Padding.dense

    def counted(mask: Padding, shape: tuple[int, ...], device: torch.device | None = None) -> Tensor:
        made.append(shape)
        return dense(mask, shape, device)

    monkeypatch.setattr(Padding, "dense", counted)
    blocks = [TransformerEncoderBlock(MultiHeadAttention(16, 2), FeedForward(16, 32)) for _ in range(3)]
    decoders = [
        TransformerDecoderBlock(MultiHeadAttention(16, 2), MultiHeadAttention(16, 2), FeedForward(16, 32))
        for _ in range(3)
    ]
    states, padding = torch.randn(2, 20, 16), Padding(LENGTHS, finite=True)
    for block in blocks:
        states = block(states, mask=padding)
    for decoder in decoders:
        states = decoder(states, decoder.remember(states, mask=padding))
    assert len(made) == 1


def test_what_is_kept_follows_a_tensor_that_is_changed() -> None:
    query, lengths = torch.randn(2, 2, 20, 8), LENGTHS.clone()
    padding = Padding(lengths)
    mask = padding & Causal()
    before = attention(query, query, mask=mask), attention(query, query, mask=padding)
    lengths.copy_(torch.tensor([3, 20]))
    for kept, made, old in zip((mask, padding), (Padding(lengths) & Causal(), Padding(lengths)), before, strict=True):
        torch.testing.assert_close(attention(query, query, mask=kept), attention(query, query, mask=made))
        assert not torch.equal(attention(query, query, mask=kept), old)


def test_little_is_kept_and_copies_keep_nothing() -> None:
    mask = Causal() & Padding(LENGTHS)
    for length in range(5, 30):
        attention(torch.randn(2, 2, length, 8), torch.randn(2, 2, length, 8), mask=mask)
    assert len(mask.__dict__["prepared"]) <= MOST_SHAPES
    device = torch.device("cpu")
    assert recall(mask, (2, 2, 29, 29), device) is not None
    assert recall(copy(mask), (2, 2, 29, 29), device) is None
    assert recall(deepcopy(mask), (2, 2, 29, 29), device) is None
    large = Window(3, 0)
    attention(torch.randn(1, 1, 2100, 2), torch.randn(1, 1, 2100, 2), mask=large)
    assert recall(large, (1, 1, 2100, 2100), device) is None


def test_a_mask_kept_in_inference_mode_serves_training() -> None:
    mask, query = Padding(LENGTHS), torch.randn(2, 2, 20, 8, requires_grad=True)
    with torch.inference_mode():
        attention(query, query, mask=mask)
    (slope,) = torch.autograd.grad(attention(query, query, mask=mask).sum(), query)
    assert slope.isfinite().all()


def test_a_plan_is_made_once_for_each_shape_and_version() -> None:
    """Such as the blocks of FlexAttention, over layers and steps."""
    made: list[tuple[int, ...]] = []

    def plan(mask: Mask, shape: tuple[int, ...], device: torch.device) -> int:
        made.append(shape)
        return len(made)

    lengths, device = LENGTHS.clone(), torch.device("cpu")
    mask = Window(3, 0) & Padding(lengths)
    assert [keep(mask, (2, 1, 20, 20), device, plan) for _ in range(3)] == [1, 1, 1]
    assert keep(mask, (2, 1, 9, 20), device, plan) == 2
    assert keep(Padding(lengths), (2, 1, 20, 20), device, plan) == 3
    lengths.add_(1)
    assert keep(mask, (2, 1, 20, 20), device, plan) == 4
    own = Every(lengths)
    assert [keep(own, (2, 1, 20, 20), device, plan) for _ in range(2)] == [5, 6]


class Every(Padding):
    """A mask of a user's, which may decide by anything: nothing of it is kept."""

    calls = 0

    def dense(self, shape: Any, device: Any = None) -> Tensor:
        Every.calls += 1
        return super().dense(shape, device)


def test_nothing_is_kept_of_a_mask_of_ones_own() -> None:
    query, mask = torch.randn(2, 2, 20, 8), Every(LENGTHS)
    attention(query, query, mask=mask)
    before = Every.calls
    attention(query, query, mask=mask)
    assert Every.calls > before


# Promises


def test_finite_padding_is_a_promise_that_nothing_checks() -> None:
    key = torch.randn(2, 2, 20, 8)
    plain, promising = Padding(LENGTHS), Padding(LENGTHS, finite=True)
    torch.testing.assert_close(attention(key, key, mask=plain), attention(key, key, mask=promising))
    key[1, :, 5:] = torch.nan
    assert attention(torch.zeros(2, 2, 20, 8), key, mask=plain).isfinite().all()


def test_a_layer_that_zeroed_padding_promises_only_what_it_knows() -> None:
    """A tensor beside `Padding` may forbid other keys, whose NaN must stay there."""
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 6, 8)
    others = torch.ones(6, 6, dtype=torch.bool)
    others[:, 2], others[2] = False, False
    clean = layer(x, mask=Padding(torch.tensor([6, 4])) & others)
    x[:, 2] = torch.nan
    spoilt = layer(x, mask=Padding(torch.tensor([6, 4])) & others)
    rows = [0, 1, 3]
    torch.testing.assert_close(spoilt[:, rows], clean[:, rows])
    bias = torch.zeros(6, 6).masked_fill(~others, -torch.inf)
    spoilt = layer(x, mask=Padding(torch.tensor([6, 4])), bias=bias)
    torch.testing.assert_close(spoilt[:, rows], clean[:, rows])


def test_memories_of_one_padding_share_what_is_made_of_it() -> None:
    padding = Padding(LENGTHS)
    memories = [Memory.of(torch.randn(2, 2, 20, 8), torch.randn(2, 2, 20, 8), padding) for _ in range(2)]
    assert all(memory.padding is padding for memory in memories)
    assert all(memory.select(torch.tensor([1, 0])).padding is None for memory in memories)
    assert all(memory.reserve(30).padding is None for memory in memories)
    query = torch.randn(2, 2, 7, 8)
    for memory in memories:
        truth = attention(query, memory.key, memory.value, mask=memory.mask[:, None, None])
        torch.testing.assert_close(attention(query, memory.key, memory.value, mask=memory.allowed(None, 7)), truth)


def test_a_memory_keeps_the_lengths_it_was_made_with() -> None:
    lengths = LENGTHS.clone()
    memory = Memory.of(torch.randn(2, 2, 20, 8), torch.randn(2, 2, 20, 8), Padding(lengths))
    query = torch.randn(2, 2, 7, 8)
    before = attention(query, memory.key, memory.value, mask=memory.allowed(None, 7))
    lengths.copy_(torch.tensor([2, 20]))
    assert memory.padding is not None
    attention(query, memory.key, memory.value, mask=memory.padding)
    torch.testing.assert_close(attention(query, memory.key, memory.value, mask=memory.allowed(None, 7)), before)
