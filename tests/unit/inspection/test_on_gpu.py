"""Readings of models on a GPU: those of the CPU, within rounding; what they give can be drawn and saved."""

import pytest
import torch

from catalogue.models import small
from regard.inspection import (
    Trace,
    computation,
    flow,
    gradient_weighted,
    intervene,
    leave_one_out,
    norm_weighted,
    record,
    rollout,
    value_zeroing,
    weights_of,
)
from regard.models import build_model
from regard.tasks.translation.presets import preset
from unit.inspection.hugging_face_models import KINDS, make_batch, make_model

SOURCE, TARGET = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 5, 6]])
LAYERS = {"bahdanau": "decoder*", "luong-local-p": "decoder*", "transformer-tiny": "decoder.0.cross_attention"}
pytestmark = pytest.mark.gpu


def on_both(device, name):
    """Give the same model on the CPU and on the GPU, each with what it reads and hears."""
    torch.manual_seed(0)
    model = build_model(small(preset(name)), source_vocabulary=11, target_vocabulary=11).eval()
    twin = build_model(small(preset(name)), source_vocabulary=11, target_vocabulary=11).eval()
    twin.load_state_dict(model.state_dict())
    return [(one, SOURCE.to(place), TARGET.to(place)) for one, place in ((model, "cpu"), (twin.to(device), device))]


def close(first, second, *, atol=1e-5):
    torch.testing.assert_close(first.cpu(), second.cpu(), rtol=1e-3, atol=atol)


@pytest.mark.parametrize("name", LAYERS)
def test_readings(cuda, name):
    layer, found = LAYERS[name], []
    for model, source, target in on_both(cuda, name):

        def say(model=model, source=source, target=target):
            return model(source, None, target).log_softmax(-1)[0, 1, 4]

        def read(tokens, model=model, target=target):
            return model(tokens[None], None, target).softmax(-1)[0]

        def states(model=model, source=source, target=target):
            return model(source, None, target)[0]

        with torch.no_grad(), record(model) as trace:
            say()
        last = next(call for call in trace if call.layer.startswith("decoder"))
        with torch.no_grad(), intervene(model, weights={last.layer: torch.full_like(last.weights, 0.25)}):
            forced = say()
        readings = [
            last.weights,
            norm_weighted(last, head=0).values,
            gradient_weighted(model, say, layer=layer, head=0).values,
            leave_one_out(read, source[0], instead=1).values,
            computation(model, say, layer=last.layer, query=0).context,
            forced,
        ]
        if name == "transformer-tiny":
            with torch.no_grad(), record(model, layers="encoder*") as own:
                say()
            readings += [rollout(own).values, flow(own).values]
            readings.append(value_zeroing(model, states, layer="decoder.0.self_attention").values)
        found.append(readings)
    for first, second in zip(*found, strict=True):
        close(first, second)


def test_what_was_seen_is_saved_and_drawn(cuda, tmp_path):
    _, (model, source, target) = on_both(cuda, "transformer-tiny")
    with torch.no_grad(), record(model) as trace:
        model(source, None, target)
    trace.save(tmp_path / "looks.trace")
    again = Trace.load(tmp_path / "looks.trace")
    for one, two in zip(trace, again, strict=True):
        close(one.weights, two.weights)
    weights_of(trace[0], head=0).figure().save(tmp_path / "looks.png")
    assert (tmp_path / "looks.png").stat().st_size > 0


@pytest.mark.parametrize("name", KINDS)
def test_hugging_face_models(cuda, name):
    found = []
    for place in ("cpu", cuda):
        model = make_model(name, "eager" if name in ("gemma2", "gpt_oss") else "sdpa").to(place)
        batch = {key: value.to(place) for key, value in make_batch(name).items()}
        with torch.no_grad(), record(model) as trace:
            output = model(**batch).logits
        found.append([*(call.weights for call in trace), output])
    for first, second in zip(*found, strict=True):
        close(first, second, atol=1e-4)
