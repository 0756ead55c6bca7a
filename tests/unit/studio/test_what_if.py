"""The view What if: what the page is told equals what the model does under `intervene`."""

import math

import pytest
import torch

import regard
from regard.data.text.special import END, START, UNKNOWN
from regard.decoding.greedy import greedy
from regard.inspection.readings.compare import divergence
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.pin import pin_weights
from regard.studio.views import whatif as what_if
from regard.tasks.translation_attention import source_layers
from regard.tasks.what_if import Intervention, decode_step
from unit.studio.visiting import ask, refused, unpacked

TEXT = "El libro está en la mesa."
BOTH = pytest.mark.parametrize("name", ["recurrent", "transformer"])


@pytest.fixture(autouse=True)
def _short_search(monkeypatch):
    monkeypatch.setattr(what_if, "SEARCH_STEPS", 20)


def begin(client, name, text=TEXT):
    begun = ask(client, "whatif/begin", model=name, text=text)
    return begun, {"model": name, "text": text, "tokens": begun["tokens"]}


def after_prefix(model, source, heard, **meddling):
    """Compute one step by hand: the prefix undisturbed, the last token under `intervene`."""
    with torch.no_grad():
        memory = model.encode(torch.tensor([source]))
        state = model.start(memory)
        if heard[:-1]:
            _, state, _ = model.step(torch.tensor([heard[:-1]]), state, memory)
        with intervene(model, **meddling):
            log_probabilities, _, weights = model.step(torch.tensor([heard[-1:]]), state, memory, weights=True)
    return log_probabilities[0, -1], weights[0, :, :, -1]


@BOTH
def test_it_begins_with_greedy_decoding(client, folders, name):
    begun, _ = begin(client, name)
    translator = regard.load(folders[name])
    ids = torch.tensor([begun["attention"]["source"]["ids"]])
    longest = min(2 * ids.size(1) + 20, translator.reach.target or 640)
    found = greedy(translator.model, ids, start=START, end=END, max_length=longest)[0]
    assert begun["tokens"] == list(found.tokens)
    assert begun["text"] == translator.tokenizers.target.decode(found.tokens)
    assert len(begun["attention"]["candidates"]) >= len(begun["tokens"])


@BOTH
def test_nothing_done_changes_nothing(client, name):
    begun, asked = begin(client, name)
    for step in range(len(begun["tokens"])):
        told = ask(client, "whatif/change", **asked, step=step)
        assert told["change"] == 0.0
        assert told["own"] == told["weights"]
        assert told["after"]["ids"] == told["before"]["ids"] == begun["tokens"]
        assert all(one["before"] == one["after"] for one in told["candidates"])
        assert told["candidates"][0]["id"] == begun["tokens"][step]


@BOTH
def test_pinned_weights_are_what_the_model_uses(client, folders, name):
    begun, asked = begin(client, name)
    step, place = min(1, len(begun["tokens"]) - 1), 2
    told = ask(client, "whatif/change", **asked, step=step, pinned=[{"position": place, "share": 0.75}])
    own, used = unpacked(told["own"]), unpacked(told["weights"])
    assert torch.allclose(used[..., place], torch.full_like(used[..., place], 0.75), atol=1e-6)
    rest = [one for one in range(own.size(-1)) if one != place]
    shares = own[..., rest] / own[..., rest].sum(-1, keepdim=True)
    assert torch.allclose(used[..., rest], shares * 0.25, atol=1e-6)
    model = regard.load(folders[name]).model
    heard = [START, *begun["tokens"]][: step + 1]
    forced = {layer: used[index][None, :, None] for index, layer in enumerate(source_layers(model))}
    expected, _ = after_prefix(model, begun["attention"]["source"]["ids"], heard, weights=forced)
    before, _ = after_prefix(model, begun["attention"]["source"]["ids"], heard)
    for one in told["candidates"]:
        assert one["after"] == pytest.approx(float(expected[one["id"]].exp()), abs=1e-6)
        assert one["before"] == pytest.approx(float(before[one["id"]].exp()), abs=1e-6)
    assert told["change"] == pytest.approx(float(total_variation(before, expected)), abs=1e-6)
    assert told["change"] > 0
    assert told["after"]["ids"][step] == int(expected.argmax())


def test_one_head_of_one_layer_is_pinned_alone(client):
    _, asked = begin(client, "transformer")
    told = ask(client, "whatif/change", **asked, step=0, layer=0, head=1, pinned=[{"position": 0, "share": 1}])
    own, used = unpacked(told["own"]), unpacked(told["weights"])
    assert torch.equal(used[0, 0], own[0, 0])
    assert torch.allclose(used[0, 1], torch.eye(own.size(-1))[0], atol=1e-6)


