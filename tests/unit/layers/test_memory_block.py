"""A block that attends to memories alone."""

import pytest
import torch

from regard.attention import Causal
from regard.errors import ArgumentError
from regard.layers import FeedForward, MultiHeadAttention, TransformerMemoryBlock

SIZE = 8


def make(attentions=1, norm="pre"):
    torch.manual_seed(2)
    layers = [MultiHeadAttention(SIZE, 2) for _ in range(attentions)]
    return TransformerMemoryBlock(layers, FeedForward(SIZE, 12), norm=norm).double()


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_its_parts_one_after_another(norm):
    block, states, first, second = make(2, norm), draw(2, 3, SIZE), draw(2, 4, SIZE), draw(2, 5, SIZE)
    output = block(states, [block.remember(0, first), block.remember(1, second)], return_weights=True)
    expected, weights = states, None
    for attention, residual, memory in zip(block.attentions, block.attention_residuals, (first, second), strict=True):
        inner = residual.norm(expected) if norm == "pre" else expected
        attended = attention(inner, attention.remember(memory), return_weights=True)
        expected, weights = expected + attended.context, attended.weights
        expected = expected if norm == "pre" else residual.norm(expected)
    residual = block.feed_forward_residual
    inner = residual.norm(expected) if norm == "pre" else expected
    expected = expected + block.feed_forward(inner)
    expected = expected if norm == "pre" else residual.norm(expected)
    torch.testing.assert_close(output.states, expected)
    torch.testing.assert_close(output.weights, weights)
    assert block(states, [block.remember(0, first), block.remember(1, second)]).weights is None


def test_queries_do_not_reach_one_another():
    block, states, memory = make(), draw(1, 4, SIZE), draw(1, 6, SIZE)
    before = block(states, [block.remember(0, memory)]).states
    changed = states.clone()
    changed[:, 2] += 1
    after = block(changed, [block.remember(0, memory)]).states
    assert torch.equal(after[:, [0, 1, 3]], before[:, [0, 1, 3]])
    assert not torch.equal(after[:, 2], before[:, 2])


def test_masks_narrow_the_memories():
    block, states, memory = make(), draw(1, 4, SIZE), draw(1, 4, SIZE)
    before = block(states, [block.remember(0, memory)], masks=[Causal()]).states
    changed = memory.clone()
    changed[:, 3] += 1
    after = block(states, [block.remember(0, changed)], masks=[Causal()]).states
    assert torch.equal(after[:, :3], before[:, :3])


def test_every_attention_needs_its_memory():
    block, states = make(2), draw(1, 4, SIZE)
    message = r"`memories` must be 2, one for each attention, with as many `masks`; received 1 and 1."
    with pytest.raises(ArgumentError, match=message):
        block(states, [block.remember(0, states)])
