import re

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers.position.learned import LearnedPositions


def test_it_adds_the_row_of_each_position():
    layer = LearnedPositions(6, 4)
    embedding = torch.randn(2, 3, 4)
    for t in range(3):
        torch.testing.assert_close(layer(embedding)[:, t], embedding[:, t] + layer.table[t])


def test_explicit_positions_pick_rows_also_per_batch_element():
    layer, zeros = LearnedPositions(6, 4), torch.zeros(2, 3, 4)
    places = torch.tensor([[5, 0, 2], [1, 1, 3]])
    assert torch.equal(layer(zeros, places), layer.table[places])
    assert torch.equal(layer(zeros, places[0])[1], layer.table[places[0]])


def test_names_and_size_of_its_parameters():
    assert {name: tuple(value.shape) for name, value in LearnedPositions(6, 4).state_dict().items()} == {
        "table": (6, 4)
    }


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LearnedPositions(0, 4), "`max_length` must be at least 1; received 0."),
        (lambda: LearnedPositions(6, 0), "`size` must be at least 1; received 0."),
        (
            lambda: LearnedPositions(6, 4)(torch.zeros(1, 7, 4)),
            "`embedding` must have at most max_length = 6 positions; received 7. SinusoidalPositions has no longest",
        ),
        (lambda: LearnedPositions(6, 4)(torch.zeros(1, 2, 5)), "`embedding` must be 4 wide; received 5."),
        (
            lambda: LearnedPositions(6, 4)(torch.zeros(1, 2, 4), torch.tensor([1, 6])),
            "`positions` must be from 0 to 5; received numbers from 1 to 6.",
        ),
        (
            lambda: LearnedPositions(6, 4)(torch.zeros(1, 2, 4), torch.tensor([-1, 2])),
            "`positions` must be from 0 to 5; received numbers from -1 to 2.",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