@BOTH
def test_a_masked_word_gets_nothing_and_the_rest_its_share(client, folders, name):
    begun, asked = begin(client, name)
    told = ask(client, "whatif/change", **asked, step=0, hidden=[1, 3])
    used = unpacked(told["weights"])
    assert float(used[..., [1, 3]].abs().max()) == 0.0
    assert torch.allclose(used.sum(-1), torch.ones(used.shape[:-1]), atol=1e-6)
    model = regard.load(folders[name]).model
    mask = torch.ones(1, used.size(-1), dtype=torch.bool)
    mask[0, [1, 3]] = False
    hidden = dict.fromkeys(source_layers(model), mask)
    expected, weights = after_prefix(model, begun["attention"]["source"]["ids"], [START], mask=hidden)
    assert torch.allclose(used, weights, atol=1e-6)
    assert told["candidates"][0]["after"] == pytest.approx(float(expected[told["candidates"][0]["id"]].exp()), abs=1e-6)
    everything = list(range(used.size(-1)))
    told = ask(client, "whatif/change", **asked, step=0, hidden=everything, pinned=[{"position": 0, "share": 1}])
    assert float(unpacked(told["weights"]).abs().max()) == 0.0


def test_from_here_on_holds_for_later_steps_too(client, models):
    begun, asked = begin(client, "recurrent", "La casa grande está en la playa")
    translator = models.find("recurrent", object).thing
    names = tuple(source_layers(translator.model))
    ids = begun["attention"]["source"]["ids"]
    found = {}
    for onward in (False, True):
        told = ask(
            client, "whatif/change", **asked, step=0, pinned=[{"position": len(ids) - 1, "share": 1}], onward=onward
        )
        meddling = Intervention(pinned={len(ids) - 1: 1.0}, layers=names, onward=onward)
        assert told["after"]["ids"] == decode_step(translator, ids, [], meddling).tokens
        found[onward] = told["after"]["ids"]
    with intervene(translator.model, weights=dict.fromkeys(names, torch.eye(len(ids))[-1])):
        forced = greedy(translator.model, torch.tensor([ids]), start=START, end=END, max_length=2 * len(ids) + 20)
    assert found[True] == list(forced[0].tokens)


def test_a_replaced_token_is_read_instead(client, folders):
    begun, asked = begin(client, "recurrent")
    told = ask(client, "whatif/change", **asked, step=1, replaced=[{"position": 1, "text": "casa"}])
    translator = regard.load(folders["recurrent"])
    number = translator.tokenizers.source.encode("casa").ids[0]
    ids = list(begun["attention"]["source"]["ids"])
    ids[1] = number
    assert told["source"]["ids"] == ids
    assert told["source"]["tokens"][1] == "casa"
    expected, _ = after_prefix(translator.model, ids, [START, begun["tokens"][0]])
    assert told["candidates"][0]["after"] == pytest.approx(float(expected[told["candidates"][0]["id"]].exp()), abs=1e-6)
    unknown = ask(client, "whatif/change", **asked, step=1, replaced=[{"position": 1, "text": "zzzzz"}])
    assert unknown["source"]["ids"][1] == UNKNOWN
    assert unknown["source"]["tokens"][1] == "⟨zzzzz⟩"


def test_tokens_are_suggested(client, folders):
    found = ask(client, "whatif/tokens", model="recurrent", text="LI")["tokens"]
    names = regard.load(folders["recurrent"]).tokenizers.source.backend.get_vocab()
    assert found == sorted((one for one in names if one.lower().startswith("li")), key=lambda one: (len(one), one))[:20]
    assert "libro" in found


@BOTH
def test_another_distribution_gives_the_same_prediction(client, folders, name):
    begun, asked = begin(client, name)
    step = min(1, len(begun["tokens"]) - 1)
    told = ask(client, "whatif/another", **asked, step=step, tolerance=0.05)
    own, other = unpacked(told["own"]), unpacked(told["other"])
    assert torch.allclose(other.sum(-1), torch.ones(len(other)), atol=1e-5)
    assert told["divergence"] == pytest.approx(float(divergence(own, other).mean()), abs=1e-5)
    assert 0 < told["divergence"] <= math.log(2)
    model = regard.load(folders[name]).model
    layer = source_layers(model)[told["layer"]]
    heard = [START, *begun["tokens"]][: step + 1]
    ids = begun["attention"]["source"]["ids"]
    before, weights = after_prefix(model, ids, heard)
    after, _ = after_prefix(model, ids, heard, weights={layer: other[None, :, None]})
    assert torch.allclose(own, weights[told["layer"]], atol=1e-6)
    assert told["change"] == pytest.approx(float(total_variation(before, after)), abs=1e-5)
    assert told["within_tolerance"] is (told["change"] <= 0.05)
    flat = torch.full_like(other, 1 / other.size(-1))
    uniform, _ = after_prefix(model, ids, heard, weights={layer: flat[None, :, None]})
    assert told["uniform"]["change"] == pytest.approx(float(total_variation(before, uniform)), abs=1e-5)


