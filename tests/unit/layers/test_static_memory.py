"""The cache of one shape: what a step writes into it, and what the memory that grows would give."""

import torch

from regard.layers.attention_layer import attend_causally, empty_memory
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.layers.static_memory import StaticMemory


@torch.no_grad()
def test_steps_give_what_the_memory_that_grows_gives_and_write_in_place() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2)
    usual = empty_memory(layer, torch.zeros(3, 0, 8), 4)
    static = StaticMemory.from_empty(empty_memory(layer, torch.zeros(3, 0, 8), 0), 6)
    buffers = static.key.data_ptr(), static.value.data_ptr()
    for number in range(6):
        x = torch.randn(3, 1, 8)
        usual = usual.reserve(6) if number == 4 else usual
        expected, usual, _ = attend_causally(layer, x, usual)
        received, after, _ = attend_causally(layer, x, static)
        assert isinstance(after, StaticMemory)
        static = after
        torch.testing.assert_close(received, expected)
        assert (static.key.data_ptr(), static.value.data_ptr()) == buffers
        assert static.length.tolist() == [number + 1]
        assert static.common_length() is None, "the device alone knows"


def test_rows_are_copied_and_capacity_added_without_touching_the_first() -> None:
    first = StaticMemory.from_empty(Memory.of(torch.ones(2, 0, 4), torch.ones(2, 0, 4)), 2)
    first = first.append(Memory.of(torch.arange(2.0)[:, None, None].expand(2, 1, 4), torch.ones(2, 1, 4)))
    second = first.select(torch.tensor([1, 1, 0])).reserve(5)
    assert second.key[:, 0, 0].tolist() == [1.0, 1.0, 0.0]
    assert (second.capacity, second.length.tolist(), second.mask.tolist()) == (5, [1], [[True, *[False] * 4]])
    second = second.append(Memory.of(torch.full((3, 1, 4), 7.0), torch.ones(3, 1, 4)))
    assert first.key[:, 1].abs().sum() == 0
    assert second.next_positions(2).tolist() == [2, 3]
