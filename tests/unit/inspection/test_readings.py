"""What is read from one call, or by running a model again: against loops and by hand."""

import math

import pytest
import torch
from torch import Tensor, nn

from catalogue.models import small
from regard import Causal
from regard.errors import ArgumentError
from regard.inspection import (
    Call,
    coverage,
    entropy,
    gradient_weighted,
    hide_each,
    intervene,
    leave_one_out,
    norm_weighted,
    record,
    uniform,
    value_zeroing,
)
from regard.inspection.readings.distance import cosine_distance, total_variation
from regard.inspection.readings.value_norms import value_norms
from regard.layers import MultiHeadAttention, SelfAttention
from regard.models import build_model
from regard.tasks.translation.presets import preset

SOURCE, TARGET = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 5, 6]])


def translator(name: str) -> nn.Module:
    return build_model(small(preset(name)), source_vocabulary=11, target_vocabulary=11).eval()


def call(weights: Tensor, mask: Tensor | None = None) -> Call:
    norms = torch.arange(1.0, weights.size(-1) + 1).expand(weights.size(0), weights.size(1), -1)
    return Call(layer="a", step=0, scores=weights, weights=weights, value_norms=norms, mask=mask)


# From a call


def test_norms_scale_every_weight() -> None:
    one = call(torch.tensor([[[[0.5, 0.5], [0.9, 0.1]]]]))
    found = norm_weighted(one)
    torch.testing.assert_close(found.values, torch.tensor([[0.5, 1.0], [0.9, 0.2]]))
    assert found.limits == (0.0, 1.0)
    found = norm_weighted(one, norms=torch.tensor([[[2.0, 0.0]]]))
    torch.testing.assert_close(found.values, torch.tensor([[1.0, 0.0], [1.8, 0.0]]))
    with pytest.raises(ArgumentError, match=r"`norms` must have shape \(batch, heads, key\) = \(1, 1, 2\); received"):
        norm_weighted(one, norms=torch.ones(1, 1, 3))


@torch.no_grad()
def test_norms_behind_the_output_matrix_are_what_a_head_adds() -> None:
    model = translator("transformer-tiny")
    with record(model, layers="decoder.0.cross_attention") as trace:
        model(SOURCE, None, TARGET)
    memory = model.encode(SOURCE)  # type: ignore[operator]
    norms = value_norms(model, memory)[:, 0]
    found = norm_weighted(trace[0], head=1, norms=norms)
    torch.testing.assert_close(found.values, trace[0].weights[0, 1] * norms[0, 1])


def test_entropy_and_coverage_by_a_loop() -> None:
    weights = torch.randn(1, 2, 3, 4).softmax(-1)
    one = call(weights)
    rows = weights[0, 1].tolist()
    expected = [-sum(weight * math.log(weight) for weight in row) for row in rows]
    torch.testing.assert_close(entropy(one, head=1).values, torch.tensor(expected))
    assert entropy(one, head=1).limits == (0.0, math.log(4))
    torch.testing.assert_close(
        coverage(one, head=1).values, torch.tensor([sum(column) for column in zip(*rows, strict=True)])
    )
    assert coverage(one).axes == ("key",)
    assert entropy(one).axes == ("query",)


def test_entropy_of_rows_that_do_not_sum_to_one_and_of_empty_ones() -> None:
    found = entropy(call(torch.tensor([[[[0.2, 0.2], [0.0, 0.0]]]]))).values
    assert float(found[0]) == pytest.approx(math.log(2))
    assert math.isnan(float(found[1]))


def test_the_uniform_baseline_knows_the_mask() -> None:
    mask = Causal().dense((1, 1, 3, 3))
    found = uniform(call(torch.eye(3)[None, None], mask.expand(1, 1, 3, 3)))
    torch.testing.assert_close(found.values, torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]))


# By running a model


