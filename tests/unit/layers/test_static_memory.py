"""The cache of one shape: what a step writes into it, and tables of rows beside the memory that grows and is copied."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import Attended, Rotary, Sparsemax, layers
from regard.layers.attention_layer import attend_causally, empty_memory
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.layers.static_memory import StaticMemory
from regard.models.sequence.transformer_state import StaticState
from unit.layers.table_kernel import TableKernel, stand_in

ROWS, SIZE, CAPACITY = 6, 32, 7


class MeanOfKeys(MultiHeadAttention):
    """Inherits that it finds keys by a table, but reads them otherwise."""

    def forward(self, query: Tensor, memory: Memory | None = None, **options: Any) -> Tensor | Attended:  # type: ignore[override]
        assert memory is not None
        inside = torch.ones(1, memory.capacity) if memory.mask is None else memory.mask
        mean = (memory.key * inside[:, None, :, None]).sum(2) / inside.sum()
        return query + mean.flatten(1).unsqueeze(1)


LAYERS = {
    "plain": lambda: MultiHeadAttention(SIZE, 2),
    "rotary": lambda: MultiHeadAttention(SIZE, 2, position=Rotary()),
    "grouped": lambda: MultiHeadAttention(SIZE, 4, num_key_value_heads=2),
    "sparse": lambda: MultiHeadAttention(SIZE, 2, normalize=Sparsemax()),
    "additive": lambda: layers.AdditiveAttention(SIZE, SIZE, 8),
    "subclass": lambda: MeanOfKeys(SIZE, 2),
}


def begin(layer: nn.Module, rows: int = ROWS) -> tuple[Memory, StaticState]:
    """Give the memory that grows and the state of one shape, both empty."""
    nothing = torch.zeros(rows, 0, SIZE)
    memory = empty_memory(layer, nothing, CAPACITY)
    return memory, StaticState.from_empty([empty_memory(layer, nothing, 0)], CAPACITY)


def step(layer: nn.Module, x: Tensor, state: StaticState) -> tuple[Tensor, StaticState]:
    opened = state.with_capacity(x.size(1))
    result, memory, _ = attend_causally(layer, x, opened.blocks[0])
    return result, state.after([memory], x.size(1))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("reordered", [False, True])
@torch.no_grad()
def test_steps_give_what_the_memory_that_grows_gives(name: str, reordered: bool) -> None:
    layer = LAYERS[name]()
    usual, static = begin(layer)
    for number in range(CAPACITY):
        if reordered and number:
            rows = torch.randint(ROWS, (ROWS,))
            usual, static = usual.select(rows), static.select(rows)
        x = torch.randn(ROWS, 1, SIZE)
        expected, usual, _ = attend_causally(layer, x, usual)
        received, static = step(layer, x, static)
        torch.testing.assert_close(received, expected)
        assert static.length.tolist() == [number + 1]


@torch.no_grad()
def test_several_tokens_at_a_time() -> None:
    layer = MultiHeadAttention(SIZE, 2)
    usual, static = begin(layer)
    for count in (2, 1, 3):
        rows = torch.randint(ROWS, (ROWS,))
        usual, static = usual.select(rows), static.select(rows)
        x = torch.randn(ROWS, count, SIZE)
        expected, usual, _ = attend_causally(layer, x, usual)
        received, static = step(layer, x, static)
        torch.testing.assert_close(received, expected)
    assert static.length.tolist() == [6]


@torch.no_grad()
def test_no_key_moves_while_the_number_of_rows_stays() -> None:
    layer = MultiHeadAttention(SIZE, 2)
    _, state = begin(layer)
    _, state = step(layer, torch.randn(ROWS, 1, SIZE), state)
    addresses = [item.data_ptr() for item in state.caches[0][:2]]
    before = state.caches[0].key.clone()
    for _ in range(3):
        _, state = step(layer, torch.randn(ROWS, 1, SIZE), state.select(torch.randint(ROWS, (ROWS,))))
    assert [item.data_ptr() for item in state.caches[0][:2]] == addresses
    assert torch.equal(state.caches[0].key[:, 0], before[:, 0])
    assert state.caches[0].key[:, 4:].abs().sum() == 0
    fewer = state.select(torch.tensor([4, 1]))
    assert (fewer.rows, fewer.table, fewer.capacity) == (2, None, CAPACITY)
    assert fewer.caches[0].key.data_ptr() not in addresses


@torch.no_grad()
def test_more_capacity_and_other_rows_go_on_alike() -> None:
    layer = MultiHeadAttention(SIZE, 2)
    usual, state = begin(layer)
    for rows, capacity in ((torch.arange(ROWS), 7), (torch.tensor([1, 1, 5, 0]), 9), (torch.tensor([3, 0, 2, 1]), 12)):
        usual, state = usual.select(rows).reserve(capacity), state.select(rows).fixed(capacity)
        assert (state.rows, state.capacity, state.table) == (len(rows), capacity, None)
        x = torch.randn(len(rows), 1, SIZE)
        expected, usual, _ = attend_causally(layer, x, usual)
        received, state = step(layer, x, state)
        torch.testing.assert_close(received, expected)


def test_an_empty_state_takes_no_memory_until_it_is_written() -> None:
    _, state = begin(MultiHeadAttention(SIZE, 2), rows=1000)
    assert state.caches[0].key.untyped_storage().nbytes() == 4
    assert state.caches[0].key.shape == (1000, CAPACITY, 2, SIZE // 2)


def test_the_device_alone_knows_its_length() -> None:
    _, state = begin(MultiHeadAttention(SIZE, 2))
    (memory,) = state.with_capacity(1).blocks
    assert memory.common_length() is None
    assert memory.next_positions(1).tolist() == [0]
    assert memory.gathered() is memory, "without a table every key lies in its own row"


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> TableKernel:
    return stand_in(monkeypatch)


def run(layer: nn.Module, *, steps: int = 3) -> None:
    """Compare some steps with the memory that grows."""
    usual, static = begin(layer)
    for _ in range(steps):
        rows, x = torch.randint(ROWS, (ROWS,)), torch.randn(ROWS, 1, SIZE)
        usual, static = usual.select(rows), static.select(rows)
        expected, usual, _ = attend_causally(layer, x, usual)
        received, static = step(layer, x, static)
        torch.testing.assert_close(received, expected)


@torch.no_grad()
def test_the_kernel_reads_keys_where_they_lie(kernel: TableKernel) -> None:
    run(MultiHeadAttention(SIZE, 2).eval())
    assert kernel.calls == 3


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "plain"])
@torch.no_grad()
def test_what_the_kernel_does_not_compute_is_gathered(name: str, kernel: TableKernel) -> None:
    run(LAYERS[name]().eval())
    assert not kernel.calls


@pytest.mark.parametrize("of_layer", [False, True])
@torch.no_grad()
def test_a_hook_sees_the_keys_that_are_attended_to(of_layer: bool, kernel: TableKernel) -> None:
    layer, shown = MultiHeadAttention(SIZE, 2).eval(), []

    def see(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        shown.append((arguments[1].key if of_layer else arguments[1]).clone())

    (layer if of_layer else layer.attend).register_forward_pre_hook(see)
    usual, static = begin(layer)
    for number in range(4):
        rows, x = torch.randint(ROWS, (ROWS,)), torch.randn(ROWS, 1, SIZE)
        usual, static = usual.select(rows), static.select(rows)
        _, usual, _ = attend_causally(layer, x, usual)
        shown.clear()
        step(layer, x, static)
        _, static = step(layer, x, static)
        torch.testing.assert_close(shown[0][:, :, : number + 1], usual.key[:, :, : number + 1])
    assert not kernel.calls


def test_with_gradients_and_dropout_it_is_gathered(kernel: TableKernel) -> None:
    layer = MultiHeadAttention(SIZE, 2, dropout=0.5)
    query = torch.randn(2, 2, 1, 16)
    held, mask, table = (
        torch.randn(2, 2, 3, 16),
        torch.ones(1, 3, dtype=torch.bool),
        torch.zeros(2, 3, dtype=torch.long),
    )
    assert layer.attend.eval().by_table(query, held, held, mask, table) is None, "a gradient may be wanted"
    with torch.no_grad():
        assert layer.attend.by_table(query, held, held, mask, table) is not None
        assert layer.attend.train().by_table(query, held, held, mask, table) is None
        assert layer.attend.eval().by_table(query.double(), held, held, mask, table) is None


def test_a_step_writes_its_positions_alone() -> None:
    key = torch.zeros(2, 3, 4)
    length, new = torch.tensor([2]), torch.tensor([1])
    memory = StaticMemory(key, key.clone(), torch.tensor([[True, True, False]]), length, new=new)
    after = memory.append(Memory.of(torch.ones(2, 1, 4), torch.ones(2, 1, 4)))
    assert after is memory
    assert memory.key.sum(-1).tolist() == [[0, 4, 0], [0, 4, 0]]
