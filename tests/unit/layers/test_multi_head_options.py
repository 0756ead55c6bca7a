"""Shapes and parts of multi-head attention that other models have, and what a cache costs it."""

from typing import Any

import pytest
import torch

from regard import Causal, Padding
from regard.errors import ArgumentError
from regard.layers import LearnedSink, MultiHeadAttention

MAPS = ("query", "key", "value", "output")


@pytest.mark.parametrize("named", [True, False, (), ("query",), ("query", "key", "value"), ("output",)], ids=str)
def test_each_map_has_a_bias_or_not(named: Any) -> None:
    layer = MultiHeadAttention(8, 2, bias=named)
    wanted = {True: MAPS, False: ()}.get(named, named)
    assert {name for name in MAPS if getattr(layer, name).bias is not None} == set(wanted)
    x = torch.randn(2, 5, 8)
    theirs = layer.to_torch()
    torch.testing.assert_close(layer(x), theirs(x, x, x)[0], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("named", ["query", ("query", "keys")], ids=str)
def test_a_map_there_is_not_has_no_bias(named: Any) -> None:
    wrong = named if isinstance(named, str) else "keys"
    with pytest.raises(ArgumentError) as caught:
        MultiHeadAttention(8, 2, bias=named)
    assert str(caught.value) == (
        f'`bias` must be True, False or some of query, key, value, output; received "{wrong}". Write bias=("query", '
        '"key").'
    )


def test_heads_may_be_of_any_width() -> None:
    """As in Gemma and Qwen 3, whose heads together are wider than the model."""
    layer, x = MultiHeadAttention(10, 4, head_size=6, num_key_value_heads=2), torch.randn(2, 5, 10)
    assert layer.query.weight.shape == (24, 10)
    assert layer.key.weight.shape == (12, 10)
    assert layer.output.weight.shape == (10, 24)
    query = layer.query(x).unflatten(-1, (4, 6)).transpose(1, 2)
    key, value = (
        linear(x).unflatten(-1, (2, 6)).transpose(1, 2).repeat_interleave(2, 1) for linear in (layer.key, layer.value)
    )
    truth = layer.output(((query @ key.mT / 6**0.5).softmax(-1) @ value).transpose(1, 2).flatten(-2))
    torch.testing.assert_close(layer(x), truth, atol=1e-6, rtol=1e-5)
    with pytest.raises(ArgumentError, match=r"heads of size // num_heads to become nn\.MultiheadAttention"):
        layer.to_torch()


def test_numbers_are_added_to_the_scores() -> None:
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    theirs, bias = layer.to_torch(), torch.randn(5, 5)
    torch.testing.assert_close(layer(x, bias=bias), theirs(x, x, x, attn_mask=bias)[0], atol=1e-6, rtol=1e-5)
    whole = torch.randn(2, 2, 5, 5)
    torch.testing.assert_close(
        layer(x, bias=whole), theirs(x, x, x, attn_mask=whole.flatten(0, 1))[0], atol=1e-6, rtol=1e-5
    )
    future = ~torch.ones(5, 5).tril().bool()
    torch.testing.assert_close(
        layer(x, mask=Causal(), bias=bias),
        theirs(x, x, x, attn_mask=bias.masked_fill(future, -torch.inf))[0],
        atol=1e-6,
        rtol=1e-5,
    )


def test_a_learned_sink_takes_weight_from_every_key() -> None:
    layer, x = MultiHeadAttention(8, 2, normalize=LearnedSink(2)), torch.randn(2, 5, 8)
    plain = MultiHeadAttention(8, 2)
    plain.load_state_dict({name: tensor for name, tensor in layer.state_dict().items() if "attend" not in name})
    with torch.no_grad():
        layer.attend.normalize.score.copy_(torch.tensor([-30.0, 0.0]))
    found, base = layer(x, return_weights=True), plain(x, return_weights=True)
    torch.testing.assert_close(found.weights[:, 0], base.weights[:, 0])
    share = torch.sigmoid(base.log_normalizer[:, 1])
    torch.testing.assert_close(found.weights[:, 1], base.weights[:, 1] * share.unsqueeze(-1))
    found.context.square().sum().backward()
    assert layer.attend.normalize.score.grad.abs().max() > 0
    assert "attend.normalize.score" in layer.state_dict()


def test_room_to_spare_changes_nothing_and_is_not_attended_to() -> None:
    layer = MultiHeadAttention(8, 2).eval()
    x = torch.randn(3, 12, 8)
    seen: list[int] = []
    layer.attend.register_forward_pre_hook(lambda module, given: seen.append(given[1].size(-2)))
    with torch.no_grad():
        tight, roomy = layer.remember(x[:, :4]).reserve(12), layer.remember(x[:, :4]).reserve(400)
        for index in range(4, 12):
            new = layer.remember(x[:, index : index + 1])
            tight, roomy = tight.append(new), roomy.append(new)
            query = x[:, index : index + 1]
            torch.testing.assert_close(layer(query, roomy), layer(query, tight))
            assert roomy.common_length() == index + 1
            torch.testing.assert_close(layer(query, roomy, mask=Causal()), layer(query, tight, mask=Causal()))
            weights = layer(query, roomy, return_weights=True).weights
            assert weights.shape[-1] == 400
    assert set(seen) - {400} == set(range(5, 13))


def test_ragged_room_is_cut_to_the_longest() -> None:
    layer, x = MultiHeadAttention(8, 2).eval(), torch.randn(2, 6, 8)
    with torch.no_grad():
        memory = layer.remember(x[:, :3], mask=Padding(torch.tensor([3, 1]))).reserve(50)
        memory = memory.append(layer.remember(x[:, 3:4]))
        assert memory.trimmed().capacity == 4
        found = layer(x[:, 3:4], memory)
        for row, length in enumerate((3, 1)):
            one = slice(row, row + 1)
            keys = torch.cat([x[one, :length], x[one, 3:4]], 1)
            torch.testing.assert_close(found[one], layer(x[one, 3:4], layer.remember(keys)))


def test_a_memory_never_misremembers_how_much_it_holds() -> None:
    """Appended to with gradients, without them, re-ordered and padded in turn."""
    layer, x = MultiHeadAttention(8, 2).eval(), torch.randn(2, 20, 8)
    memory = layer.remember(x[:, :2]).reserve(20)
    for index, gradient in enumerate([False, False, True, False, True, True, False]):
        with torch.set_grad_enabled(gradient):
            mask = Padding(torch.tensor([2, 1])) if index == 4 else None
            memory = memory.append(layer.remember(x[:, 2 * index + 2 : 2 * index + 4], mask=mask))
            if index == 3:
                memory = memory.select(torch.tensor([1, 0]))
            least, most = memory.length.min(), memory.length.max()
            counted = bool(memory.mask[:, :most].all()) and least == most
            assert memory.common_length() == (int(most) if counted else None)
