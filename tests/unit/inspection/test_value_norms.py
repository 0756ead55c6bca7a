"""The norms of what attention adds up, against the layers themselves."""

from dataclasses import replace

import pytest
import torch

from catalogue.models import small
from regard.config.attention import MultiHeadSpec
from regard.config.model import RecurrentSpec, TransformerSpec
from regard.errors import ArgumentError
from regard.inspection.readings.value_norms import value_norms
from regard.models import build_model
from regard.tasks.translation.presets import PRESETS, preset

SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]]), torch.tensor([4, 2])


def build(spec):
    return build_model(spec, source_vocabulary=11, target_vocabulary=11).eval()


def moved_alone(attention, memory, sentence, head, place):
    """What the layer gives where one head puts all its weight on one place and the other heads see nothing."""
    shared = attention.num_heads // attention.num_key_value_heads
    context = torch.zeros(attention.num_heads, attention.head_size)
    context[head] = memory.value[sentence, head // shared, place]
    return attention.output(context.flatten()) - attention.output.bias


@pytest.mark.parametrize("num_key_value_heads", [None, 1])
@torch.no_grad()
def test_they_measure_what_a_head_adds_through_the_output(num_key_value_heads):
    spec = replace(small(TransformerSpec(), num_heads=4), num_key_value_heads=num_key_value_heads)
    model = build(spec)
    for parameter in model.parameters():
        parameter.copy_(torch.randn_like(parameter))  # biases too
    memory = model.encode(SOURCE, LENGTHS)
    norms = value_norms(model, memory)
    assert norms.shape == (2, 2, 4, 4)
    for layer, block in enumerate(model.decoder):
        for head in range(4):
            for place in range(4):
                moved = moved_alone(block.cross_attention, memory.blocks[layer], 0, head, place)
                torch.testing.assert_close(norms[0, layer, head, place], moved.norm())


@torch.no_grad()
def test_a_recurrent_model_adds_up_the_states_themselves():
    model = build(small(preset("bahdanau")))
    memory = model.encode(SOURCE, LENGTHS)
    torch.testing.assert_close(value_norms(model, memory), memory.source.value.norm(dim=-1)[:, None, None])


@torch.no_grad()
def test_a_recurrent_model_with_heads_adds_through_the_output():
    model = build(RecurrentSpec(embedding_size=6, hidden_size=8, attention=MultiHeadSpec(num_heads=2)))
    memory = model.encode(SOURCE, LENGTHS)
    attention = model.decoder.attention
    moved = moved_alone(attention, memory.source, 1, 1, 1)
    torch.testing.assert_close(value_norms(model, memory)[1, 0, 1, 1], moved.norm())


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "fixed"])
def test_there_is_one_for_every_weight(name):
    model = build(small(preset(name)))
    memory = model.encode(SOURCE, LENGTHS)
    weights = model.step(torch.tensor([[2], [2]]), model.start(memory), memory, weights=True)[2]
    norms = value_norms(model, memory)
    assert norms.shape == weights.squeeze(-2).shape
    assert (norms >= 0).all()


def test_a_model_that_does_not_attend_has_none():
    model = build(small(preset("fixed")))
    message = r"`model` must be a Transformer or a recurrent model with attention to have value norms; received Recurr"
    with pytest.raises(ArgumentError, match=message):
        value_norms(model, model.encode(SOURCE, LENGTHS))
