import copy
import pickle

import pytest
import torch
from torch import Tensor

from regard import Padding
from regard.layers import Memory, MultiHeadAttention
from regard.layers.cache import WriteRight, gather, new_buffer

LENGTHS = [[2, 2, 2], [3, 1, 2]]

ragged_or_not = pytest.mark.parametrize("lengths", LENGTHS, ids=["even", "ragged"])
any_heads = pytest.mark.parametrize("heads", [(), (2,)], ids=["no heads", "heads"])


def memory_of(lengths: list[int], heads: tuple[int, ...] = ()) -> Memory:
    key = torch.randn(len(lengths), *heads, max(lengths), 4)
    return Memory.of(key, torch.randn_like(key), Padding(torch.tensor(lengths)))


def seen(memory: Memory) -> list[Tensor]:
    """Give all that the mask lets anyone see, row by row, and the mask."""
    assert memory.mask is not None
    rows = zip(memory.key, memory.value, memory.mask, strict=True)
    parts = [one[..., allowed, :].clone() for key, value, allowed in rows for one in (key, value)]
    return [*parts, memory.mask.clone(), memory.length.clone()]


def where(memory: Memory) -> tuple[int, int]:
    return memory.key.data_ptr(), memory.value.data_ptr()


@ragged_or_not
@any_heads
@torch.no_grad()
def test_appending_writes_into_the_room_there_is(lengths: list[int], heads: tuple[int, ...]) -> None:
    parts = [memory_of([1, 1, 1], heads) for _ in range(4)]
    start = memory_of(lengths, heads).reserve(8)
    first = start.append(parts[0])
    assert where(first) != where(start)  # what was reserved may be anyone's: it is copied once
    grown, known = first, max(lengths) + 1 if len(set(lengths)) == 1 else None
    for number, part in enumerate(parts[1:]):
        grown = grown.append(part, filled=None if known is None else known + number)
        assert where(grown) == where(first)
    with torch.enable_grad():
        copied = start
        for part in parts:
            copied = copied.append(part)
    for found, expected in zip(seen(grown), seen(copied), strict=True):
        assert torch.equal(found, expected)


@ragged_or_not
@any_heads
@torch.no_grad()
def test_two_continuations_of_one_memory_do_not_disturb_each_other(lengths: list[int], heads: tuple[int, ...]) -> None:
    one, left, right = memory_of([1] * 3, heads), memory_of([1] * 3, heads), memory_of([2] * 3, heads)
    shared = memory_of(lengths, heads).reserve(8).append(one)
    before = seen(shared)
    first = shared.append(left)
    second = shared.append(right)
    third = first.append(right)
    assert where(first) == where(shared) == where(third)
    assert where(second) != where(shared)
    assert all(map(torch.equal, seen(shared), before))
    with torch.enable_grad():
        expected = [shared.append(left), shared.append(right), shared.append(left).append(right)]
    for found, wanted in zip((first, second, third), expected, strict=True):
        assert all(map(torch.equal, seen(found), seen(wanted)))


@torch.no_grad()
def test_what_is_selected_is_a_copy_with_room_of_its_own() -> None:
    memory, more = memory_of([2, 2, 2], (2,)).reserve(6).append(memory_of([1, 1, 1], (2,))), memory_of([1, 1, 1], (2,))
    rows = torch.tensor([2, 0, 0])
    chosen = memory.select(rows)
    before = seen(memory)
    grown = chosen.append(more)
    assert where(grown) == where(chosen) != where(memory)
    assert all(map(torch.equal, seen(memory), before))
    assert torch.equal(chosen.key[..., :3, :], memory.key[rows][..., :3, :])
    assert torch.equal(memory.select(rows, filled=3).value[..., :3, :], chosen.value[..., :3, :])
    larger = grown.reserve(9)
    assert larger.capacity == 9
    assert all(map(torch.equal, seen(larger)[:6], seen(grown)[:6]))
    assert where(larger.append(more)) == where(larger)


@torch.no_grad()
def test_a_memory_that_was_taken_back_is_copied() -> None:
    memory = memory_of([2, 2], (2,)).reserve(6).append(memory_of([1, 1], (2,)))
    assert memory.mask is not None
    before = seen(memory)
    back = memory._replace(length=memory.length - 1, mask=memory.mask & (torch.arange(6) < 2))
    again = back.append(memory_of([1, 1], (2,)))
    assert where(again) != where(memory)
    assert all(map(torch.equal, seen(memory), before))
    assert where(memory.append(memory_of([1, 1], (2,)))) == where(memory)


def test_autograd_sees_no_writing() -> None:
    with torch.no_grad():
        memory = memory_of([2, 2]).reserve(6).append(memory_of([1, 1]))
    new = torch.ones(2, 1, 4, requires_grad=True)
    grown = memory.append(Memory.of(new, new))
    assert where(grown) != where(memory)
    assert grown.select(torch.tensor([1, 0])).reserve(7).key.requires_grad
    grown.key.sum().backward()
    assert new.grad is not None


def test_inference_mode_may_be_left() -> None:
    with torch.inference_mode():
        memory = memory_of([2, 2]).reserve(6).append(memory_of([1, 1]))
        assert where(memory.append(memory_of([1, 1]))) == where(memory)
        memory = memory_of([2, 2]).reserve(6).append(memory_of([1, 1]))
    with torch.no_grad():
        grown = memory.append(memory_of([1, 1]))
        assert where(grown) != where(memory)
        assert where(grown.append(memory_of([1, 1]))) == where(grown)


@torch.no_grad()
def test_copies_have_room_of_their_own() -> None:
    memory = memory_of([2, 2], (2,)).reserve(6).append(memory_of([1, 1], (2,)))
    for twin in (copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        before = seen(memory)
        twin.append(memory_of([1, 1], (2,)))
        assert where(twin) != where(memory)
        assert all(map(torch.equal, seen(memory), before))


def test_a_right_is_good_once_and_for_its_own_tensors() -> None:
    key, value, length = torch.zeros(1, 2, 3), torch.zeros(1, 2, 3), torch.tensor([1])
    right = WriteRight(key, value, length)
    assert not right.take(key.clone(), value, length)
    assert right.take(key, value, length)
    assert not right.take(key, value, length)


@torch.no_grad()
def test_a_buffer_holds_places_side_by_side() -> None:
    held = torch.randn(3, 2, 5, 4)
    buffer = new_buffer(held, capacity=7, filled=5)
    assert buffer.shape == (3, 2, 7, 4)
    assert buffer.movedim(-2, 1).is_contiguous()
    assert torch.equal(buffer[..., :5, :], held)
    rows = torch.tensor([1, 1])
    assert torch.equal(gather(held, rows), held[rows])
    assert torch.equal(gather(buffer[..., :5, :], rows), held[rows])


def test_what_padding_holds_is_harmless_from_the_start() -> None:
    layer = MultiHeadAttention(8, 2)
    x = torch.randn(2, 3, 8)
    spoilt = x.masked_fill(torch.tensor([[False] * 3, [False, True, True]])[..., None], torch.nan)
    memory, clean = (layer.remember(one, mask=Padding(torch.tensor([3, 1]))) for one in (spoilt, x))
    assert memory.key.isfinite().all()
    torch.testing.assert_close(layer(x, memory), layer(x, clean))
    with torch.no_grad():
        grown = memory.reserve(5).append(layer.remember(x[:, :1]))
        grown.key[:, :, 4:] = torch.nan  # what nobody has written may hold anything
        grown.value[:, :, 4:] = torch.nan
        assert layer(x[:, :1], grown).isfinite().all()
