import cmath
import re

import pytest
import torch

from regard import Rotary, attention
from regard.errors import ArgumentError
from regard.layers.position.rotary import RotaryPositions


def turned(vector: list[float], place: int, layout: str) -> list[float]:
    """Su et al., equation 34: each pair as a complex number, times e^{i m θ}."""
    half = len(vector) // 2
    pairs = [(2 * i, 2 * i + 1) if layout == "pairs" else (i, i + half) for i in range(half)]
    result = [0.0] * len(vector)
    for i, (a, b) in enumerate(pairs):
        number = complex(vector[a], vector[b]) * cmath.exp(1j * place * 10000 ** (-2 * i / len(vector)))
        result[a], result[b] = number.real, number.imag
    return result


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_it_scores_as_complex_numbers_do(layout):
    query, key = torch.randn(3, 6, dtype=torch.float64), torch.randn(5, 6, dtype=torch.float64)
    places = torch.tensor([4, 9, 2])
    position = RotaryPositions(layout=layout)(places)
    weights = attention(query, key, position=position, return_weights=True).weights
    queries = torch.tensor([turned(row, int(m), layout) for row, m in zip(query.tolist(), places, strict=True)])
    keys = torch.tensor([turned(row, n, layout) for n, row in enumerate(key.tolist())])
    torch.testing.assert_close(weights, ((queries @ keys.mT).double() / 6**0.5).softmax(-1), rtol=0, atol=1e-6)


def test_it_hands_on_its_settings_and_positions():
    places = torch.tensor([1, 2])
    position = RotaryPositions(base=500.0, layout="halves", size=4)(places, key_positions=places)
    assert isinstance(position, Rotary)
    assert (position.base, position.layout, position.size) == (500.0, "halves", 4)
    assert position.query_positions is places
    assert position.key_positions is places
    assert repr(RotaryPositions()) == "RotaryPositions(base=10000, layout='pairs', size=None)"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "half"}, '`layout` must be one of pairs, halves; received "half". Did you mean halves?'),
        ({"size": 3}, "`size` must be an even number of features to turn, or None for all; received 3."),
        ({"base": 0.0}, "`base` must be above 1; received 0.0."),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        RotaryPositions(**arguments)
