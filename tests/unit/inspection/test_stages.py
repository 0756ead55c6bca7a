"""Stages: taken apart, a call of the operator is still the same call."""

import pytest
import torch
from torch import nn

from regard import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Concat,
    Cosine,
    Dot,
    Entmax,
    Gaussian,
    GaussianWindow,
    Location,
    Rotary,
    ScaledDot,
    Shaw,
    Sparsemax,
    attention,
)
from regard.errors import ArgumentError
from regard.inspection.stages import SeamCall, row_of, seam_calls, stages
from regard.layers import Attend, MultiHeadAttention, SelfAttention

SIZE, QUERIES, KEYS = 4, 3, 5


def call(normalize=None, *, batch=(2, 2), grouped=False, **given):
    """One call at the seam, as a hook sees it."""
    heads = (batch[0], 1) if grouped else batch
    query, key, value = (
        torch.randn(*batch, QUERIES, SIZE),
        torch.randn(*heads, KEYS, SIZE),
        torch.randn(*heads, KEYS, 6),
    )
    attend = (Attend() if normalize is None else Attend(normalize=normalize)).eval()
    arguments = {"query": query, "key": key, "value": value, "grouped": grouped, "score": ScaledDot()} | given
    found = attend(**arguments)
    return SeamCall(attend=attend, given=arguments, context=found)


def parameters():
    return {
        "dot": {"score": Dot()},
        "scaled": {"score": ScaledDot(torch.rand(2, 1, 1) + 0.5)},
        "bilinear": {"score": Bilinear(torch.randn(2, SIZE, SIZE))},
        "additive": {"score": Additive(torch.randn(2, SIZE))},
        "concat": {"score": Concat(torch.randn(3, 2 * SIZE), torch.randn(3))},
        "gaussian": {"score": Gaussian(torch.rand(2, 1, 1) + 0.5)},
        "cosine": {"score": Cosine(0.3)},
        "location": {"score": Location(torch.randn(SIZE, 9))},
        "causal": {"mask": Causal()},
        "biased": {"bias": torch.randn(QUERIES, KEYS).masked_fill(torch.eye(QUERIES, KEYS).bool(), -torch.inf)},
        "rotary": {"position": Rotary()},
        "alibi": {"position": Alibi(slopes=torch.tensor([0.5, 2.0]))},
        "shaw": {"position": Shaw(keys=torch.randn(3, SIZE), values=torch.randn(3, 6))},
        "window": {"position": GaussianWindow(center=torch.rand(2, 2, QUERIES) * KEYS, half_width=1.5)},
        "grouped": {"grouped": True},
        "sparse": {"normalize": Sparsemax()},
        "entmax": {"normalize": Entmax(1.3), "mask": Causal()},
    }


@pytest.mark.parametrize("name", parameters())
def test_stages_end_in_the_operators_own_numbers(name):
    given = call(**parameters()[name])
    arguments = dict(given.given, normalize=given.attend.normalize)
    whole = attention(**arguments, return_weights=True)
    for example, head, query in [(0, 0, 0), (1, 1, 2)]:
        found = stages(given, example=example, head=head, query=query)
        torch.testing.assert_close(found.weights, whole.weights[example, head, query])
        torch.testing.assert_close(found.given, whole.context[example, head, query])
        assert found.error < 1e-6
        mixed = found.weights @ found.values + (0 if found.extra is None else found.extra)
        torch.testing.assert_close(mixed, found.context)
        torch.testing.assert_close(found.score.dense(found.query[None], found.keys)[0], found.compared)
        total = found.compared + sum(part for part in (found.bias, found.added) if part is not None)
        torch.testing.assert_close(total, found.scores)


def test_a_position_is_seen_where_it_acts():
    turned = stages(call(position=Rotary()), query=1)
    assert turned.unturned is not None
    assert not torch.equal(turned.unturned[0], turned.query)
    assert (turned.added, turned.factors, turned.extra) == (None, None, None)
    added = stages(call(position=Alibi(slopes=torch.tensor(0.5))), query=2)
    assert torch.equal(added.added, torch.tensor([-2.0, -1.5, -1.0, -0.5, -0.0]))
    window = stages(
        call(batch=(1, 1), position=GaussianWindow(center=torch.full((1, 1, QUERIES), 1.0), half_width=2)), query=0
    )
    torch.testing.assert_close(window.factors, torch.tensor([0.6065, 1.0, 0.6065, 0.1353, 0.0]), atol=1e-4, rtol=0)
    assert window.mask.tolist() == [True, True, True, True, False]
    torch.testing.assert_close(window.normalized * window.factors, window.weights)
    assert stages(call(), query=0).position is None


def test_a_score_has_the_parameters_of_its_head():
    given = call(score=Additive(torch.tensor([[1.0, 0, 0, 0], [0, 2.0, 0, 0]])))
    assert stages(given, query=0, head=1).score.vector.tolist() == [0, 2.0, 0, 0]
    scaled = call(score=Gaussian(torch.tensor([0.5, 3.0]).view(2, 1, 1)))
    assert stages(scaled, query=0, head=1).score.bandwidth == 3.0


def test_calls_are_gathered_and_queries_found_among_the_last():
    layer, x = MultiHeadAttention(SIZE, 2).eval(), torch.randn(1, 4, SIZE)
    with seam_calls(nn.ModuleDict({"one": layer}), layer="one") as calls, torch.no_grad():
        layer(x)  # a search that came before
        for place in range(3):
            layer(x[:, place : place + 1], layer.remember(x))
    assert len(calls) == 4
    found, query = row_of(calls, 2, rows=3)
    assert (found, query) == (calls[3], 0)
    assert row_of(calls[:1], 3, rows=4) == (calls[0], 3)
    assert stages(found, query=query, head=1).error < 1e-6
    assert not layer.attend._forward_hooks


def test_what_is_not_there_is_refused():
    layer = SelfAttention()
    both = nn.ModuleDict({"a": SelfAttention(), "b": SelfAttention()})
    with (
        pytest.raises(ArgumentError, match=r"`layer` must match one layer; received \*, which matches a, b\."),
        seam_calls(both, layer="*"),
    ):
        pass
    with seam_calls(layer, layer="SelfAttention") as calls:
        layer(torch.eye(3)[None])
    with pytest.raises(ArgumentError, match=r"`query` must be from 0 to 2; received 3\."):
        row_of(calls, 3, rows=3)
    with pytest.raises(ArgumentError, match=r"`calls` must hold 5 queries; received 3\."):
        row_of(calls, 4, rows=5)
    with pytest.raises(ArgumentError, match=r"`head` must be from 0 to 0; received 1\."):
        stages(calls[0], query=0, head=1)
