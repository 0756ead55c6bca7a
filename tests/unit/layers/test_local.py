import math
from typing import get_args

import pytest
import torch

from regard import Padding
from regard.errors import ArgumentError
from regard.layers import LocalAttention
from regard.layers.mechanisms.luong import LuongScore
from unit.layers.test_luong import printed_score


@pytest.mark.parametrize("score", get_args(LuongScore))
@pytest.mark.parametrize("kind", ["monotonic", "predictive"])
@torch.no_grad()
def test_equals_the_paper_written_as_a_loop(kind: str, score: LuongScore) -> None:
    layer = LocalAttention(4, 4, kind=kind, half_width=2.0, score=score, max_length=9)  # type: ignore[arg-type]
    layer = layer.double()
    if kind == "predictive":
        torch.nn.init.normal_(layer.place_vector, std=2)
    state, source, lengths = torch.randn(2, 5, 4).double(), torch.randn(2, 8, 4).double(), [8, 3]
    memory = layer.remember(source, mask=Padding(torch.tensor(lengths)))
    steps = torch.arange(5)
    vector, context, weights = layer(state, memory, query_positions=steps, return_weights=True)
    for b, length in enumerate(lengths):
        for t in range(5):
            center: float = t
            if kind == "predictive":
                hidden = torch.tanh(layer.place.weight @ state[b, t])
                center = length / (1 + math.exp(-float(layer.place_vector @ hidden)))
            inside = [s for s in range(length) if center - 2 <= s <= center + 2]
            scores = {s: printed_score(layer, state[b, t], source[b, s], s) for s in inside}
            total = sum(map(math.exp, scores.values()))
            align = torch.zeros(8).double()
            for s in inside:
                align[s] = math.exp(scores[s]) / total
                if kind == "predictive":
                    align[s] *= math.exp(-((s - center) ** 2) / (2 * (2 / 2) ** 2))
            torch.testing.assert_close(weights[b, t], align)
            expected = align @ source[b]
            torch.testing.assert_close(context[b, t], expected)
            torch.testing.assert_close(
                vector[b, t], torch.tanh(layer.output.weight @ torch.cat([expected, state[b, t]]))
            )


@pytest.mark.parametrize("kind", ["monotonic", "predictive"])
def test_padding_on_the_left_moves_nothing(kind: str) -> None:
    layer = LocalAttention(4, 5, kind=kind, half_width=1.0)  # type: ignore[arg-type]
    state, source, steps = torch.randn(1, 4, 4), torch.randn(1, 4, 5), torch.arange(4)
    padded = torch.cat([torch.randn(1, 2, 5), source], dim=1)
    mask = torch.tensor([[False, False, True, True, True, True]])
    alone = layer(state, layer.remember(source), query_positions=steps, return_weights=True)
    found = layer(state, layer.remember(padded, mask=mask), query_positions=steps, return_weights=True)
    torch.testing.assert_close(found.context, alone.context)
    torch.testing.assert_close(found.weights[..., 2:], alone.weights)


def test_the_place_is_learned() -> None:
    layer = LocalAttention(4, 5, half_width=3.0)
    memory = layer.remember(torch.randn(2, 9, 5), mask=Padding(torch.tensor([9, 5])))
    center = layer.center(torch.randn(2, 3, 4), memory)
    assert (center > 0).all()
    assert (center < torch.tensor([[9.0], [5.0]])).all()
    layer(torch.randn(2, 3, 4), memory).context.sum().backward()
    assert layer.place_vector.grad is not None
    assert layer.place_vector.grad.abs().sum() > 0


def test_beyond_the_memory_there_is_nothing() -> None:
    layer = LocalAttention(4, 5, kind="monotonic", half_width=1.0)
    found = layer(torch.randn(1, 1, 4), layer.remember(torch.randn(1, 3, 5)), query_positions=torch.tensor([[7]]))
    assert (found.context == 0).all()


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"`half_width` must be positive; received -2.0"):
        LocalAttention(4, 5, half_width=-2.0)
    layer = LocalAttention(4, 5, kind="monotonic")
    with pytest.raises(ArgumentError, match=r"at which step t a single query stands.*At step t: torch.tensor\(\[t\]\)"):
        layer(torch.zeros(1, 1, 4), layer.remember(torch.zeros(1, 3, 5)))


def test_several_states_stand_at_the_first_steps() -> None:
    layer = LocalAttention(4, 5, kind="monotonic", half_width=1.0)
    query, memory = torch.randn(2, 3, 4), layer.remember(torch.randn(2, 6, 5))
    told = layer(query, memory, query_positions=torch.arange(3), return_weights=True)
    assert torch.equal(layer(query, memory, return_weights=True).weights, told.weights)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r'received "predicted". Did you mean predictive\?'):
        LocalAttention(4, 5, kind="predicted")  # type: ignore[arg-type]
