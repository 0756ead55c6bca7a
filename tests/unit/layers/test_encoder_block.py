import math
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard import Causal, Padding, from_torch_mha
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.gaussian import GaussianAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.mechanisms.self_attention import SelfAttention
from regard.layers.position.alibi import AlibiBias
from regard.layers.position.relative import RelativeBiases, RelativePositions
from regard.layers.position.rotary import RotaryPositions
from regard.layers.position.structural import StructuralRelations
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.layers.transformer.feed_forward import FeedForward

SIZE = 8


def block_with(attention, norm="pre"):
    return TransformerEncoderBlock(attention, FeedForward(SIZE, 12), norm=norm)


def by_hand(block, x, allowed):
    """Vaswani et al., sections 3.1 to 3.3, one row, one head, one query at a time."""
    attention, first, second = block.attention, block.attention_residual, block.feed_forward_residual
    told = first.norm(x) if first.kind == "pre" else x
    query, key, value = attention.query(told), attention.key(told), attention.value(told)
    width = SIZE // attention.num_heads
    context = torch.zeros_like(x)
    for h in range(attention.num_heads):
        part = slice(h * width, (h + 1) * width)
        for i in range(len(x)):
            keys = [j for j in range(len(x)) if allowed(i, j)]
            scores = torch.stack([query[i, part] @ key[j, part] / math.sqrt(width) for j in keys])
            context[i, part] = scores.softmax(0) @ value[keys][:, part]
    y = x + attention.output(context)
    y = y if first.kind == "pre" else first.norm(y)
    z = y + block.feed_forward(second.norm(y) if first.kind == "pre" else y)
    return z if first.kind == "pre" else second.norm(z)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_it_is_the_papers_block(norm, causal):
    block = block_with(MultiHeadAttention(SIZE, 2), norm).double()
    x = torch.randn(2, 5, SIZE).double()
    lengths = [5, 3]
    mask = Padding(torch.tensor(lengths))
    found = block(x, mask=Causal() & mask if causal else mask)
    for b, length in enumerate(lengths):
        expected = by_hand(block, x[b, :length], (lambda i, j: j <= i) if causal else (lambda i, j: True))
        torch.testing.assert_close(found[b, :length], expected)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: MultiHeadAttention(SIZE, 2, num_key_value_heads=1),
        lambda: AdditiveAttention(SIZE, SIZE, 5),
        GaussianAttention,
        lambda: LuongAttention(SIZE, SIZE),
        lambda: SelfAttention(SIZE),
    ],
)
def test_any_mechanism_fits(layer):
    block = block_with(layer())
    x = torch.randn(2, 5, SIZE)
    output = block(x, mask=Causal(), return_weights=True)
    assert output.states.shape == (2, 5, SIZE)
    assert (output.weights.triu(1) == 0).all()
    torch.testing.assert_close(block(x, mask=Causal()), output.states)
    changed = x.clone()
    changed[:, 3:] += 1
    torch.testing.assert_close(block(changed, mask=Causal())[:, :3], output.states[:, :3])


POSITIONS = {
    "none": lambda: MultiHeadAttention(SIZE, 2),
    "grouped": lambda: MultiHeadAttention(SIZE, 2, num_key_value_heads=1),
    "rotary": lambda: MultiHeadAttention(SIZE, 2, position=RotaryPositions()),
    "relative": lambda: MultiHeadAttention(SIZE, 2, position=RelativePositions(2, 4, 4)),
    "biases": lambda: MultiHeadAttention(SIZE, 2, position=RelativeBiases(2, reach=2)),
    "alibi": lambda: MultiHeadAttention(SIZE, 2, position=AlibiBias(2)),
    "additive": lambda: AdditiveAttention(SIZE, SIZE, 5),
}


@pytest.mark.parametrize("layer", list(POSITIONS))
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("chunks", [[1] * 6, [4, 1, 1], [2, 3, 1], [6]])
def test_steps_give_what_the_whole_gives(layer, norm, chunks):
    block = block_with(POSITIONS[layer](), norm).double()
    x = torch.randn(2, 6, SIZE).double()
    state, parts = block.start(2, capacity=9), []
    assert state.key.dtype == torch.float64
    for part in x.split(chunks, dim=1):
        states, state, weights = block.step(part, state, return_weights=True)
        assert weights.shape[-2:] == (part.size(1), 9)
        parts.append(states)
    torch.testing.assert_close(torch.cat(parts, dim=1), block(x, mask=Causal()))
    assert state.capacity == 9
    assert state.length.tolist() == [6, 6]


@pytest.mark.parametrize("layer", list(POSITIONS))
def test_prompts_of_unequal_length_continue_where_they_end(layer):
    block = block_with(POSITIONS[layer]())
    x, lengths = torch.randn(2, 5, SIZE), torch.tensor([3, 1])
    _, state, _ = block.step(x[:, :3], block.start(2, capacity=6), mask=Padding(lengths))
    assert state.length.tolist() == [3, 1]
    states, state, _ = block.step(x[:, 3:4], state)
    for b, length in enumerate(lengths.tolist()):
        alone = torch.cat([x[b, :length], x[b, 3:4]])[None]
        torch.testing.assert_close(states[b, 0], block(alone, mask=Causal())[0, -1])


def test_a_state_can_be_reordered_between_steps():
    block = block_with(MultiHeadAttention(SIZE, 2, position=RotaryPositions()))
    x, rows = torch.randn(3, 4, SIZE), torch.tensor([2, 0, 0])
    _, state, _ = block.step(x[:, :3], block.start(3, capacity=5))
    states, _, _ = block.step(x[rows, 3:], state.select(rows))
    torch.testing.assert_close(states, block(x, mask=Causal())[rows, 3:])


