"""Decoding with a cache gives what the whole causal pass gives."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from regard import Alibi, Causal, Padding, RelativeBias, Rotary, Shaw, Window
from regard.attention import Mask, Position
from regard.errors import ArgumentError
from regard.layers import LearnedAdditive, Memory, MultiHeadAttention
from regard.layers.position.alibi import AlibiBias
from regard.layers.position.relative import RelativeBiases, RelativePositions
from regard.layers.position.rotary import RotaryPositions

POSITIONS: dict[str, Callable[[], Position | nn.Module | None]] = {
    "none": lambda: None,
    "rotary": Rotary,
    "alibi": lambda: Alibi.of_heads(4),
    "bias": lambda: RelativeBias(table=torch.randn(4, 7)),
    "shaw": lambda: Shaw(keys=torch.randn(5, 4), values=torch.randn(5, 4)),
    "rotary module": RotaryPositions,
    "alibi module": lambda: AlibiBias(4),
    "bias module": lambda: RelativeBiases(4, reach=3),
    "shaw module": lambda: RelativePositions(2, 4, 4),
}

every_position = pytest.mark.parametrize("position", POSITIONS)


def decode(layer: MultiHeadAttention, x: Tensor, memory: Memory, mask: Mask, sizes: list[int]) -> Tensor:
    """Feed `x` to the cache, a few tokens at a time."""
    found = []
    for part in x.split(sizes, dim=1):
        places = memory.next_positions(part.size(1))
        memory = memory.append(layer.remember(part))
        found.append(layer(part, memory, mask=mask, query_positions=places))
    return torch.cat(found, dim=1)


@every_position
@pytest.mark.parametrize("sizes", [[1] * 7, [4, 1, 2]])
def test_step_by_step_equals_the_whole_pass(position: str, sizes: list[int]) -> None:
    layer, x = MultiHeadAttention(16, 4, position=POSITIONS[position]()).double(), torch.randn(3, 7, 16).double()
    found = decode(layer, x, layer.remember(x[:, :0]).reserve(9), Causal(), sizes)
    torch.testing.assert_close(found, layer(x, mask=Causal()), atol=1e-9, rtol=1e-9)


@every_position
def test_prompts_of_unequal_length_go_on_each_by_itself(position: str) -> None:
    layer, lengths = MultiHeadAttention(16, 4, position=POSITIONS[position]()).double(), [4, 1, 2]
    prompt, more = torch.randn(3, 4, 16).double(), torch.randn(3, 3, 16).double()
    memory = layer.remember(prompt, mask=Padding(torch.tensor(lengths)))
    first = layer(prompt, memory, mask=Causal())
    rest = decode(layer, more, memory.reserve(8), Causal(), [1, 2])
    for example, length in enumerate(lengths):
        whole = torch.cat([prompt[example, :length], more[example]])[None]
        expected = layer(whole, mask=Causal())[0]
        torch.testing.assert_close(first[example, :length], expected[:length], atol=1e-9, rtol=1e-9)
        torch.testing.assert_close(rest[example], expected[length:], atol=1e-9, rtol=1e-9)


def test_one_query_needs_no_positions() -> None:
    layer, x = MultiHeadAttention(16, 4, position=Rotary()).double(), torch.randn(2, 5, 16).double()
    memory = layer.remember(x).reserve(7)
    torch.testing.assert_close(layer(x[:, -1:], memory), layer(x, mask=Causal())[:, -1:], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("options", [{"num_key_value_heads": 2}, {"score": LearnedAdditive(4, num_heads=4)}])
def test_shared_heads_and_other_scores(options: dict[str, object]) -> None:
    layer, x = MultiHeadAttention(16, 4, **options).double(), torch.randn(2, 5, 16).double()  # type: ignore[arg-type]
    for mask in (Causal(), Window(1, 0)):
        found = decode(layer, x, layer.remember(x[:, :0]).reserve(6), mask, [2, 1, 2])
        torch.testing.assert_close(found, layer(x, mask=mask), atol=1e-9, rtol=1e-9)


def test_a_beam_reorders_its_cache() -> None:
    layer, x = MultiHeadAttention(16, 4).double(), torch.randn(3, 5, 16).double()
    rows = torch.tensor([2, 0, 0])
    memory = layer.remember(x[:, :3]).reserve(5).select(rows)
    found = decode(layer, x[:, 3:], memory, Causal(), [1, 1])
    whole = torch.cat([x[rows, :3], x[:, 3:]], dim=1)
    torch.testing.assert_close(found, layer(whole, mask=Causal())[:, 3:], atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("position", ["rotary", "rotary module", "none", "shaw module"])
@pytest.mark.parametrize("lengths", [[3, 3, 3], [3, 1, 2]])
def test_keys_can_be_turned_once_when_they_are_remembered(position: str, lengths: list[int]) -> None:
    layer = MultiHeadAttention(16, 4, position=POSITIONS[position](), num_key_value_heads=2).double()
    prompt, more = torch.randn(3, 3, 16).double(), torch.randn(3, 4, 16).double()
    padding = Padding(torch.tensor(lengths))
    plain = layer.remember(prompt, mask=padding).reserve(8)
    turned = layer.remember(prompt, mask=padding, positions=torch.arange(3)).reserve(8)
    assert turned.turned == position.startswith("rotary")
    for part in more.split([1, 2, 1], dim=1):
        places = plain.next_positions(part.size(1))
        plain = plain.append(layer.remember(part))
        turned = turned.append(layer.remember(part, positions=places))
        asked = {"mask": Causal(), "query_positions": places, "return_weights": True}
        expected, found = layer(part, plain, **asked), layer(part, turned, **asked)
        torch.testing.assert_close(found.context, expected.context, atol=1e-9, rtol=1e-9)
        torch.testing.assert_close(found.weights, expected.weights, atol=1e-9, rtol=1e-9)
    if position.startswith("rotary"):
        assert not torch.equal(turned.key, plain.key)


def test_turned_keys_and_others_do_not_mix() -> None:
    layer, x = MultiHeadAttention(8, 2, position=Rotary()), torch.randn(1, 2, 8)
    turned = layer.remember(x, positions=torch.arange(2)).reserve(4)
    message = r"turned by positions, or neither; received turned=True and False\. For the former write layer\.remember"
    with pytest.raises(ArgumentError, match=message):
        turned.append(layer.remember(x))
    with pytest.raises(ArgumentError, match=r"`position` must be Rotary for a memory .* turned; received Alibi\. Rem"):
        layer(x[:, :1], turned, position=Alibi.of_heads(2))
