import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard import (
    Additive,
    Bilinear,
    Causal,
    Gaussian,
    Padding,
    RelativeBias,
    Rotary,
    Shaw,
    Softmax,
    Sparsemax,
    from_torch_mha,
)
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers import LearnedAdditive, MultiHeadAttention


def test_equals_the_paper_written_as_a_loop() -> None:
    layer = MultiHeadAttention(6, 3, key_size=5, value_size=4).double()
    query, key, value = torch.randn(2, 3, 6).double(), torch.randn(2, 4, 5).double(), torch.randn(2, 4, 4).double()
    lengths = [4, 2]
    memory = layer.remember(key, value, Padding(torch.tensor(lengths)))
    output, weights, _ = layer(query, memory, return_weights=True)
    for b, length in enumerate(lengths):
        heads = []
        for h in range(3):
            rows = slice(2 * h, 2 * h + 2)
            q = query[b] @ layer.query.weight[rows].T + layer.query.bias[rows]
            k = key[b, :length] @ layer.key.weight[rows].T + layer.key.bias[rows]
            v = value[b, :length] @ layer.value.weight[rows].T + layer.value.bias[rows]
            alpha = torch.softmax(q @ k.T / math.sqrt(2), dim=-1)
            torch.testing.assert_close(weights[b, h, :, :length], alpha)
            heads.append(alpha @ v)
        expected = torch.cat(heads, dim=-1) @ layer.output.weight.T + layer.output.bias
        torch.testing.assert_close(output[b], expected)


def test_shared_key_value_heads_equal_repeated_ones() -> None:
    shared, x = MultiHeadAttention(12, 6, num_key_value_heads=2), torch.randn(2, 5, 12)
    assert shared.key.out_features == 4
    full = MultiHeadAttention(12, 6)
    state = shared.state_dict()
    for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
        state[name] = state[name].unflatten(0, (2, 2)).repeat_interleave(3, dim=0).flatten(0, 1)
    full.load_state_dict(state)
    torch.testing.assert_close(shared(x, mask=Causal()), full(x, mask=Causal()), atol=1e-6, rtol=1e-5)
    assert "num_key_value_heads=2" in repr(shared)


def test_any_score_per_head() -> None:
    layer = MultiHeadAttention(6, 2, score=LearnedAdditive(3, num_heads=2), bias=False).double()
    x = torch.randn(1, 4, 6).double()
    weights = layer(x, return_weights=True).weights
    for h in range(2):
        rows = slice(3 * h, 3 * h + 3)
        q, k = x[0] @ layer.query.weight[rows].T, x[0] @ layer.key.weight[rows].T
        scores = torch.tanh(q[:, None] + k) @ layer.score.vector[h]  # type: ignore[union-attr]
        torch.testing.assert_close(weights[0, h], torch.softmax(scores, -1))
    torch.testing.assert_close(
        MultiHeadAttention(6, 2, score=lambda q, k: q @ k.mT)(x.float()).shape, torch.Size([1, 4, 6])
    )


def test_a_position_may_come_with_the_call() -> None:
    x, position = torch.randn(2, 5, 8), Shaw(keys=torch.randn(3, 4))
    layer = MultiHeadAttention(8, 2, position=Rotary())
    plain = MultiHeadAttention(8, 2, position=position)
    plain.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x, position=position), plain(x))
    assert not torch.allclose(layer(x, position=position), layer(x))


def test_rotary_sees_distance_alone() -> None:
    layer, x = MultiHeadAttention(8, 2, position=Rotary()).double(), torch.randn(1, 5, 8).double()
    here = layer(x, position=Rotary(key_positions=torch.arange(5)), query_positions=torch.arange(5))
    there = layer(x, position=Rotary(key_positions=torch.arange(5) + 40), query_positions=torch.arange(5) + 40)
    torch.testing.assert_close(here, layer(x))
    torch.testing.assert_close(there, here)


def torch_layers() -> list[Any]:
    options = [
        {},
        {"bias": False},
        {"kdim": 5, "vdim": 7},
        {"kdim": 5, "vdim": 5, "bias": False, "batch_first": True},
        {"batch_first": True, "dropout": 0.3, "dtype": torch.float64},
    ]
    return [pytest.param(option, id=",".join(map(str, option)) or "plain") for option in options]


def random_torch(options: dict[str, Any]) -> nn.MultiheadAttention:
    module = nn.MultiheadAttention(8, 4, **options).eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def call_torch(module: nn.MultiheadAttention, *inputs: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
    given = inputs if module.batch_first else tuple(tensor.transpose(0, 1) for tensor in inputs)
    output, weights = module(*given, average_attn_weights=False, **options)
    return output if module.batch_first else output.transpose(0, 1), weights


@pytest.mark.parametrize("options", torch_layers())
def test_from_torch_and_back(options: dict[str, Any]) -> None:
    theirs = random_torch(options)
    dtype = theirs.out_proj.weight.dtype
    query, key, value = (
        torch.randn(3, length, size, dtype=dtype)
        for length, size in ((5, 8), (6, options.get("kdim", 8)), (6, options.get("vdim", 8)))
    )
    ignore = torch.arange(6) >= torch.tensor([6, 3, 1])[:, None]
    future = torch.ones(5, 6, dtype=torch.bool).triu(2)
    expected, expected_weights = call_torch(theirs, query, key, value, key_padding_mask=ignore, attn_mask=future)
    ours = MultiHeadAttention.from_torch(theirs)
    assert not ours.training
    assert ours.attend.dropout == theirs.dropout
    mask = from_torch_mha(future, key_padding_mask=ignore)
    output, weights, _ = ours(query, ours.remember(key, value), mask=mask, return_weights=True)
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(weights, expected_weights, atol=1e-6, rtol=0)
    back = ours.to_torch(batch_first=theirs.batch_first)
    assert back.state_dict().keys() == theirs.state_dict().keys()
    for name, parameter in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[name], parameter)
    assert torch.equal(call_torch(back, query, key, value)[0], call_torch(theirs, query, key, value)[0])