def test_gradients_are_finite_differences() -> None:
    """Move one weight alone by a little: the output moves by its gradient."""
    model = translator("transformer-tiny").double()
    name = "decoder.0.cross_attention"

    def run() -> Tensor:
        return model(SOURCE, None, TARGET).log_softmax(-1)[0, 1, 4]

    with torch.no_grad(), record(model, layers=name) as trace:
        run()
    weights = trace[0].weights
    found = gradient_weighted(model, run, layer=name, head=1)
    for query, key in ((0, 0), (1, 2), (1, 3), (2, 1)):
        outputs = []
        for step in (-1e-6, 1e-6):
            moved = weights.clone()
            moved[0, 1, query, key] += step
            with torch.no_grad(), intervene(model, weights={name: moved}):
                outputs.append(float(run()))
        slope = (outputs[1] - outputs[0]) / 2e-6
        assert float(found.values[query, key]) == pytest.approx(slope * float(weights[0, 1, query, key]), abs=1e-7)
    assert found.limits[0] == -found.limits[1]
    assert all(parameter.grad is None for parameter in model.parameters())
    assert (found.values[2] == 0).all()  # what is said first does not hang on later looks


def test_gradients_of_a_decoder_that_looks_step_by_step() -> None:
    model = translator("bahdanau")
    found = gradient_weighted(model, lambda: model(SOURCE, None, TARGET)[0, 2, 4], layer="decoder*")
    assert found.values.shape == (3, 4)
    assert bool((found.values != 0).any())


def test_gradients_need_one_number_in_a_graph() -> None:
    layer, x = SelfAttention(), torch.eye(3)[None].requires_grad_()
    with pytest.raises(ArgumentError, match=r"`run` must give one number; received shape \(1, 3, 3\). Choose one"):
        gradient_weighted(layer, lambda: layer(x), layer="*")
    with pytest.raises(ArgumentError, match=r"in a graph that holds the weights; received one cut from it. Leave out"):
        gradient_weighted(layer, lambda: layer(x.detach()).sum(), layer="*")
    model = translator("transformer-tiny")
    with pytest.raises(ArgumentError, match=r"`layer` must match one layer; received a pattern of encoder.0"):
        gradient_weighted(model, lambda: model(SOURCE, None, TARGET)[0, 0, 0], layer="encoder.*")


def test_leaving_a_token_out_is_running_without_it() -> None:
    model = translator("bahdanau")

    def run(tokens: Tensor) -> Tensor:
        return model(tokens[None], None, TARGET)[0]

    found = leave_one_out(run, SOURCE[0], labels=["a", "b", "c", "</s>"], query_labels=["x", "y", "z"])
    with torch.no_grad():
        before, after = run(SOURCE[0]).softmax(-1), run(torch.tensor([5, 7, 3])).softmax(-1)
    expected = [
        0.5 * sum(abs(float(p) - float(q)) for p, q in zip(*rows, strict=True))
        for rows in zip(before, after, strict=True)
    ]
    torch.testing.assert_close(found.values[:, 1], torch.tensor(expected), atol=1e-6, rtol=1e-5)
    assert found.labels == (("x", "y", "z"), ("a", "b", "c", "</s>"))
    same = leave_one_out(run, SOURCE[0], instead=6).values
    assert float(same[:, 1].abs().max()) == 0.0  # 6 stood there before


@pytest.mark.usefixtures("unchecked")
def test_leaving_out_needs_rows_that_stay() -> None:
    with pytest.raises(ArgumentError, match="`tokens` must be at least 2 for one to be left out; received 1"):
        leave_one_out(lambda tokens: torch.zeros(3), torch.tensor([4]))
    message = r"`run` must give outputs of one shape; received \(3, 5\), then \(2, 5\)"
    with pytest.raises(ArgumentError, match=message):
        leave_one_out(lambda tokens: torch.zeros(len(tokens), 5), torch.tensor([4, 5, 6]))
    with pytest.raises(
        ArgumentError, match=r"\(vocabulary,\) or \(query, vocabulary\), of one example; received \(1, 2, 3\)"
    ):
        leave_one_out(lambda tokens: torch.zeros(1, 2, 3), torch.tensor([4, 5]))


