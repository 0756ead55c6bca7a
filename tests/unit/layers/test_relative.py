import math
import re

import pytest
import torch

from regard import attention
from regard.errors import ArgumentError
from regard.layers.position.relative import RelativeBiases, RelativePositions


def shaw_by_hand(query, key, value, keys, values, reach):
    """Shaw et al., equations 3 and 4, one pair at a time."""
    context = torch.zeros(len(query), value.size(-1), dtype=query.dtype)
    shift = len(key) - len(query)
    for i in range(len(query)):
        rows = [max(-reach, min(reach, j - i - shift)) + reach for j in range(len(key))]
        scores = [query[i] @ (key[j] + keys[row]) / math.sqrt(key.size(-1)) for j, row in enumerate(rows)]
        weights = torch.stack(scores).softmax(0)
        for j, row in enumerate(rows):
            context[i] += weights[j] * (value[j] + (0 if values is None else values[row]))
    return context


@pytest.mark.parametrize("value_size", [None, 5])
@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (2, 7)])
def test_it_is_the_papers_double_loop(value_size, queries, keys):
    layer = RelativePositions(2, key_size=4, value_size=value_size).double()
    query, key, value = torch.randn(queries, 4), torch.randn(keys, 4), torch.randn(keys, 5)
    query, key, value = query.double(), key.double(), value.double()
    context = attention(query, key, value, position=layer())
    torch.testing.assert_close(context, shaw_by_hand(query, key, value, layer.keys, layer.values, 2))


def test_gradients_reach_every_distance_within_the_length():
    layer = RelativePositions(1, key_size=4, value_size=4)
    x = torch.randn(2, 5, 4)
    attention(x, x, position=layer()).square().sum().backward()
    assert (layer.keys.grad.abs().sum(-1) > 0).all()
    assert (layer.values.grad.abs().sum(-1) > 0).all()


def test_biases_add_a_number_per_head_and_distance():
    layer = RelativeBiases(2, reach=1)
    with torch.no_grad():
        layer.table.copy_(torch.tensor([[0.0, 0.0, 50.0], [50.0, 0.0, 0.0]]))
    x = torch.zeros(1, 2, 4, 3)
    weights = attention(x, x, position=layer(), return_weights=True).weights[0]
    torch.testing.assert_close(weights[0, 0], torch.tensor([0, 1 / 3, 1 / 3, 1 / 3]))  # all the keys after
    torch.testing.assert_close(weights[1, 3], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0]))  # all the keys before


def test_positions_are_handed_on():
    places = torch.tensor([3])
    assert RelativePositions(2, 4)(places).query_positions is places
    assert RelativeBiases(2, reach=3)(places).query_positions is places


def test_names_and_sizes_of_parameters():
    shapes = {name: tuple(value.shape) for name, value in RelativePositions(3, 4, 5).state_dict().items()}
    assert shapes == {"keys": (7, 4), "values": (7, 5)}
    assert list(RelativePositions(3, 4).state_dict()) == ["keys"]
    assert repr(RelativePositions(3, 4)) == "RelativePositions(3, key_size=4, value_size=None)"
    assert repr(RelativeBiases(2, reach=3)) == "RelativeBiases(2, reach=3)"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: RelativePositions(-1, 4),
            "`reach` must be the largest distance that is distinguished, zero or more; received -1.",
        ),
        (lambda: RelativePositions(1, 0), "`key_size` must be at least 1; received 0."),
        (lambda: RelativePositions(1, 4, 0), "`value_size` must be at least 1; received 0."),
        (lambda: RelativeBiases(0, reach=1), "`num_heads` must be at least 1; received 0."),
        (lambda: RelativeBiases(2, reach=-2), "zero or more; received -2."),
    ],
)
def test_bad_settings(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
