"""Positions by the papers' own properties."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import Alibi, Causal, Dot, GaussianWindow, Padding, RelativeBias, Rotary, Shaw, Window, attention


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def close(found: Any, truth: Any, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(found, truth, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_rotary_scores_see_the_distance_alone(layout: Any) -> None:
    query, key = draw(5, 8), draw(7, 8)

    def weights(shift: int) -> Tensor:
        position = Rotary(
            layout=layout, query_positions=torch.arange(5) + shift, key_positions=torch.arange(7) * 3 + shift
        )
        return attention(query, key, position=position, return_weights=True).weights

    close(weights(0), weights(1000), 1e-9)
    assert not torch.allclose(weights(0), attention(query, key, return_weights=True).weights)


def test_rotary_by_complex_numbers() -> None:
    """Su et al., equation 12: a pair is a complex number, turned by e^{imθ}."""
    query, key, width = draw(1, 6), draw(4, 6), 6
    angles = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    turn = torch.polar(torch.ones(4, 3, dtype=torch.float64), torch.arange(4).unsqueeze(1) * angles)
    turned_key = torch.view_as_real(torch.view_as_complex(key.view(4, 3, 2)) * turn).flatten(1)
    turned_query = torch.view_as_real(torch.view_as_complex(query.view(1, 3, 2)) * turn[3:]).flatten(1)
    truth = (turned_query @ turned_key.mT / 6**0.5).softmax(-1)
    close(attention(query, key, position=Rotary(), return_weights=True).weights, truth)


def test_the_two_layouts_of_rotary_are_one_reordering() -> None:
    query, key, order = draw(5, 8), draw(7, 8), torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])
    pairs = attention(query[:, order], key[:, order], key, position=Rotary(layout="pairs"))
    close(attention(query, key, key, position=Rotary(layout="halves")), pairs)


def test_rotary_turns_the_first_features_only() -> None:
    query, key = draw(5, 8), draw(7, 8)
    position = Rotary(size=4)
    turned_query, turned_key = position.rotate(query, key, (5, 7))
    assert torch.equal(turned_query[:, 4:], query[:, 4:])
    assert torch.equal(turned_key[:, 4:], key[:, 4:])
    close(turned_key.norm(dim=-1), key.norm(dim=-1))
    half = Rotary().rotate(query[:, :4], key[:, :4], (5, 7))
    close(turned_query[:, :4], half[0])


def test_the_values_are_not_turned() -> None:
    key = draw(7, 8)
    context = attention(draw(5, 8), key, position=Rotary(), mask=Window(0, 0))
    close(context, key[2:])


def test_alibi_slopes_are_those_of_the_paper() -> None:
    close(Alibi.of_heads(8).slopes.double(), torch.tensor([2.0**-h for h in range(1, 9)], dtype=torch.float64))
    twelve = Alibi.of_heads(12).slopes
    close(twelve[:8], Alibi.of_heads(8).slopes)
    close(twelve[8:], Alibi.of_heads(16).slopes[0::2][:4])
    assert len({round(slope, 6) for slope in Alibi.of_heads(24).slopes.tolist()}) == 24


def test_alibi_with_a_causal_mask_is_the_papers() -> None:
    query, key, slopes = draw(2, 4, 5, 8), draw(2, 4, 5, 8), Alibi.of_heads(4).slopes.double()
    bias = torch.stack([slope * torch.arange(5, dtype=torch.float64) for slope in slopes])[:, None]
    scores = query @ key.mT / 8**0.5 + bias  # m · [0, 1, 2, …], the same up to a constant per row
    truth = scores.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -torch.inf).softmax(-1) @ key
    close(attention(query, key, mask=Causal(), position=Alibi(slopes=slopes)), truth)


def test_relative_bias_clips() -> None:
    table = torch.tensor([-5.0, 0.0, 7.0], dtype=torch.float64)
    bias = RelativeBias(table=table).bias(Dot(), draw(3, 1), draw(3, 1), (3, 3))
    assert bias.tolist() == [[0, 7, 7], [-5, 0, 7], [-5, -5, 0]]


def test_shaw_makes_no_vector_per_pair() -> None:
    """What the paper writes with a (query, key, width) tensor, written out here, ours gives without it."""
    query, key, value = draw(2, 5, 4), draw(2, 7, 4), draw(2, 7, 3)
    keys, values = draw(5, 4), draw(9, 3)
    offsets = torch.arange(7) - (torch.arange(5) + 2).unsqueeze(1)
    key_vectors, value_vectors = keys[offsets.clamp(-2, 2) + 2], values[offsets.clamp(-4, 4) + 4]
    scores = torch.einsum("btd,btsd->bts", query, key.unsqueeze(1) + key_vectors) / 2
    weights = scores.softmax(-1)
    truth = torch.einsum("bts,btsd->btd", weights, value.unsqueeze(1) + value_vectors)
    found = attention(query, key, value, position=Shaw(keys=keys, values=values), return_weights=True)
    close(found.context, truth)
    close(found.weights, weights)


def test_the_gaussian_window_is_luongs() -> None:
    """Equations 7 and 10: a softmax over the window, times the Gaussian, not normalized again."""
    query, key, center = draw(1, 2, 4), draw(1, 9, 4), torch.tensor([[3.3, 7.9]], dtype=torch.float64)
    found = attention(
        query, key, score=Dot(), position=GaussianWindow(center=center, half_width=2), return_weights=True
    )
    for row, place in enumerate(center[0].tolist()):
        inside = [j for j in range(9) if abs(j - place) <= 2]
        align = (query[0, row] @ key[0, inside].mT).softmax(-1)
        gauss = torch.tensor([math.exp(-((j - place) ** 2) / 2) for j in inside], dtype=torch.float64)
        truth = torch.zeros(9, dtype=torch.float64).scatter(0, torch.tensor(inside), align * gauss)
        close(found.weights[0, row], truth)
    assert (found.weights.sum(-1) < 1).all()


def test_the_gaussian_window_learns_where_to_look() -> None:
    center = torch.tensor([[3.3]], dtype=torch.float64, requires_grad=True)
    value = torch.arange(9, dtype=torch.float64).view(1, 9, 1)
    context = attention(draw(1, 1, 4), draw(1, 9, 4), value, position=GaussianWindow(center=center, half_width=3.0))
    assert torch.autograd.grad(context.sum(), center)[0].any()


@pytest.mark.parametrize("poison", [torch.nan, torch.inf, 1e30])
def test_a_window_that_is_nowhere_is_a_row_with_nothing(poison: float) -> None:
    """A padded query may predict anything, NaN too."""
    center = torch.tensor([[3.3, poison]], dtype=torch.float64, requires_grad=True)
    position = GaussianWindow(center=center, half_width=2.0)
    query, key = draw(1, 2, 4), draw(1, 9, 4)
    found = attention(query, key, position=position, return_weights=True)
    assert not found.context[0, 1].any()
    assert not found.weights[0, 1].any()
    slope = torch.autograd.grad(found.context.sum(), center)[0]
    assert slope.isfinite().all()
    assert slope[0, 1] == 0


def test_the_gaussian_window_takes_places_of_the_keys() -> None:
    query, key, places = draw(2, 3, 4), draw(2, 5, 4), torch.tensor([[0, 2, 4, 6, 8], [8, 6, 4, 2, 0]])
    center = torch.tensor([[1.0, 4.0, 7.5]], dtype=torch.float64)  # one for the whole batch
    ragged = attention(query, key, position=GaussianWindow(center=center, half_width=2.5, key_positions=places))
    for element in range(2):
        own = GaussianWindow(center=center[0], half_width=2.5, key_positions=places[element])
        close(ragged[element], attention(query[element], key[element], position=own))


def test_a_window_and_a_mask_both_forbid() -> None:
    center = torch.full((2, 3), 1.0, dtype=torch.float64)
    position = GaussianWindow(center=center, half_width=1.5)
    found = attention(
        draw(2, 3, 4), draw(2, 6, 4), mask=Padding(torch.tensor([2, 0])), position=position, return_weights=True
    )
    assert found.weights[0, :, :2].all()
    assert not found.weights[0, :, 2:].any()
    assert not found.context[1].any()
