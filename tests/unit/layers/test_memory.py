import pytest
import torch
from torch import Tensor

from regard import Causal, Documents, Padding, Window, layers
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers import Memory, MultiHeadAttention
from regard.layers.memory import leaves_positions_open, put_at


def memory_of(*lengths: int, heads: int | None = None, mask: Tensor | None = None) -> Memory:
    """Make a memory whose keys are 10 · row + place, padded to the longest."""
    longest = max(lengths)
    key = (torch.arange(longest) + 10 * torch.arange(len(lengths))[:, None]).float()[..., None]
    key = key if heads is None else key[:, None].expand(-1, heads, -1, -1)
    return Memory.of(key, -key, Padding(torch.tensor(lengths)) if mask is None else mask)


def test_a_full_memory_has_no_mask() -> None:
    memory = Memory.of(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))
    assert memory.mask is None
    assert memory.length.tolist() == [3, 3]
    assert memory.capacity == 3
    assert memory.reserve(3) is memory
    assert memory.true_length().tolist() == [3, 3]


def test_padding_says_where_the_next_key_goes_and_a_boolean_mask_does_not() -> None:
    assert memory_of(3, 1).length.tolist() == [3, 1]
    mask = torch.tensor([[True, True, True], [False, True, True]])
    memory = memory_of(3, 3, mask=mask)
    assert memory.length.tolist() == [3, 3]
    assert memory.true_length().tolist() == [3, 2]
    assert Memory.of(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4), Padding(torch.tensor(2))).length.tolist() == [2, 2]


@pytest.mark.parametrize("heads", [None, 2])
def test_appending_puts_each_key_behind_the_last(heads: int | None) -> None:
    memory = memory_of(3, 1, heads=heads).reserve(5)
    assert memory.next_positions(2).tolist() == [[3, 4], [1, 2]]
    memory = memory.append(memory_of(2, 2, heads=heads))
    assert memory.length.tolist() == [5, 3]
    assert memory.mask is not None
    assert memory.mask.int().tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    key = memory.key if heads is None else memory.key[:, 1]
    assert key[0, :, 0].tolist() == [0, 1, 2, 0, 1]
    assert key[1, :3, 0].tolist() == [10, 10, 11]
    assert torch.equal(memory.value, -memory.key)


def test_appending_padding_leaves_room_to_write_over_it() -> None:
    memory = memory_of(1, 1).reserve(4).append(memory_of(2, 1)).append(memory_of(1, 1))
    assert memory.length.tolist() == [4, 3]
    assert memory.key[1, :3, 0].tolist() == [10, 10, 10]
    assert memory.mask is not None
    assert memory.mask.int().tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]


def test_appending_a_hole_keeps_it() -> None:
    hole = Memory.of(torch.zeros(2, 2, 1), torch.zeros(2, 2, 1), torch.tensor([[True, False], [True, True]]))
    memory = memory_of(1, 1).reserve(3).append(hole)
    assert memory.mask is not None
    assert memory.mask.int().tolist() == [[1, 1, 0], [1, 1, 1]]
    assert memory.length.tolist() == [3, 3]


def test_appending_is_differentiable() -> None:
    old, new = torch.ones(1, 2, 1, requires_grad=True), torch.ones(1, 1, 1, requires_grad=True)
    memory = Memory.of(old, old).reserve(4).append(Memory.of(new, new))
    (memory.key * torch.tensor([1.0, 2.0, 3.0, 4.0])[:, None]).sum().backward()
    assert old.grad is not None
    assert new.grad is not None
    assert old.grad.flatten().tolist() == [1, 2]
    assert new.grad.flatten().tolist() == [3]


def test_selecting_reorders_and_repeats() -> None:
    memory = memory_of(3, 1).select(torch.tensor([1, 1, 0]))
    assert memory.length.tolist() == [1, 1, 3]
    assert memory.key[:, 0, 0].tolist() == [10, 10, 0]
    assert Memory.of(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)).select(torch.tensor([1])).mask is None


def test_room_must_be_made_first() -> None:
    full = Memory.of(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4))
    message = r"capacity of 4 keys; received one of 3. Reserve before appending: memory.reserve\(4\)\."
    with pytest.raises(ArgumentError, match=message):
        full.append(full.select(torch.tensor([0, 1]))._replace(key=full.key[:, :1], value=full.value[:, :1]))
    with pytest.raises(ArgumentError, match="capacity of 7 keys; received one of 6"):
        memory_of(4, 1).reserve(6).append(memory_of(3, 3))
    with pytest.raises(ArgumentError, match="`capacity` must be at least what the memory holds, 3; received 2"):
        full.reserve(2)


