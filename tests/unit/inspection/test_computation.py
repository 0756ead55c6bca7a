"""One query taken apart: every number is the layer's own, whatever its score, mask, bias, normalizer and position."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

from catalogue.models import small
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
    Padding,
    Rotary,
    ScaledDot,
    Shaw,
    Sparsemax,
    attention,
)
from regard.decoding import Search, decode
from regard.errors import ArgumentError
from regard.inspection import computation, computation_figure, intervene, record
from regard.layers import AdditiveAttention, Attend, MultiHeadAttention, SelfAttention
from regard.models import build_model
from regard.tasks.translation.presets import preset
from unit.inspection.hugging_face_models import make_batch, make_model

SIZE, QUERIES, KEYS = 4, 3, 5


def call(normalize=None, *, batch=(2, 2), grouped=False, **given):
    """One call of the operator: the layer, and its arguments."""
    heads = (batch[0], 1) if grouped else batch
    query, key, value = (
        torch.randn(*batch, QUERIES, SIZE),
        torch.randn(*heads, KEYS, SIZE),
        torch.randn(*heads, KEYS, 6),
    )
    attend = (Attend() if normalize is None else Attend(normalize=normalize)).eval()
    return attend, {"query": query, "key": key, "value": value, "grouped": grouped, "score": ScaledDot()} | given


def apart(given, **place):
    """Take a query of such a call apart."""
    attend, arguments = given
    return computation(attend, lambda: attend(**arguments), layer="Attend", **place)


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
def test_every_part_ends_in_the_operators_own_numbers(name):
    attend, arguments = call(**parameters()[name])
    whole = attention(**arguments, normalize=attend.normalize, return_weights=True)
    for example, head, query in [(0, 0, 0), (1, 1, 2)]:
        found = apart((attend, arguments), example=example, head=head, query=query)
        torch.testing.assert_close(found.weights, whole.weights[example, head, query])
        torch.testing.assert_close(found.output, whole.context[example, head, query])
        assert found.error < 1e-6
        mixed = found.weighted_values.sum(0) + (0 if found.extra is None else found.extra)
        torch.testing.assert_close(mixed, found.context)
        torch.testing.assert_close(found.score.dense(found.query[None], found.keys)[0], found.compared)
        total = found.compared + sum(part for part in (found.bias, found.added) if part is not None)
        torch.testing.assert_close(total, found.scores)


def test_a_position_is_seen_where_it_acts():
    turned = apart(call(position=Rotary()), query=1)
    assert turned.unturned is not None
    assert not torch.equal(turned.unturned[0], turned.query)
    assert (turned.added, turned.factors, turned.extra) == (None, None, None)
    added = apart(call(position=Alibi(slopes=torch.tensor(0.5))), query=2)
    assert torch.equal(added.added, torch.tensor([-2.0, -1.5, -1.0, -0.5, -0.0]))
    window = apart(
        call(batch=(1, 1), position=GaussianWindow(center=torch.full((1, 1, QUERIES), 1.0), half_width=2)), query=0
    )
    torch.testing.assert_close(window.factors, torch.tensor([0.6065, 1.0, 0.6065, 0.1353, 0.0]), atol=1e-4, rtol=0)
    assert window.mask.tolist() == [True, True, True, True, False]
    torch.testing.assert_close(window.normalized * window.factors, window.weights)
    assert apart(call(), query=0).position is None


def test_a_score_has_the_parameters_of_its_head():
    given = call(score=Additive(torch.tensor([[1.0, 0, 0, 0], [0, 2.0, 0, 0]])))
    assert apart(given, query=0, head=1).score.vector.tolist() == [0, 2.0, 0, 0]
    scaled = call(score=Gaussian(torch.tensor([0.5, 3.0]).view(2, 1, 1)))
    assert apart(scaled, query=0, head=1).score.bandwidth == 3.0


def test_adds_up_to_what_the_layer_gives() -> None:
    layer, x = MultiHeadAttention(8, 4, num_key_value_heads=2, normalize=Sparsemax()), torch.randn(2, 5, 8)
    mask = Causal() & Padding(torch.tensor([5, 3]))
    heads = []
    for head in range(4):
        found = computation(layer, lambda: layer(x, mask=mask), layer="*", example=1, head=head, query=2)
        assert found.error < 1e-6
        assert isinstance(found.normalizer, Sparsemax)
        assert found.mask is not None
        assert found.mask.tolist() == [True, True, True, False, False]
        torch.testing.assert_close(found.scores[:3], found.keys[:3] @ found.query / 2**0.5)
        assert not found.weights[3:].any()
        heads.append(found.context)
    torch.testing.assert_close(layer.output(torch.cat(heads)), layer(x, mask=mask)[1, 2])


def test_queries_are_counted_over_calls_or_in_one() -> None:
    layer = AdditiveAttention(6, 8, 4)
    memory, states = layer.remember(torch.randn(1, 5, 8)), torch.randn(1, 6, 6).split((4, 1, 1), dim=1)

    def run() -> None:
        for state in states:
            layer(state, memory)

    words = list("abcde")
    found = computation(layer, run, layer="*", step=2, query=0, key_labels=words[:4], query_labels=["x"])
    torch.testing.assert_close(found.weights, found.scores.softmax(-1))
    torch.testing.assert_close(found.weighted_values.sum(0), layer(states[2], memory)[0, 0])
    assert (found.layer, found.query_label) == ("AdditiveAttention", "x")
    assert found.key_labels == ("a", "b", "c", "d", "")
    again = computation(layer, run, layer="*", query=5, query_labels=["x"])
    assert torch.equal(again.output, found.output)
    assert (again.query_label, again.key_labels) == ("5", ("0", "1", "2", "3", "4"))
    for place, message in {
        ("step", 3): "`step` must be from 0 to 2; received 3",
        ("query", 6): "`query` must be from 0 to 5; received 6",
        ("query", -1): "`query` must be from 0 to 5; received -1",
        ("head", 1): "`head` must be from 0 to 0; received 1",
        ("example", 1): "`example` must be from 0 to 0; received 1",
        ("key_labels", "abcdef"): "`key_labels` must name at most 5 positions; received one string",
        ("query_labels", tuple("abcdefg")): "`query_labels` must name at most 6 positions; received 7",
    }.items():
        with pytest.raises(ArgumentError, match=message):
            computation(layer, run, **({"layer": "*", "query": 0} | dict([place])))
    with pytest.raises(ArgumentError, match="`query` must be from 0 to 3; received 4"):
        computation(layer, run, layer="*", step=0, query=4)
    with pytest.raises(ArgumentError, match="`run` must call AdditiveAttention; received one that does not"):
        computation(layer, list, layer="*", query=0)
    both = nn.ModuleList([layer, SelfAttention()])
    with pytest.raises(ArgumentError, match=r"`layer` must match one layer; received \*, which matches 0, 1"):
        computation(both, run, layer="*", query=0)
    assert not layer.attend._forward_hooks


@pytest.mark.parametrize("later", [(1, 3), (3, 1)])
def test_queries_are_not_counted_over_calls_that_may_be_hypotheses(later) -> None:
    layer = SelfAttention()

    def run() -> None:
        layer(torch.ones(1, 1, 4))
        layer(torch.ones(*later, 4))

    assert computation(layer, run, layer="*", query=0, query_labels=["w"]).query_label == "w"
    message = (
        "`step` must say which call of SelfAttention is meant, from 0 to 1; received None, but call 1 has queries of "
        f"shape {later}, not (1, 1): hypotheses of a beam, or another text. Pass `step`, or search greedily"
    )
    with pytest.raises(ArgumentError, match=re.escape(message)):
        computation(layer, run, layer="*", query=1)
    assert computation(layer, run, layer="*", step=1, example=later[0] - 1, query=later[1] - 1).error == 0


@pytest.mark.parametrize(
    ("name", "layer", "shape"),
    [
        ("bahdanau", "decoder*", (1, 3)),
        ("transformer-tiny", "decoder.0.cross_attention", (1, 2, 3)),
        ("transformer-tiny", "decoder.0.self_attention", (3, 2, 1)),
    ],
)
def test_hypotheses_are_not_taken_for_words(name, layer, shape) -> None:
    torch.manual_seed(0)
    model = build_model(small(preset(name)), source_vocabulary=11, target_vocabulary=11).eval()

    def run(beam: int) -> None:
        decode(model, torch.tensor([[4, 5, 6, 3]]), search=Search(beam=beam, max_length=6), start=2, end=3)

    with pytest.raises(ArgumentError, match=re.escape(f"but call 1 has queries of shape {shape}, not")):
        computation(model, lambda: run(3), layer=layer, query=2)
    greedy = [
        computation(model, lambda: run(1), layer=layer, **place) for place in ({"query": 2}, {"step": 2, "query": 0})
    ]
    assert torch.equal(greedy[0].weights, greedy[1].weights)
    assert greedy[0].error < 1e-6


def test_nothing_given_is_the_models_own_memory() -> None:
    vector = nn.Parameter(torch.randn(SIZE))
    found = apart(call(score=Additive(vector)), query=0)
    before = found.score.vector.clone()
    with torch.no_grad():
        vector.add_(1)
    assert torch.equal(found.score.vector, before)


def test_the_arguments_are_those_of_the_call_even_if_they_change_afterwards() -> None:
    layer, x = SelfAttention(), torch.randn(1, 3, 4)
    before = x.clone()

    def run() -> None:
        with torch.inference_mode():
            layer(x)
        x.zero_()

    found = computation(layer, run, layer="*", query=1)
    torch.testing.assert_close(found.keys, before[0])
    torch.testing.assert_close(found.context, layer(before)[0, 1])
    assert not found.values.is_inference()


def test_weights_that_are_forced_are_told_beside_the_models_own() -> None:
    layer, x = SelfAttention(), torch.eye(2)[None]
    with intervene(layer, weights={"*": lambda weights: weights.flip(-1)}):
        found = computation(layer, lambda: layer(x), layer="*", query=0)
    torch.testing.assert_close(found.normalized, torch.tensor([0.7311, 0.2689]), atol=1e-4, rtol=0)
    torch.testing.assert_close(found.weights, found.normalized.flip(-1))
    assert (found.position, found.factors, found.unturned) == (None, None, None)
    assert found.error < 1e-6


@pytest.mark.parametrize("name", ["t5", "gemma2", "gpt_oss"])
def test_hugging_face_models_are_taken_apart(name) -> None:
    model, batch = make_model(name, "eager"), make_batch(name)
    with record(model) as trace:
        model(**batch)
    for read in trace:
        found = computation(model, lambda: model(**batch), layer=read.layer, example=1, head=3, query=4)
        torch.testing.assert_close(found.weights, read.weights[1, 3, 4])
        masked = found.scores if found.mask is None else found.scores.masked_fill(~found.mask, -torch.inf)
        torch.testing.assert_close(masked, read.scores[1, 3, 4])
        assert found.error < 1e-5


def test_draws_the_three_steps() -> None:
    layer, x = MultiHeadAttention(64, 2), torch.randn(1, 4, 64)
    found = computation(layer, lambda: layer(x, mask=Causal()), layer="*", query=2, key_labels=list("abcd"))
    picture = computation_figure(found)
    picture.draw_without_rendering()
    scores, weights, summed = picture.maps
    torch.testing.assert_close(weights.values, found.weights.double())
    torch.testing.assert_close(scores.values[:3], found.scores[:3].double())
    torch.testing.assert_close(summed.values[-1], found.context[:24].double())
    assert summed.labels[0] == ("a", "b", "c", "d", "context")
    assert picture.axes[0].get_title() == "1. scores: ScaledDot"
    assert picture.axes[1].get_title() == "2. weights: Softmax"
    assert "24 of 32 features" in " ".join(axes.get_title() for axes in picture.axes).replace("\n", " ")
    assert summed.mask is not None
    assert not summed.mask[3].any()


def test_a_query_that_sees_nothing_and_one_key(tmp_path: Path) -> None:
    layer, x = SelfAttention(), torch.randn(1, 1, 3)
    blind = computation(layer, lambda: layer(x, mask=Padding(torch.tensor([0]))), layer="*", query=0)
    assert blind.context.tolist() == [0.0, 0.0, 0.0]
    computation_figure(blind).save(tmp_path / "a.png")
    computation_figure(computation(layer, lambda: layer(x), layer="*", query=0)).draw_without_rendering()