def test_a_position_of_the_sentence_is_handed_on():
    block, relations = block_with(MultiHeadAttention(SIZE, 2)), StructuralRelations(2, key_size=4)
    x, heads = torch.randn(2, 3, SIZE), torch.tensor([[-1, 0, 1], [1, -1, 1]])
    found = block(x, mask=Padding(torch.tensor([3, 3])), position=relations(heads))
    for b in range(2):
        torch.testing.assert_close(found[b], block(x[b : b + 1], position=relations(heads[b : b + 1]))[0])
    assert not torch.allclose(found, block(x))


TORCH = [
    {"norm_first": True, "activation": "gelu"},
    {"norm_first": False, "activation": "relu"},
    {"norm_first": True, "activation": F.relu, "batch_first": False},
    {"norm_first": False, "activation": nn.GELU(), "layer_norm_eps": 1e-2},
    {"norm_first": True, "bias": False},
    {"norm_first": False, "dtype": torch.float64},
]


def randomized(layer):
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.2)
    return layer


@pytest.mark.parametrize("options", TORCH)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
def test_it_is_torchs_both_ways(options, training):
    options = {"batch_first": True, **options}
    theirs = randomized(nn.TransformerEncoderLayer(SIZE, 2, 12, dropout=0.0, **options)).train(training)
    ours = TransformerEncoderBlock.from_torch(theirs)
    back = ours.to_torch(batch_first=theirs.self_attn.batch_first)
    assert ours.training == back.training == training
    x = torch.randn(3, 5, SIZE, dtype=options.get("dtype", torch.float32))
    padded = torch.arange(5) >= torch.tensor([5, 3, 1])[:, None]
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    for arguments in ({}, {"src_mask": future}, {"src_key_padding_mask": padded, "src_mask": future}):
        given = x if options["batch_first"] else x.transpose(0, 1)
        expected = theirs(given, **arguments)
        torch.testing.assert_close(back(given, **arguments), expected, rtol=1e-6, atol=1e-6)
        expected = expected if options["batch_first"] else expected.transpose(0, 1)
        mask = None
        if arguments:
            mask = from_torch_mha(arguments["src_mask"], key_padding_mask=arguments.get("src_key_padding_mask"))
        found = ours(x, mask=mask)
        real = ~padded if "src_key_padding_mask" in arguments else torch.ones_like(padded)
        torch.testing.assert_close(found[real], expected[real], rtol=1e-6, atol=1e-6)


def test_what_is_copied_from_torch_is_a_copy():
    theirs = nn.TransformerEncoderLayer(SIZE, 2, 12, dropout=0.25, layer_norm_eps=1e-3)
    ours = TransformerEncoderBlock.from_torch(theirs)
    assert ours.feed_forward.dropout.p == ours.attention_residual.dropout.p == ours.attention.attend.dropout == 0.25
    assert ours.feed_forward_residual.norm.eps == 1e-3
    pointers = {parameter.data_ptr() for parameter in theirs.parameters()}
    for parameter in (*ours.parameters(), *ours.to_torch().parameters()):
        assert parameter.data_ptr() not in pointers


def test_readable_parameter_names():
    names = list(block_with(MultiHeadAttention(SIZE, 2)).state_dict())
    assert names[:4] == ["attention.query.weight", "attention.query.bias", "attention.key.weight", "attention.key.bias"]
    assert names[8:] == [
        "attention_residual.norm.weight",
        "attention_residual.norm.bias",
        "feed_forward.expand.weight",
        "feed_forward.expand.bias",
        "feed_forward.contract.weight",
        "feed_forward.contract.bias",
        "feed_forward_residual.norm.weight",
        "feed_forward_residual.norm.bias",
    ]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: TransformerEncoderBlock(MultiHeadAttention(SIZE, 2), FeedForward(SIZE, 12), norm="middle"),
            '`norm` must be one of pre, post; received "middle".',
        ),
        (
            lambda: block_with(AdditiveAttention(SIZE, SIZE, 4)).to_torch(),
            "must be a MultiHeadAttention to become torch's; received AdditiveAttention.",
        ),
        (
            lambda: TransformerEncoderBlock(
                MultiHeadAttention(SIZE, 2), FeedForward(SIZE, 12, activation="swiglu")
            ).to_torch(),
            'must be a FeedForward with "relu" or "gelu" to become torch\'s; received swiglu.',
        ),
        (
            lambda: TransformerEncoderBlock.from_torch(nn.TransformerEncoderLayer(SIZE, 2, 12, activation=torch.sin)),
            "`layer` must have the activation relu or gelu; received <built-in method sin",
        ),
        (
            lambda: TransformerEncoderBlock.from_torch(
                nn.TransformerEncoderLayer(SIZE, 2, 12, activation=nn.GELU(approximate="tanh"))
            ),
            "relu or gelu; received GELU(approximate='tanh').",
        ),
        (
            lambda: block_with(SelfAttention(SIZE)).start(2, 5),
            "the attention of this block must have remember(key, value, mask); received SelfAttention.",
        ),
        (
            lambda: block_with(SelfAttention(SIZE, value_size=3))(torch.zeros(2, 5, SIZE)),
            "a sublayer must give back the shape of its input, (2, 5, 8); received (2, 5, 3).",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


@pytest.mark.usefixtures("unchecked")
def test_bad_type():
    message = "`layer` must be an nn.TransformerEncoderLayer; received Linear."
    with pytest.raises(ArgumentTypeError, match=re.escape(message)):
        TransformerEncoderBlock.from_torch(nn.Linear(2, 2))
