import pytest
import torch
from torch import nn

from regard.config.model import TransformerSpec
from regard.errors import ArgumentError
from regard.models import TransformerModel, build_model
from regard.models.transformer import CAPACITY

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
    assert growing.heard == 40
    assert growing.blocks[0].capacity == 4 * CAPACITY
    long = model.start(memory).with_room(100)
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
