import math
from typing import get_args

import pytest
import torch
from torch import Tensor

from regard import Padding
from regard.errors import ArgumentError
from regard.layers import LuongAttention
from regard.layers.mechanisms.luong import LuongScore


@torch.no_grad()
def printed_score(layer: LuongAttention, state: Tensor, memory: Tensor, place: int) -> float:
    """Compute one score as section 3.1 prints it."""
    match layer.score:
        case "dot":
            return float(state @ memory)
        case "scaled-dot":
            return float(state @ memory) / math.sqrt(4)
        case "general":
            return float(state @ layer.matrix @ memory)
        case "concat":
            joined = torch.cat([layer.query.weight, layer.key.weight], dim=1)  # type: ignore[list-item]
            return float(layer.vector @ torch.tanh(joined @ torch.cat([state, memory])))
        case "location":
            return float(layer.matrix.mT[place] @ state)


@pytest.mark.parametrize("score", get_args(LuongScore))
def test_equals_the_paper_written_as_a_loop(score: LuongScore) -> None:
    layer = LuongAttention(4, 4, score=score, hidden_size=3 if score == "concat" else None, max_length=7).double()
    state, source, lengths = torch.randn(2, 3, 4).double(), torch.randn(2, 6, 4).double(), [6, 4]
    memory = layer.remember(source, mask=Padding(torch.tensor(lengths)))
    vector, context, weights = layer(state, memory, return_weights=True)
    for b, length in enumerate(lengths):
        for t in range(3):
            scores = [printed_score(layer, state[b, t], source[b, s], s) for s in range(length)]
            total = sum(map(math.exp, scores))
            align = torch.tensor([math.exp(score) / total for score in scores]).double()
            expected = align @ source[b, :length]
            torch.testing.assert_close(weights[b, t, :length], align)
            torch.testing.assert_close(context[b, t], expected)
            joined = torch.tanh(layer.output.weight @ torch.cat([expected, state[b, t]]))
            torch.testing.assert_close(vector[b, t], joined)


def test_weights_only_if_asked_for() -> None:
    layer = LuongAttention(4, 5)
    assert layer(torch.zeros(1, 2, 4), layer.remember(torch.zeros(1, 3, 5))).weights is None


def test_parameters_start_as_printed() -> None:
    for score in get_args(LuongScore):
        for parameter in LuongAttention(40, 40, score=score, max_length=30).parameters():
            assert parameter.abs().max() <= 0.1
            assert parameter.std().item() == pytest.approx(0.1 / math.sqrt(3), rel=0.3)


def test_bad_arguments() -> None:
    for score in ("dot", "scaled-dot"):
        message = f'for score "{score}"; received 4. Score "general" or "concat" takes unequal widths'
        with pytest.raises(ArgumentError, match=message):
            LuongAttention(3, 4, score=score)
    with pytest.raises(ArgumentError, match='`max_length` must be the longest source, for score "location"; received'):
        LuongAttention(3, 4, score="location")
    layer = LuongAttention(3, 4, score="location", max_length=5)
    with pytest.raises(ArgumentError, match="at most 5 positions"):
        layer(torch.zeros(1, 2, 3), layer.remember(torch.zeros(1, 6, 4)))
    with pytest.raises(ArgumentError, match=r"`value` must have shape \(batch, length, 4\); received \(1, 6, 5\)"):
        layer.remember(torch.zeros(1, 6, 4), torch.zeros(1, 6, 5))


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_score_names_the_nearest() -> None:
    message = (
        '`score` must be one of dot, scaled-dot, general, concat, location; received "generel". Did you mean general?'
    )
    with pytest.raises(ArgumentError, match=message.replace("?", r"\?")):
        LuongAttention(3, 4, score="generel")  # type: ignore[arg-type]
