"""The view Translate: what the page is told equals what the model computes."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from fastapi.testclient import TestClient

import regard
from regard.data.text.special import END, START
from regard.decoding.search import Search
from regard.inspection import intervene, record
from regard.inspection.readings.occlusion import leave_one_out
from regard.inspection.readings.value_norms import value_norms
from regard.studio.models import Models
from regard.studio.server import create_app
from regard.studio.views import translate
from regard.tasks import translation_attention
from regard.tasks.attribution import attribute_translation
from regard.tasks.translation.presets import preset
from unit.studio.visiting import ADDRESS, ask, refused, unpacked, visitor
from unit.tasks.translators import RECURRENT, make_folder

TEXT = "El libro está en la mesa."


def look(client, model, text=TEXT, pick=0):
    found = ask(client, "translate/search", model=model, text=text)
    tokens = found["outputs"][pick]["tokens"]
    return found, tokens, ask(client, "translate/attention", model=model, text=text, tokens=tokens)


@pytest.mark.parametrize("name", ["recurrent", "transformer", "fixed"])
def test_one_request_searches_once(client, models, name):
    """The tree and the outputs come from one search: the sentence is encoded once, however wide the beam."""
    model, calls = models.find(name, object).thing.model, []
    for beam in (1, 5):
        handle = model.source.register_forward_hook(lambda *_: calls.append(1))
        found = ask(client, "translate/search", model=name, text=TEXT, beam=beam)
        handle.remove()
        assert len(found["outputs"]) == beam
        assert len(calls) == 1
        calls.clear()
        # every output is a path of the tree, as far as the tree is sent
        paths = [[]]
        for step in found["tree"]:
            paths = [[*paths[one["parent"]], one["id"]] for one in step]
            ends = [path for path, one in zip(paths, step, strict=True) if one["ended"]]
            outputs = [one["tokens"] for one in found["outputs"] if len(one["tokens"]) == len(paths[0])]
            assert all(output in ends for output in outputs)


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_outputs_are_those_of_search(client, folders, name):
    found = ask(client, "translate/search", model=name, text=TEXT, beam=3)
    translator = regard.load(folders[name])
    longest = min(2 * found["read"] + 20, translator.reach.target or 640)
    best = translator.search([TEXT], Search(beam=3, n_best=3, max_length=longest))[0]
    assert [one["tokens"] for one in found["outputs"]] == [list(one.hypothesis.tokens) for one in best]
    assert [one["text"] for one in found["outputs"]] == [one.text for one in best]
    assert [one["score"] for one in found["outputs"]] == pytest.approx([one.score for one in best], abs=1e-6)


def test_the_tree_holds_the_best_output(client):
    found, tokens, _ = look(client, "recurrent")
    kept = [{(one["parent"], one["id"]): place for place, one in enumerate(step)} for step in found["tree"]]
    place = 0
    for step, token in zip(kept, tokens, strict=False):
        place = step[(place, token)]
    assert found["tree"][len(tokens) - 1][place]["ended"]


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_weights_are_bit_for_bit_those_of_the_model(client, folders, name):
    _, tokens, told = look(client, name)
    model = regard.load(folders[name]).model
    source, heard = torch.tensor([told["source"]["ids"]]), torch.tensor([[START, *tokens]])
    heard = heard[:, : len(told["candidates"])]
    with torch.no_grad():
        memory = model.encode(source)
        log_probabilities, _, weights = model.step(
            heard, model.start(memory, capacity=heard.size(1)), memory, weights=True
        )
    assert torch.equal(unpacked(told["maps"][0]["weights"]), weights[0])
    assert torch.equal(unpacked(told["norms"]), value_norms(model, memory)[0])
    said = [float(log_probabilities[0, place, token]) for place, token in enumerate(tokens)]
    assert told["log_probabilities"] == said
    best = log_probabilities[0].max(-1)
    assert [row[0]["id"] for row in told["candidates"]] == best.indices.tolist()
    assert [row[0]["probability"] for row in told["candidates"]] == [math.exp(one) for one in best.values.tolist()]


def test_a_transformer_shows_its_self_attention_and_what_was_masked(client, folders):
    _, _, told = look(client, "transformer")
    maps = {one["id"]: one for one in told["maps"]}
    assert list(maps) == ["cross", "source", "target"]
    count = len(told["source"]["ids"])
    assert unpacked(maps["source"]["weights"]).shape[-2:] == (count, count)
    mask = unpacked(maps["target"]["mask"])
    assert torch.equal(mask, torch.ones_like(mask).tril())
    weights = unpacked(maps["target"]["weights"])
    assert float(weights.mul(1 - mask).abs().max()) == 0.0
    rolled = unpacked(told["rollout"])
    assert rolled.shape == (weights.size(-1), count)
    assert bool((rolled.sum(-1) < 1).all())


def test_every_row_sums_to_one_with_the_end_kept(client):
    _, _, told = look(client, "recurrent")
    weights = unpacked(told["maps"][0]["weights"])
    assert told["source"]["tokens"][-1] == told["source"]["words"][-1] == "</s>"
    assert weights.size(-1) == len(told["source"]["tokens"])
    assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-6)


def test_tokens_belong_to_words(client):
    _, _, told = look(client, "transformer")  # which reads bytes
    source = told["source"]
    pieces = ["" for _ in source["words"]]
    for token, word in zip(source["tokens"], source["word_of"], strict=True):
        pieces[word] += token
    assert len(source["words"]) == 8
    assert source["word_of"] == sorted(source["word_of"])
    assert source["word_of"][-1] == 7


def test_a_hypothesis_without_end_has_one_row_more(client):
    _, tokens, _ = look(client, "recurrent")
    told = ask(
        client,
        "translate/attention",
        model="recurrent",
        text=TEXT,
        tokens=[token for token in tokens if token != END][:2],
    )
    assert not told["finished"]
    assert len(told["target"]["tokens"]) == 2
    assert unpacked(told["maps"][0]["weights"]).size(-2) == len(told["candidates"]) == 3
    empty = ask(client, "translate/attention", model="recurrent", text=TEXT, tokens=[])
    assert len(empty["candidates"]) == 1


def test_an_exact_row_is_the_row(client):
    _, tokens, told = look(client, "transformer")
    body = {"model": "transformer", "text": TEXT, "tokens": tokens}
    row = unpacked(ask(client, "translate/row", **body, map="source", row=1)["weights"])
    source = unpacked(next(one for one in told["maps"] if one["id"] == "source")["weights"])
    assert torch.equal(row, source[:, :, 1])
    said = refused(client, "translate/row", **body, map="source", row=999)
    assert said == '`map` and `row` must name a row that there is; received "source", 999.'


def test_a_model_without_attention_says_so(client):
    found, tokens, told = look(client, "fixed")
    assert not found["attends"]
    assert told["maps"] == []
    assert ask(client, "translate/checks", model="fixed", text=TEXT, tokens=tokens)["uniform"] is None


def test_leaving_out_is_what_inspection_measures(client, folders):
    _, tokens, told = look(client, "recurrent")
    checks = ask(client, "translate/checks", model="recurrent", text=TEXT, tokens=tokens)
    model = regard.load(folders["recurrent"]).model
    heard = torch.tensor([[START, *tokens][: len(told["candidates"])]])

    def run(kept):
        memory = model.encode(kept[None])
        return model.step(heard, model.start(memory), memory).log_probabilities[0]

    ids = torch.tensor(told["source"]["ids"])
    expected = leave_one_out(run, ids).values[: len(tokens), :-1]
    assert torch.allclose(unpacked(checks["occlusion"])[:, :-1], expected, atol=1e-5)
    assert float(unpacked(checks["occlusion"])[:, -1].abs().max()) == 0.0


def test_gradients_are_those_of_each_row_alone(client, folders):
    _, tokens, told = look(client, "transformer")
    checks = ask(client, "translate/checks", model="transformer", text=TEXT, tokens=tokens)
    model = regard.load(folders["transformer"]).model
    heard = torch.tensor([[START, *tokens][: len(told["candidates"])]])
    caught = []
    model.source.register_forward_hook(lambda module, given, output: caught.append(output) or output.retain_grad())
    place = min(2, len(tokens) - 1)
    logits = model(torch.tensor([told["source"]["ids"]]), None, heard)
    logits[0, place].log_softmax(-1)[tokens[place]].backward()
    expected = (caught[0].grad * caught[0]).sum(-1).abs()[0].detach()
    assert torch.allclose(unpacked(checks["gradient"])[place], expected, atol=1e-5)


def test_uniform_weights_are_forced_for_the_baseline_alone(client, folders):
    _, tokens, told = look(client, "recurrent")
    checks = ask(client, "translate/checks", model="recurrent", text=TEXT, tokens=tokens)
    assert checks["uniform"] != pytest.approx(told["log_probabilities"], abs=1e-4)
    _, _, after = look(client, "recurrent")
    assert after["log_probabilities"] == told["log_probabilities"]


def test_other_seeds_of_the_same_vocabulary_are_beside(client, folders):
    _, tokens, _ = look(client, "recurrent")
    checks = ask(client, "translate/checks", model="recurrent", text=TEXT, tokens=tokens)
    assert [one["name"] for one in checks["others"]] == ["again"]
    own = ask(client, "translate/attention", model="again", text=TEXT, tokens=tokens)
    assert checks["others"][0]["weights"] == own["maps"][0]["weights"]


def test_long_sentences_are_cut_and_not_checked(client, monkeypatch):
    for part in (translation_attention, translate):
        monkeypatch.setattr(part, "MAX_TOKENS", 12)
    monkeypatch.setattr(translate, "MAX_CHECKED", 11)
    text = "El libro está en la mesa. " * 5
    found = ask(client, "translate/search", model="recurrent", text=text, beam=1)
    assert (found["read"], found["limit"], found["cut"]) == (12, 12, 35 - 11)
    tokens = found["outputs"][0]["tokens"]
    told = ask(client, "translate/attention", model="recurrent", text=text, tokens=tokens)
    assert len(told["source"]["tokens"]) == 12
    checks = ask(client, "translate/checks", model="recurrent", text=text, tokens=tokens)
    assert checks["occlusion"] is None
    assert checks["skipped"] == "Not measured for more than 11 tokens."


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "\u202eabc \u0000\u0007 d", "שלום עולם مرحبا", "𝕏 👩‍👩‍👧"]
)
@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_whatever_is_typed_comes_back_as_text(client, text, name):
    _, _, told = look(client, name, text)
    assert "".join(told["source"]["words"][:-1]) != ""
    assert len(told["source"]["word_of"]) == len(told["source"]["tokens"])


def test_bad_input_is_refused_in_words(client):
    assert refused(client, "translate/search", text=" \n ") == "Type a sentence first."
    assert refused(client, "translate/search", text="hola", model="nobody").startswith(
        '`model` must be one that is open; received "nobody".'
    )
    said = refused(client, "translate/search", text="a" * 60_000)
    assert said == "text: at most 50,000, of letters or entries."
    assert refused(client, "translate/search", text="hola", beam=99) == "beam: at most 12."
    assert refused(client, "translate/search", text="hola", other=1) == "other: there is no such setting."
    assert refused(client, "translate/attention", text="hola", tokens=[10**6]).startswith(
        "`tokens` must be numbers from 0 to "
    )
    assert refused(client, "translate/attention", text="hola", tokens=[END, END]) == (
        "`tokens` must end at the first </s>; received more after it."
    )
    assert refused(client, "translate/attention", text=TEXT, model="transformer", tokens=[5] * 40) == (
        "`tokens` must be at most 30, as many as the model can output; received 40."
    )
    response = client.post(
        "/api/translate/search", content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"}
    )
    assert response.status_code == 422


def test_two_visitors_at_once_do_not_mix(models):
    texts = ["El libro", "La casa grande"]
    alone = {text: look(visitor(models), "recurrent", text)[2] for text in texts}

    app = create_app(models)

    def visit(text):
        client = TestClient(app, base_url=ADDRESS)
        _, tokens, told = look(client, "recurrent", text)
        ask(client, "translate/checks", model="recurrent", text=text, tokens=tokens)
        return text, told

    with ThreadPoolExecutor(2) as pool:
        for text, told in pool.map(visit, texts * 2):
            assert told == alone[text]


def test_the_model_is_left_as_it_was(client, models):
    thing = models.find("recurrent", object).thing
    before = {name: value.clone() for name, value in thing.model.state_dict().items()}
    _, tokens, _ = look(client, "recurrent")
    ask(client, "translate/checks", model="recurrent", text=TEXT, tokens=tokens)
    assert all(parameter.grad is None for parameter in thing.model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in thing.model.state_dict().items())
    assert not thing.model.source._forward_hooks
    with record(thing.model) as trace:
        assert len(trace) == 0


def test_uniform_looks_of_a_window_sum_to_what_they_did(tmp_path):
    local = replace(preset("luong-local-m"), embedding_size=8, hidden_size=8)
    translator = regard.load(make_folder(tmp_path, local))
    source, _ = translation_attention.read_source(translator, "La casa es roja. " * 5)
    [name] = translation_attention.source_layers(translator.model)
    ids, heard = torch.tensor([source.ids]), torch.tensor([[START, 5, 6]])

    def sums():
        with torch.no_grad(), record(translator.model, layers=name) as trace:
            translator.model(ids, None, heard)
        return torch.cat([call.weights[0, 0] for call in trace]).sum(-1), trace

    own, _ = sums()
    with intervene(translator.model, weights={name: "uniform"}):
        forced, trace = sums()
    assert torch.allclose(forced, own, atol=1e-6)
    row, mask = trace[0].weights[0, 0, 0], trace[0].mask[0, 0, 0]
    assert not bool(mask.all())  # the window leaves something out
    assert torch.allclose(row[mask], row[mask].mean().expand(int(mask.sum())))


def test_gradients_are_taken_without_cudnn(models, monkeypatch):
    translator, seen = models.find("recurrent", object).thing, []
    source, _ = translation_attention.read_source(translator, TEXT)
    handle = translator.model.register_forward_hook(lambda *_: seen.append(torch.backends.cudnn.enabled))
    try:
        attribute_translation(translator, source.ids, [5, END])
    finally:
        handle.remove()
    assert seen == [False]


def test_models_of_another_design_are_no_other_seeds(folders, tmp_path):
    other = make_folder(tmp_path / "other", replace(RECURRENT, hidden_size=12))
    client = visitor(Models([folders["recurrent"], other, folders["again"]]))
    checks = ask(client, "translate/checks", model="recurrent", text=TEXT, tokens=[5, END])
    assert [one["name"] for one in checks["others"]] == ["again"]


@pytest.mark.parametrize(("name", "text"), [("recurrent", "El xyzzy está "), ("transformer", "añá ")])
def test_outputs_of_a_cut_sentence_are_those_of_the_tokens_shown(client, monkeypatch, name, text):
    """With words that are unknown, and a letter of two bytes that is cut in its middle."""
    monkeypatch.setattr(translation_attention, "MAX_TOKENS", 13)
    found, _, told = look(client, name, text * 5)
    assert found["cut"] > 0
    assert told["source"]["ids"] == found["source"]["ids"]
    assert len(found["source"]["ids"]) == 13
    expected = found["outputs"][0]["log_probability"]
    assert sum(told["log_probabilities"]) == pytest.approx(expected, abs=1e-4)
