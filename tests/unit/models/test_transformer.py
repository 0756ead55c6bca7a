from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.config.model import TransformerSpec
from regard.errors import ArgumentError
from regard.models import TransformerModel, build_model
from regard.models.sequence.transformer import CAPACITY

LENGTHS = torch.tensor([5, 2, 4])


def small(**settings) -> TransformerModel:
    sizes = {"size": 8, "num_encoder_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "feed_forward_size": 12}
    spec = TransformerSpec(**sizes | {"dropout": 0.0} | settings)
    return build_model(spec, source_vocabulary=9, target_vocabulary=9).double().eval()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_torchs_transformer(norm: str) -> None:
    model = small(norm=norm)
    source, target = torch.randint(0, 9, (3, 5)), torch.randint(0, 9, (3, 4))
    logits = model(source, LENGTHS, target)
    padding = torch.arange(5) >= LENGTHS[:, None]
    states = model.source(source)
    for block in model.encoder:
        states = block.to_torch()(states, src_key_padding_mask=padding)
    states = model.encoder_norm(states)
    said, causal = model.target(target), nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    for block in model.decoder:
        said = block.to_torch()(said, states, tgt_mask=causal, memory_key_padding_mask=padding)
    torch.testing.assert_close(model.output(model.decoder_norm(said)), logits)
    assert isinstance(model.encoder_norm, nn.LayerNorm) == (norm == "pre")


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary", "relative", "alibi"])
def test_room_is_made_as_it_is_needed_and_changes_nothing(position: str) -> None:
    model = small(position=position, max_length=50)
    source, target = torch.randint(0, 9, (3, 5)), torch.randint(0, 9, (3, 40))
    memory = model.encode(source, LENGTHS)
    growing, roomy = model.start(memory), model.start(memory, capacity=64)
    expected = model(source, LENGTHS, target).log_softmax(-1)
    for part in range(0, 40, 5):
        new = target[:, part : part + 5]
        first, growing, _ = model.step(new, growing, memory)
        second, roomy, _ = model.step(new, roomy, memory)
        torch.testing.assert_close(first, expected[:, part : part + 5])
        torch.testing.assert_close(second, expected[:, part : part + 5])
        assert roomy.blocks[0].capacity == 64
    assert growing.length == 40
    assert growing.blocks[0].capacity == 4 * CAPACITY
    long = model.start(memory).with_capacity(100)
    assert long.blocks[0].capacity == 100


def test_learned_positions_end_somewhere() -> None:
    model = small(position="learned", max_length=4)
    tokens = torch.zeros(1, 5, dtype=torch.long)
    with pytest.raises(ArgumentError, match=r"at most max_length = 4 positions; received 5\."):
        model(tokens, None, tokens[:, :2])
    memory = model.encode(tokens[:, :3])
    with pytest.raises(ArgumentError, match=r"`positions` must be from 0 to 3; received numbers from 0 to 4\."):
        model.step(tokens, model.start(memory), memory)


def test_sentences_without_padding_need_no_mask() -> None:
    model = small()
    source = torch.randint(0, 9, (3, 5))
    assert model.encode(source, torch.tensor([5, 5, 5])).blocks[0].mask is None
    assert model.encode(source, LENGTHS).blocks[0].mask is not None


class Written(TorchDispatchMode):
    """Counts the bytes that operations write: new tensors, and those changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = func(*args, **(kwargs or {}))
        held = {one.untyped_storage().data_ptr() for one in args if isinstance(one, Tensor)}
        for one in given if isinstance(given, (tuple, list)) else [given]:
            if isinstance(one, Tensor) and (func._schema.is_mutable or one.untyped_storage().data_ptr() not in held):
                self.bytes += one.nbytes
        return given


def bytes_of_a_step(model: TransformerModel, *, heard: int, capacity: int) -> int:
    source, rows = torch.randint(0, 9, (3, 5)), torch.arange(3).repeat_interleave(2)
    memory = model.encode(source, LENGTHS)
    _, state, _ = model.step(torch.zeros(3, heard, dtype=torch.long), model.start(memory, capacity=capacity), memory)
    with Written() as written:
        model.step(torch.zeros(6, 1, dtype=torch.long), state.select(rows), memory)
    selected = written.bytes
    with Written() as written:
        state.select(rows)
    return selected - written.bytes


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "rotary"])
@torch.no_grad()
def test_a_step_writes_as_much_wherever_it_stands_and_however_much_room_there_is(position: str) -> None:
    model = small(position=position, max_length=300)
    short = bytes_of_a_step(model, heard=20, capacity=300)
    assert bytes_of_a_step(model, heard=200, capacity=300) == short
    more = bytes_of_a_step(model, heard=200, capacity=1300) - short
    masks = 2 * 6 * 1000  # a byte for each row and place, in two blocks; keys and values would take 128 times as much
    assert more == masks


@pytest.mark.parametrize("position", ["sinusoidal", "rotary", "relative"])
@torch.no_grad()
def test_a_state_can_be_continued_twice(position: str) -> None:
    model, source = small(position=position), torch.randint(0, 9, (3, 5))
    said, one, other = torch.randint(0, 9, (3, 4)), torch.randint(0, 9, (3, 2)), torch.randint(0, 9, (3, 2))
    memory = model.encode(source, LENGTHS)
    _, state, _ = model.step(said, model.start(memory), memory)
    states, heard = [state, state], [[], []]
    for step in range(2):
        for path, tokens in enumerate((one, other)):
            found, states[path], _ = model.step(tokens[:, step : step + 1], states[path], memory)
            heard[path].append(found)
    for path, tokens in enumerate((one, other)):
        expected = model(source, LENGTHS, torch.cat([said, tokens], dim=1)).log_softmax(-1)
        torch.testing.assert_close(torch.cat(heard[path], dim=1), expected[:, 4:])
    keys = [path.blocks[0].key.data_ptr() for path in states]
    assert keys[0] == state.blocks[0].key.data_ptr() != keys[1]