def test_hiding_a_key_is_masking_it() -> None:
    model = translator("bahdanau")
    name = "decoder*"
    found = hide_each(model, lambda: model(SOURCE, None, TARGET)[0], layers=name)
    assert found.values.shape == (3, 4)
    layer, x = SelfAttention(), torch.eye(2)[None]
    found = hide_each(layer, lambda: layer(x)[0])
    # without key 1, query 0 gives (1, 0) instead of (0.7311, 0.2689)
    before, after = torch.tensor([0.7311, 0.2689]).softmax(0), torch.tensor([1.0, 0.0]).softmax(0)
    assert float(found.values[0, 1]) == pytest.approx(float((before - after).abs().sum() / 2), abs=1e-4)
    transformer = translator("transformer-tiny")
    message = (
        r"`layers` must match layers with the same keys; received \*, with \[3, 4\] keys. Choose by name: encoder.0"
    )
    with pytest.raises(ArgumentError, match=message):
        hide_each(transformer, lambda: transformer(SOURCE, None, TARGET)[0])


def test_value_zeroing_by_a_loop() -> None:
    layer, x = MultiHeadAttention(8, 2).eval(), torch.randn(1, 4, 8)
    with torch.no_grad():
        before = layer(x)[0].double()
        memory = layer.remember(x)
        distances = torch.zeros(4, 4, dtype=torch.double)
        for place in range(4):
            value = memory.value.clone()
            value[:, :, place] = 0.0
            after = layer(x, memory._replace(value=value))[0]
            for query in range(4):
                one, other = before[query], after[query].double()
                distances[query, place] = 1 - (one @ other) / (one.norm() * other.norm())
    found = value_zeroing(layer, lambda: layer(x)[0], layer="*")
    torch.testing.assert_close(found.values, distances / distances.sum(-1, keepdim=True), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.values.sum(-1), torch.ones(4).double())


def test_value_zeroing_says_what_it_cannot_take() -> None:
    layer, x = SelfAttention(), torch.eye(3)[None]
    with pytest.raises(
        ArgumentError, match=r"`run` must give states \(query, size\) of one example; received \(1, 3, 3\)"
    ):
        value_zeroing(layer, lambda: layer(x), layer="*")
    model = translator("transformer-tiny")
    with pytest.raises(ArgumentError, match=r"`layer` must be one layer whose calls have the same keys; received \*"):
        value_zeroing(model, lambda: model(SOURCE, None, TARGET)[0], layer="*")
    still = value_zeroing(layer, lambda: (layer(x), torch.ones(3, 2))[1], layer="*")
    assert (still.values == 0).all()


def test_words_of_runs_are_put_on_and_padding_is_left_out() -> None:
    model = translator("bahdanau")
    padded, lengths = torch.tensor([[5, 6, 3, 0]]), torch.tensor([3])

    def run() -> Tensor:
        return model(padded, lengths, TARGET)[0]

    words = {"query_labels": ["x", "y", "z"], "key_labels": ["a", "b", "</s>"]}
    found = [
        hide_each(model, run, layers="decoder*", **words),
        value_zeroing(model, run, layer="decoder*", **words),
        gradient_weighted(model, lambda: run()[2, 4], layer="decoder*", **words),
    ]
    for map in found:
        assert map.labels == (("x", "y", "z"), ("a", "b", "</s>"))
    with pytest.raises(ArgumentError, match="`key_labels` must name at most 4 positions; received 5"):
        hide_each(model, run, layers="decoder*", key_labels=list("abcde"))
    with pytest.raises(ArgumentError, match="`query_labels` must name at most 3 positions; received one string"):
        value_zeroing(model, run, layer="decoder*", query_labels="xyz")


def test_distances() -> None:
    certain = torch.tensor([[100.0, 0.0], [0.0, 100.0]])
    torch.testing.assert_close(total_variation(certain, certain.flip(0)), torch.ones(2))
    assert total_variation(certain, certain).tolist() == [0.0, 0.0]
    torch.testing.assert_close(cosine_distance(certain, -certain), torch.full((2,), 2.0))