def test_shared_heads_become_torch_heads() -> None:
    ours, x = MultiHeadAttention(8, 4, num_key_value_heads=2).eval(), torch.randn(2, 5, 8)
    torch.testing.assert_close(ours.to_torch()(x, x, x)[0], ours(x), atol=1e-6, rtol=0)


def test_copies_share_nothing() -> None:
    theirs = random_torch({})
    ours = MultiHeadAttention.from_torch(theirs)
    nn.init.zeros_(ours.query.weight)
    assert theirs.in_proj_weight.abs().sum() > 0


def test_what_torch_has_not() -> None:
    for module, message in (
        (nn.MultiheadAttention(8, 2, add_bias_kv=True), "add_bias_kv=True"),
        (nn.MultiheadAttention(8, 2, add_zero_attn=True), "add_zero_attn=True"),
    ):
        with pytest.raises(ArgumentError, match=f"`module` must have no keys of its own; received {message}"):
            MultiHeadAttention.from_torch(module)
    for options, message in (
        ({"score": Gaussian()}, "score Gaussian"),
        ({"normalize": Sparsemax()}, "normalizer Sparsemax"),
        ({"position": Rotary()}, "position Rotary"),
    ):
        with pytest.raises(ArgumentError, match=f"to become nn.MultiheadAttention; received {message}"):
            MultiHeadAttention(8, 2, **options).to_torch()  # type: ignore[arg-type]
    assert MultiHeadAttention(8, 2, normalize=Softmax()).to_torch().batch_first


@pytest.mark.usefixtures("unchecked")
def test_from_torch_takes_a_torch_layer() -> None:
    with pytest.raises(ArgumentTypeError, match=r"`module` must be an nn.MultiheadAttention; received Linear"):
        MultiHeadAttention.from_torch(nn.Linear(1, 1))  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    with pytest.raises(
        ArgumentError, match=r"`num_heads` must divide `size`, 10; received 3. Choose one of 1, 2, 5, 10"
    ):
        MultiHeadAttention(10, 3)
    with pytest.raises(ArgumentError, match="`num_key_value_heads` must divide `num_heads`, 4; received 3"):
        MultiHeadAttention(8, 4, num_key_value_heads=3)
    with pytest.raises(ArgumentError, match="`key_size` must be at least 1; received 0"):
        MultiHeadAttention(8, 4, key_size=0)
    with pytest.raises(ArgumentError, match="`dropout` must be a probability between 0 and 1; received -1"):
        MultiHeadAttention(8, 4, dropout=-1.0)
    layer = MultiHeadAttention(8, 4, key_size=5, value_size=6)
    with pytest.raises(ArgumentError, match=r"`value` must have shape \(batch, length, 6\); received \(2, 3, 5\)"):
        layer.remember(torch.zeros(2, 3, 5))
    with pytest.raises(ArgumentError, match=r"`query` must have shape \(batch, length, 8\); received \(2, 3, 7\)"):
        layer(torch.zeros(2, 3, 7))
    with pytest.raises(ArgumentError, match="`vector` must have shape"):
        MultiHeadAttention(8, 4, score=Additive(torch.ones(3)))(torch.zeros(2, 3, 8))


def test_readable_names() -> None:
    names = list(MultiHeadAttention(8, 4, score=LearnedAdditive(2, num_heads=4)).state_dict())
    sides = [f"{side}.{kind}" for side in ("query", "key", "value", "output") for kind in ("weight", "bias")]
    assert names == [*sides, "score.vector"]


@pytest.mark.compiled
def test_trains_compiled() -> None:
    layer, x = MultiHeadAttention(8, 2, position=Rotary()), torch.randn(2, 5, 8)
    layer(x, mask=Causal()).square().sum().backward()
    expected = [parameter.grad for parameter in layer.parameters()]
    layer.zero_grad()
    torch.compiler.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    compiled(x, mask=Causal()).square().sum().backward()
    for parameter, gradient in zip(layer.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"score": Bilinear(nn.Parameter(torch.eye(4)))},
            "`score` must hold no tensor that is learned, since a plain value is neither trained nor saved with the "
            "layer; received Bilinear with `matrix` requiring a gradient. Give a module that owns it, such as "
            "LearnedBilinear.",
        ),
        (
            {"position": RelativeBias(table=nn.Parameter(torch.zeros(5)))},
            "`position` must hold no tensor that is learned, since a plain value is neither trained nor saved with the "
            "layer; received RelativeBias with `table` requiring a gradient. Give a module that owns it, such as "
            "RelativeBiases.",
        ),
    ],
)
def test_learned_tensors_belong_to_modules(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        MultiHeadAttention(8, 2, **options)
    assert str(raised.value) == message
