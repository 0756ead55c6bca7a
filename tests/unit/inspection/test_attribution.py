"""Attribution has one home: the numbers are those that each task computed by code of its own, and those of plain loops.

attribution.json was written by the earlier code, for models whose parameters are a sine of their number.
"""

import json
from pathlib import Path

import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import (
    cover_each,
    gradient_times_input,
    leave_one_out,
    occlusion,
    predict_with_uniform_weights,
    without_each,
)
from regard.inspection.readings.distance import total_variation
from regard.layers import SelfAttention
from regard.tasks.attribution import (
    attribute_answer,
    attribute_caption,
    attribute_label,
    attribute_translation,
    label_with_uniform_weights,
)
from regard.tasks.translation_attention import read_source
from unit.studio.readers import TEXT, make_readers
from unit.studio.seers import REVIEW, make_english, make_seers

BEFORE = json.loads((Path(__file__).parent / "attribution.json").read_text())


def fill(model):
    with torch.no_grad():
        for number, (_, parameter) in enumerate(sorted(model.named_parameters())):
            values = (torch.arange(parameter.numel(), dtype=torch.float64) * 0.7 + number).sin() * 0.4
            parameter.copy_(values.view(parameter.shape))


def pixels(channels, size):
    return ((torch.arange(channels * size * size) * 37) % 251).to(torch.uint8).view(channels, size, size)


def assert_as_before(result, name):
    expected = BEFORE[name]
    for part in ("occlusion", "gradient"):
        torch.testing.assert_close(getattr(result, part), torch.tensor(expected[part]), atol=2e-5, rtol=1e-3)
    assert (result.uniform is None) == (expected["uniform"] is None)
    assert result.uniform is None or result.uniform == pytest.approx(expected["uniform"], abs=1e-4)


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return make_readers(tmp_path_factory.mktemp("readers"))


@pytest.mark.parametrize("name", ["additive", "transformer"])
def test_translators_have_the_numbers_they_had(readers, name):
    translator = readers.find(name, object).thing
    fill(translator.model)
    source, _ = read_source(translator, TEXT)
    assert_as_before(attribute_translation(translator, source.ids, [5, 7, 4, 6, 3]), name)


def test_a_translation_without_an_end_has_a_row_for_each_token(readers):
    translator = readers.find("dot", object).thing
    source, _ = read_source(translator, TEXT)
    whole = attribute_translation(translator, source.ids, [5, 7, 4, 3])
    part = attribute_translation(translator, source.ids, [5, 7])
    assert part.occlusion.shape == part.gradient.shape == (2, len(source.ids))
    torch.testing.assert_close(part.occlusion, whole.occlusion[:2])
    torch.testing.assert_close(part.gradient, whole.gradient[:2])


def test_image_models_have_the_numbers_they_had():
    made = make_seers()
    for name in ("answerer", "captioner", "gates"):
        fill(made[name].model)
    assert_as_before(attribute_answer(made["answerer"], pixels(3, 64), "is there a circle?"), "answerer")
    assert_as_before(attribute_caption(made["captioner"], pixels(3, 64)), "captioner")
    assert_as_before(attribute_label(made["gates"], pixels(3, 16)), "gates")


def test_classifiers_have_the_numbers_they_had():
    made = make_english()
    for name in ("structured", "last", "average"):
        classifier, expected = made[name], BEFORE[f"classify {name}"]
        fill(classifier.model)
        decision = classifier.classify([REVIEW])[0]
        assert decision.label == expected["label"]
        for by in ("gradient", "removal"):
            shares = classifier.classify([REVIEW], by=by)[0].weights
            assert shares == pytest.approx(expected[by], abs=2e-5)
        assert label_with_uniform_weights(classifier, REVIEW, decision.label) == (
            None if expected["uniform"] is None else pytest.approx(expected["uniform"], abs=1e-5)
        )


def test_occlusion_is_a_loop_over_the_parts():
    torch.manual_seed(0)
    matrix = torch.randn(3 * 16, 5)
    image = torch.rand(1, 3, 4, 4)

    def predict(images):
        return (images.flatten(1) @ matrix).unflatten(-1, (1, 5))

    changes = occlusion(predict, image, cover_each(image, (2, 2)))
    for index, (top, left) in enumerate(((0, 0), (0, 2), (2, 0), (2, 2))):
        covered = image.clone()
        covered[:, :, top : top + 2, left : left + 2] = image.mean((2, 3), keepdim=True)
        torch.testing.assert_close(changes[:, index], total_variation(predict(image), predict(covered))[0])
    torch.testing.assert_close(occlusion(predict, image, cover_each(image, (2, 2)), at_once=3), changes)


def test_parts_are_left_out_or_replaced():
    assert without_each(torch.tensor([5, 6, 7]), instead=1).tolist() == [[1, 6, 7], [5, 1, 7], [5, 6, 1]]
    assert without_each(torch.tensor([5])).shape == (1, 0)


def test_gradients_are_counted_from_the_baseline_and_leave_parameters_alone():
    layer = torch.nn.Linear(3, 1)
    inputs = torch.randn(4, 3)
    products = gradient_times_input(lambda rows: layer(rows).squeeze(-1), inputs, baseline=inputs.mean(0))
    torch.testing.assert_close(products, layer.weight.detach() * (inputs - inputs.mean(0)))
    assert layer.weight.grad is None
    assert not inputs.requires_grad


def test_uniform_weights_average_the_values_of_named_layers_alone():
    model = torch.nn.ModuleDict({"first": SelfAttention(), "second": SelfAttention()})
    x = torch.randn(1, 3, 4)
    both = predict_with_uniform_weights(model, lambda: model["second"](model["first"](x)))
    torch.testing.assert_close(both, x.mean(1, keepdim=True).expand_as(x))
    one = predict_with_uniform_weights(model, lambda: model["second"](model["first"](x)), layers=["first"])
    torch.testing.assert_close(one, x.mean(1, keepdim=True).expand_as(x))
    own = predict_with_uniform_weights(model, lambda: model["first"](x), layers=["second"])
    torch.testing.assert_close(own, model["first"](x))
    assert predict_with_uniform_weights(torch.nn.Linear(2, 2), lambda: x) is None


def test_a_run_must_keep_its_shape():
    with pytest.raises(ArgumentError, match=r"received \(2, 3\), then \(1, 3\)\. Choose the rows that stay"):
        leave_one_out(lambda tokens: torch.zeros(len(tokens) - 1, 3), torch.tensor([1, 2, 3]))
