import math
import re

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers.position.sinusoidal import SinusoidalPositions, sinusoids


def by_hand(position: int, size: int, order: str) -> list[float]:
    """Vaswani et al., section 3.5, one number at a time."""
    row = []
    for i in range(size // 2):
        angle = position / 10000 ** (2 * i / size)
        pair = [math.sin(angle), math.cos(angle)]
        row += pair[::-1] if order == "cos-sin" else pair
    return [*row[::2], *row[1::2]] if order == "halves" else row


@pytest.mark.parametrize("order", ["sin-cos", "cos-sin", "halves"])
def test_table_is_the_papers(order):
    table = SinusoidalPositions(10, order=order).table(50)
    expected = torch.tensor([by_hand(t, 10, order) for t in range(50)], dtype=torch.float64)
    torch.testing.assert_close(table, expected, rtol=0, atol=1e-14)


def test_order_swaps_the_features_of_each_pair():
    first, second = SinusoidalPositions(8).table(5), SinusoidalPositions(8, order="cos-sin").table(5)
    assert torch.equal(first.unflatten(-1, (-1, 2)).flip(-1), second.unflatten(-1, (-1, 2)))


@pytest.mark.parametrize("order", ["sin-cos", "cos-sin", "halves"])
@pytest.mark.parametrize("offset", [0, 1, 7, -3, 500])
def test_rotation_moves_every_position_to_machine_precision(order, offset):
    positions = SinusoidalPositions(12, order=order)
    start = max(0, -offset)
    table = positions.table(1000)
    moved = table[start : start + 400] @ positions.rotation(offset).mT
    torch.testing.assert_close(moved, table[start + offset : start + offset + 400], rtol=0, atol=5e-13)


def test_rotation_is_block_diagonal_orthogonal_and_a_group():
    positions = SinusoidalPositions(6)
    matrix = positions.rotation(3)
    block = torch.block_diag(*[torch.ones(2, 2)] * 3).bool()
    assert (matrix[~block] == 0).all()
    identity = torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(matrix @ matrix.mT, identity, rtol=0, atol=1e-15)
    torch.testing.assert_close(matrix @ positions.rotation(-3), identity, rtol=0, atol=1e-15)
    torch.testing.assert_close(matrix @ matrix, positions.rotation(6), rtol=0, atol=1e-15)
    assert torch.equal(positions.rotation(0), identity)


def test_rotation_of_a_near_position_is_exact():
    positions = SinusoidalPositions(64)
    moved = positions.table(20) @ positions.rotation(5).mT
    torch.testing.assert_close(moved, positions.table(25)[5:], rtol=0, atol=4e-15)


def test_explicit_positions_pick_rows_also_per_batch_element():
    positions = SinusoidalPositions(4).double()
    table, zeros = positions.table(100), torch.zeros(2, 3, 4, dtype=torch.float64)
    assert torch.equal(positions(zeros, torch.tensor([7, 1, 99]))[0], table[[7, 1, 99]])
    places = torch.tensor([[3, 4, 5], [0, 1, 2]])
    assert torch.equal(positions(zeros, places), table[places])


def test_far_positions_are_right_in_float32():
    far = sinusoids(torch.tensor([10**6]), 4, dtype=torch.float32)
    torch.testing.assert_close(far[0].double(), torch.tensor(by_hand(10**6, 4, "sin-cos")).double(), rtol=0, atol=1e-6)


def test_it_keeps_dtype_and_has_nothing_to_learn():
    positions = SinusoidalPositions(4)
    assert positions(torch.zeros(3, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert not list(positions.parameters())
    assert not positions.state_dict()
    assert repr(positions) == "SinusoidalPositions(4, order='sin-cos', base=10000)"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"size": 5},
            "`size` must be even and positive, since features come in pairs of sine and cosine; received 5.",
        ),
        (
            {"size": 4, "order": "sin-cosine"},
            '`order` must be one of sin-cos, cos-sin, halves; received "sin-cosine". Did you mean sin-cos?',
        ),
        ({"size": 4, "base": 1.0}, "`base` must be above 1; received 1.0."),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        SinusoidalPositions(**arguments)


@pytest.mark.usefixtures("unchecked")
def test_bad_width():
    with pytest.raises(ArgumentError, match="`embedding` must be 4 wide; received 6"):
        SinusoidalPositions(4)(torch.zeros(1, 2, 6))