@pytest.mark.usefixtures("unchecked")
def test_a_mask_of_the_memory_speaks_of_keys() -> None:
    key = torch.zeros(2, 3, 4)
    with pytest.raises(ArgumentError, match=r"shape \(batch, key\) = \(2, 3\); received \(3, 3\)"):
        Memory.of(key, key, torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(ArgumentError, match=r"`lengths` of Padding must speak of the batch, 2; received \(3,\)"):
        Memory.of(key, key, Padding(torch.tensor([1, 2, 3])))


@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_depends_on_the_query_goes_to_the_call() -> None:
    key = torch.zeros(2, 3, 4)
    with pytest.raises(ArgumentError, match=r"received Causal. A mask that depends on the query goes to the call"):
        Memory.of(key, key, Causal())  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="`mask` must be boolean"):
        Memory.of(key, key, torch.ones(2, 3))


def test_queries_stand_at_the_last_keys() -> None:
    assert Memory.of(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)).locate(2) is None
    ragged = memory_of(3, 1)
    assert ragged.locate(3) is None
    places = ragged.reserve(5).locate(1)
    assert places is not None
    assert places.tolist() == [[2], [0]]
    with pytest.raises(ArgumentError, match=r"`query_positions` must say where the 2 queries stand among 5 positions"):
        ragged.reserve(5).locate(2)


def test_joins_masks() -> None:
    memory = memory_of(3, 1, heads=2)
    assert Memory.of(memory.key, memory.value).allowed(None, 3) is None
    own = memory.allowed(None, 3)
    assert own is not None
    assert own.dense((2, 2, 3, 3)).shape == (2, 1, 1, 3)
    per_example = torch.rand(2, 3, 3) > 0.5
    joined = memory.allowed(per_example, 3)
    assert joined is not None
    expected = per_example[:, None] & (torch.arange(3) < torch.tensor([3, 1])[:, None])[:, None, None]
    assert torch.equal(joined.dense((2, 2, 3, 3)), expected)
    causal = memory.reserve(5).allowed(Causal() | ~Window(0, 0), 1)
    assert causal is not None
    assert causal.dense((2, 2, 1, 5)).squeeze((1, 2)).int().tolist() == [[1, 1, 1, 0, 0], [1, 0, 0, 0, 0]]


def test_puts_every_mask_that_leaves_it_open_at_its_place() -> None:
    places = torch.tensor([[2]])
    for mask in (Causal(), Window(1, 0), Causal() & Window(1, None), Causal() | Window(0, 0), ~Causal()):
        assert leaves_positions_open(mask)
        assert not leaves_positions_open(put_at(mask, places))
    for mask in (Causal(align="start"), Causal(positions=places), Documents(torch.tensor([0, 1])), ~Padding(places[0])):
        assert not leaves_positions_open(mask)
        assert put_at(mask, places).dense((1, 1, 2) if not isinstance(mask, Documents) else (2, 2)).shape


@pytest.mark.compiled
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@torch.no_grad()
def test_a_compiled_step_is_compiled_once(backend: str) -> None:
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8)

    def step(x: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        places = memory.next_positions(x.size(1))
        memory = memory.append(layer.remember(x))
        return layer(x, memory, mask=Causal(), query_positions=places), memory

    torch.compiler.reset()
    compiled = torch.compile(step, fullgraph=True, backend=backend)
    memory = layer.remember(x[:, :0]).reserve(8)
    found = []
    output, memory = compiled(x[:, :1], memory)
    found.append(output)
    with torch.compiler.set_stance("fail_on_recompile"):
        for place in range(1, 5):
            output, memory = compiled(x[:, place : place + 1], memory)
            found.append(output)
    torch.testing.assert_close(torch.cat(found, 1), layer(x, mask=Causal()), atol=1e-6, rtol=1e-5)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "layer", [layers.MultiHeadAttention(8, 2), layers.AdditiveAttention(8, 8, 4), layers.LuongAttention(8, 8)]
)
def test_keys_are_not_a_memory(layer: torch.nn.Module) -> None:
    message = r"`memory` must be a Memory; received Tensor. Keys and values are projected once: layer"
    with pytest.raises(ArgumentTypeError, match=message):
        layer(torch.zeros(1, 2, 8), torch.zeros(1, 3, 8))
