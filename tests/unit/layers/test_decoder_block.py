import math
import re

import pytest
import torch
from torch import nn

from regard import Causal, Padding, from_torch_mha
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.rotary import RotaryPositions
from regard.layers.transformer.decoder_block import TransformerDecoderBlock
from regard.layers.transformer.feed_forward import FeedForward

SIZE = 8


def block_with(own=None, cross=None, norm="pre"):
    own = MultiHeadAttention(SIZE, 2) if own is None else own
    cross = MultiHeadAttention(SIZE, 2, key_size=6) if cross is None else cross
    return TransformerDecoderBlock(own, cross, FeedForward(SIZE, 12), norm=norm)


def look_by_hand(attention, told, source, allowed):
    query, key, value = attention.query(told), attention.key(source), attention.value(source)
    width = SIZE // attention.num_heads
    context = torch.zeros_like(told)
    for h in range(attention.num_heads):
        part = slice(h * width, (h + 1) * width)
        for i in range(len(told)):
            keys = [j for j in range(len(source)) if allowed(i, j)]
            scores = torch.stack([query[i, part] @ key[j, part] / math.sqrt(width) for j in keys])
            context[i, part] = scores.softmax(0) @ value[keys][:, part]
    return attention.output(context)


def by_hand(block, x, source):
    """Vaswani et al., sections 3.1 to 3.3, one row at a time."""

    def sublayer(residual, states, function):
        if residual.kind == "pre":
            return states + function(residual.norm(states))
        return residual.norm(states + function(states))

    x = sublayer(
        block.self_attention_residual,
        x,
        lambda told: look_by_hand(block.self_attention, told, told, lambda i, j: j <= i),
    )
    x = sublayer(
        block.cross_attention_residual,
        x,
        lambda told: look_by_hand(block.cross_attention, told, source, lambda i, j: True),
    )
    return sublayer(block.feed_forward_residual, x, block.feed_forward)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_the_papers_block(norm):
    block = block_with(norm=norm).double()
    x, source = torch.randn(2, 4, SIZE).double(), torch.randn(2, 5, 6).double()
    memory = block.remember(source, mask=Padding(torch.tensor([5, 2])))
    found = block(x, memory)
    for b, length in enumerate([5, 2]):
        torch.testing.assert_close(found[b], by_hand(block, x[b], source[b, :length]))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("chunks", [[1] * 5, [3, 1, 1], [5]])
@pytest.mark.parametrize(
    ("own", "cross"),
    [
        (lambda: None, lambda: None),
        (lambda: MultiHeadAttention(SIZE, 4, num_key_value_heads=2, position=RotaryPositions()), lambda: None),
        (lambda: AdditiveAttention(SIZE, SIZE, 5), lambda: LuongAttention(SIZE, 6)),
    ],
)
def test_steps_give_what_the_whole_gives(norm, chunks, own, cross):
    block = block_with(own(), cross(), norm).double()
    x, source = torch.randn(2, 5, SIZE).double(), torch.randn(2, 4, 6).double()
    memory = block.remember(source, mask=Padding(torch.tensor([4, 3])))
    state, parts, cross_weights = block.start(2, capacity=7), [], []
    for part in x.split(chunks, dim=1):
        step = block.step(part, state, memory, return_weights=True)
        state = step.state
        parts.append(step.states)
        cross_weights.append(step.cross_weights)
    whole = block(x, memory, return_weights=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole.states)
    torch.testing.assert_close(torch.cat(cross_weights, dim=-2), whole.cross_weights)
    torch.testing.assert_close(block(x, memory), whole.states)
    assert (whole.self_weights.triu(1) == 0).all()
    assert (whole.cross_weights[1, ..., 3:] == 0).all()
    assert block.step(x[:, :1], block.start(2, 1), memory).cross_weights is None


def test_masks_narrow_both_looks():
    block = block_with()
    x, memory = torch.randn(2, 3, SIZE), block.remember(torch.randn(2, 4, 6))
    only = torch.zeros(3, 4, dtype=torch.bool)
    only[:, 1] = True
    output = block(x, memory, mask=Causal() & Padding(torch.tensor([3, 1])), cross_mask=only, return_weights=True)
    assert (output.cross_weights[..., 1] == 1).all()
    assert (output.self_weights[1, ..., 1:] == 0).all()
    assert (block(x, memory, mask=None, return_weights=True).self_weights > 0).all()


TORCH = [
    {"norm_first": True, "activation": "gelu"},
    {"norm_first": False, "activation": "relu"},
    {"norm_first": True, "batch_first": False},
    {"norm_first": False, "layer_norm_eps": 1e-2, "bias": False},
]


@pytest.mark.parametrize("options", TORCH)
@pytest.mark.parametrize("training", [False, True])
def test_it_is_torchs_both_ways(options, training):
    options = {"batch_first": True, **options}
    theirs = nn.TransformerDecoderLayer(SIZE, 2, 12, dropout=0.0, **options).train(training)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.2)
    ours = TransformerDecoderBlock.from_torch(theirs)
    back = ours.to_torch(batch_first=options["batch_first"])
    assert ours.training == back.training == training
    x, source = torch.randn(3, 5, SIZE), torch.randn(3, 4, SIZE)
    given, seen = (x, source) if options["batch_first"] else (x.transpose(0, 1), source.transpose(0, 1))
    future, padded = torch.ones(5, 5, dtype=torch.bool).triu(1), torch.arange(4) >= torch.tensor([4, 2, 1])[:, None]
    arguments = {"tgt_mask": future, "memory_key_padding_mask": padded}
    expected = theirs(given, seen, **arguments)
    torch.testing.assert_close(back(given, seen, **arguments), expected, rtol=1e-6, atol=1e-6)
    expected = expected if options["batch_first"] else expected.transpose(0, 1)
    memory = ours.remember(source, mask=~padded)
    torch.testing.assert_close(ours(x, memory), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours(x, memory, mask=from_torch_mha(future)), expected, rtol=1e-6, atol=1e-6)


def test_readable_parameter_names():
    names = {name.rpartition(".")[0] for name in block_with().state_dict()}
    assert names == {
        *(f"{side}_attention.{map}" for side in ("self", "cross") for map in ("query", "key", "value", "output")),
        "self_attention_residual.norm",
        "cross_attention_residual.norm",
        "feed_forward.expand",
        "feed_forward.contract",
        "feed_forward_residual.norm",
    }


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments():
    with pytest.raises(ArgumentTypeError, match=re.escape("must be an nn.TransformerDecoderLayer; received Linear.")):
        TransformerDecoderBlock.from_torch(nn.Linear(2, 2))
    with pytest.raises(ArgumentError, match=re.escape("to become torch's; received LuongAttention.")):
        block_with(cross=LuongAttention(SIZE, 6)).to_torch()
    with pytest.raises(ArgumentError, match=re.escape('`norm` must be one of pre, post; received "pots".')):
        block_with(norm="pots")
    block = block_with()
    memory, state = block.remember(torch.zeros(1, 2, 6)), block.start(1, capacity=1)
    _, state, _, _ = block.step(torch.zeros(1, 1, SIZE), state, memory)
    with pytest.raises(ArgumentError, match=re.escape("must have a capacity of 2 keys; received one of 1.")):
        block.step(torch.zeros(1, 1, SIZE), state, memory)