def test_the_model_is_left_as_it_was(client, models):
    begun, asked = begin(client, "recurrent")
    ask(client, "whatif/change", **asked, step=0, pinned=[{"position": 0, "share": 1}], hidden=[2], onward=True)
    ask(client, "whatif/another", **asked, step=0)
    assert begin(client, "recurrent")[0] == begun
    model = models.find("recurrent", object).thing.model
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("shares", "hidden", "expected"),
    [
        ({0: 0.5}, (), [0.5, 0.3, 0.2]),
        ({0: 0.0}, (), [0.0, 0.6, 0.4]),
        ({0: 1.0, 1: 1.0}, (), [0.5, 0.5, 0.0]),
        ({0: 0.2, 1: 0.2, 2: 0.1}, (), [0.4, 0.4, 0.2]),
        ({0: 0.0, 1: 0.0, 2: 0.0}, (), [0.0, 0.0, 0.0]),
    ],
)
def test_shares_add_up(shares, hidden, expected):
    own = torch.tensor([[[[0.0, 0.6, 0.4]]]])
    assert torch.allclose(pin_weights(own, shares=shares, hidden=hidden)[0, 0, 0], torch.tensor(expected), atol=1e-6)


def test_where_nobody_else_had_weight_all_others_get_alike():
    own = torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]])
    found = pin_weights(own, shares={0: 0.4}, hidden=(3,))
    assert torch.allclose(found[0, 0, 0], torch.tensor([0.4, 0.3, 0.3, 0.0]))


def test_a_row_keeps_its_sum():
    own = torch.tensor([[[[0.1, 0.3, 0.2]]]])
    assert torch.allclose(pin_weights(own, shares={0: 0.5})[0, 0, 0], torch.tensor([0.3, 0.18, 0.12]))


def test_bad_input_is_refused_in_words(client):
    begun, asked = begin(client, "recurrent")
    count, places = len(begun["tokens"]), len(begun["attention"]["source"]["ids"])
    assert refused(client, "whatif/change", **asked, step=count) == (
        f"`step` must be one of the {count} steps of the translation; received {count}."
    )
    assert refused(client, "whatif/change", **asked, step=0, pinned=[{"position": places, "share": 1}]) == (
        f"`pinned` must be source positions from 0 to {places - 1}; received {places}."
    )
    assert refused(client, "whatif/change", **asked, step=0, hidden=[-1]).startswith(
        "`hidden` must be source positions "
    )
    assert refused(client, "whatif/change", **asked, step=0, pinned=[{"position": 0, "share": 1.5}]) == (
        "pinned 1 share: at most 1."
    )
    assert refused(
        client, "whatif/change", **asked, step=0, replaced=[{"position": places - 1, "text": "a"}]
    ).startswith("`replaced` must be source positions ")
    assert refused(client, "whatif/change", **asked, step=0, layer=3) == (
        "`layer` must be from 0 to 0, or −1 for all; received 3."
    )
    assert refused(client, "whatif/change", **asked, step=0, head=3) == (
        "`head` must be from 0 to 0, or −1; received 3."
    )
    assert refused(client, "whatif/change", **asked, step=0, replaced=[{"position": 0, "text": "libro libro"}]) == (
        '`replaced` must be one token of the model; received "libro libro", which is 2: libro, libro. '
        "Take one that is suggested."
    )
    assert refused(client, "whatif/another", **asked, step=0, tolerance=0) == "tolerance: more than 0."
    fixed, asked = begin(client, "fixed")
    assert fixed["attention"]["maps"] == []
    assert refused(client, "whatif/change", **asked, step=0) == (
        "`model` must attend to its source; received one that reads it into a fixed vector."
    )
    assert (
        refused(client, "whatif/change", model="transformer", text=TEXT, tokens=[5] * 40, step=35)
        == "`step` must be below 30, as many as the model can output; received 35."
    )


def test_gradients_pass_through_pinned_weights():
    weights = torch.tensor([[[[0.5, 0.3, 0.2]]]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda some: pin_weights(some, shares={0: 0.25}, hidden=[2]), [weights])
