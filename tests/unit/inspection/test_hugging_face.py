"""Hugging Face models: recorded, changed and inspected like our own."""

import re
import sys
from types import SimpleNamespace

import pytest
import torch
import transformers
from torch import nn
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert import modeling_bert

import regard
from regard.errors import ArgumentError, ArgumentTypeError, DataError, MissingExtraError
from regard.inspection import attention_layers, intervene, record
from regard.inspection.hugging_face.folder import is_hugging_face, load_hugging_face
from regard.inspection.readings.joined import joined
from unit.inspection.hugging_face_models import END, KINDS, SIZE, START, make_batch, make_model, make_tokenizer

NAMES = ("bert", "gpt2", "llama", "t5", "bart")
FIRST = {
    "bert": "bert.encoder.layer.0.attention.self",
    "gpt2": "transformer.h.0.attn",
    "llama": "model.layers.0.self_attn",
    "t5": "encoder.block.0.layer.0.SelfAttention",
    "bart": "model.encoder.layers.0.self_attn",
    "gemma2": "model.layers.0.self_attn",
    "gpt_oss": "model.layers.0.self_attn",
}
LAST = "model.layers.1.self_attn"


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert "regard" not in ALL_ATTENTION_FUNCTIONS
    assert "regard" not in ALL_MASK_ATTENTION_FUNCTIONS


def run(model, batch):
    with torch.no_grad():
        return model(**batch).logits


def their_weights(name, batch):
    """Ask the eager model, in the order in which layers are called."""
    with torch.no_grad():
        found = make_model(name, "eager")(**batch, output_attentions=True)
    if name in ("t5", "bart"):
        pairs = zip(found.decoder_attentions, found.cross_attentions, strict=True)
        return [*found.encoder_attentions, *(one for pair in pairs for one in pair)]
    return list(found.attentions)


@pytest.mark.parametrize("name", KINDS)
def test_weights_are_the_models_own_and_the_output_stays(name):
    batch = make_batch(name)
    model = make_model(name, "eager" if name in ("gemma2", "gpt_oss") else "sdpa")
    before, implementation = run(model, batch), model.config._attn_implementation
    with record(model) as trace:
        assert torch.equal(run(model, batch), before)
    assert torch.equal(run(model, batch), before)
    assert {part.config._attn_implementation for part in model.modules() if hasattr(part, "config")} == {implementation}
    assert trace.layers == list(attention_layers(model))
    assert trace.layers[0] == FIRST[name]
    for call, theirs in zip(trace, their_weights(name, batch), strict=True):
        open_rows = torch.ones_like(theirs, dtype=torch.bool) if call.mask is None else call.mask
        open_rows = open_rows.any(-1)
        assert call.weights.shape == theirs.shape
        torch.testing.assert_close(call.weights[open_rows], theirs[open_rows], atol=1e-5, rtol=0)
        assert not call.weights[~open_rows].any()
        sums = call.weights.sum(-1)[open_rows]
        if name == "gpt_oss":  # keeps a share for nobody
            assert (sums < 1).all()
        else:
            torch.testing.assert_close(sums, torch.ones_like(sums))
        if call.mask is not None:
            assert (call.weights[~call.mask] == 0).all()
            assert (call.scores[~call.mask] == -torch.inf).all()
        assert call.value_norms.shape == (*call.weights.shape[:2], call.weights.size(-1))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_is_not_masked_at_all_is_recorded_too(name):
    """Fused kernels are then told by a flag that attention is causal."""
    batch = {key: value for key, value in make_batch(name).items() if key != "attention_mask"}
    model = make_model(name)
    with record(model) as trace:
        run(model, batch)
    for call, theirs in zip(trace, their_weights(name, batch), strict=True):
        torch.testing.assert_close(call.weights, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_generation_is_recorded_step_by_step(name):
    model, ids = make_model(name), torch.tensor([[5, 6, 7, 8]])
    settings = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    settings["attention_mask"] = torch.ones_like(ids)
    plain = model.generate(ids, **settings)
    with record(model, layers="*1*") as trace:
        assert torch.equal(model.generate(ids, **settings), plain)
    last = trace.layers[-1]
    assert [call.step for call in trace[last]] == [0, 1, 2, 3]
    whole = {"input_ids": ids, "decoder_input_ids": plain[:, :-1]} if name == "t5" else {"input_ids": plain[:, :-1]}
    with record(model, layers=last) as at_once:
        run(model, whole)
    grown = joined(trace[last])[0]
    torch.testing.assert_close(grown.weights, at_once[0].weights)
    torch.testing.assert_close(grown.scores, at_once[0].scores)


def test_weights_can_be_forced_and_keys_hidden():
    model, batch = make_model("llama"), make_batch("llama")
    before = run(model, batch)
    with intervene(model, weights={LAST: lambda weights: weights}):
        torch.testing.assert_close(run(model, batch)[0], before[0])
    even = torch.full((6, 6), 1 / 6)
    with intervene(model, weights={LAST: even}), record(model) as trace:
        after = run(model, batch)
    assert not torch.allclose(after[0], before[0], atol=1e-3)
    assert torch.equal(trace[LAST][0].weights, even.expand(2, 4, 6, 6).masked_fill(~trace[LAST][0].mask, 0.0))
    hidden = torch.ones(6, 6, dtype=torch.bool)
    hidden[:, 1] = False
    with record(model) as trace, intervene(model, mask={"*": hidden}):
        run(model, batch)
    for call in trace:
        assert (call.weights[..., 1] == 0).all()
        torch.testing.assert_close(call.weights[0, :, 2:].sum(-1), torch.ones(4, 4))
    assert torch.equal(run(model, batch), before)


def test_gradients_reach_the_weights():
    model, batch = make_model("bert"), make_batch("bert")
    before = run(model, batch)
    with record(model, keep_gradients=True) as trace:
        after = model(**batch).logits
    torch.testing.assert_close(after, before)
    after[0, 0].max().backward()
    assert all(call.weights.grad.abs().sum() > 0 for call in trace)


def test_dropout_acts_in_training_and_is_not_in_the_weights():
    model = make_model("gpt2", attn_pdrop=0.5, resid_pdrop=0.0, embd_pdrop=0.0).train()
    batch = make_batch("gpt2")
    torch.manual_seed(0)
    before = run(model, batch)
    torch.manual_seed(0)
    with record(model) as trace:
        assert torch.equal(run(model, batch), before)
    torch.testing.assert_close(trace[0].weights[0].sum(-1), torch.ones(4, 6))
    with intervene(model, weights={"*": lambda weights: weights}):
        assert not torch.equal(run(model, batch), run(model, batch))


def test_contexts_nest_and_models_may_share_a_config():
    model, batch = make_model("llama"), make_batch("llama")
    other = type(model)(model.config).eval()
    with record(model) as whole:
        with record(model.model.layers[1]) as part, record(other) as others:
            assert attention_layers(model.model.layers[1]).keys() == {"self_attn"}
            run(model, batch)
            run(other, batch)
        run(other, batch)
        assert model.config._attn_implementation == "regard"
    assert (len(whole), len(part), len(others)) == (2, 1, 2)
    assert torch.equal(part[0].weights, whole[1].weights)
    assert model.config._attn_implementation == "sdpa"
    outer, inner = record(model), record(other)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)  # as two threads may end
    assert model.config._attn_implementation == "regard"
    inner.__exit__(None, None, None)
    with pytest.raises(KeyboardInterrupt), record(model):
        raise KeyboardInterrupt
    assert model.config._attn_implementation == "sdpa"


def test_other_implementations_are_sdpa_meanwhile():
    model, batch = make_model("llama"), make_batch("llama")
    before = run(model, batch)
    model.config._attn_implementation_internal = "flex_attention"
    with record(model) as trace:
        assert torch.equal(run(model, batch), before)
    assert len(trace) == 2
    assert model.config._attn_implementation == "flex_attention"


def test_models_with_attention_of_their_own_are_refused():
    config = transformers.DebertaV2Config(vocab_size=SIZE, **KINDS["bert"][2])
    with pytest.raises(ArgumentError) as caught:
        attention_layers(transformers.DebertaV2Model(config))
    assert str(caught.value) == (
        "`model` must ask transformers for its attention function; received DebertaV2Model, which has one of its own. "
        'Update transformers, or see its weights by attn_implementation="eager" and output_attentions=True.'
    )


class ByName(nn.Module):
    def forward(self, x):
        return ALL_ATTENTION_FUNCTIONS if self.config._attn_implementation in ("eager", "sdpa") else x


def test_models_that_ask_for_a_function_by_name_are_refused():
    message = (
        "`model` must leave the choice of its attention function to transformers; received ByName at "
        '"0", which asks for one by name. See its weights by attn_implementation="eager" and output_attentions=True.'
    )
    with pytest.raises(ArgumentError, match=re.escape(message)), record(nn.Sequential(ByName())):
        pass


def test_a_mechanism_that_weights_do_not_explain_is_refused(monkeypatch):
    plain = modeling_bert.eager_attention_forward

    def doubled(*args, **settings):
        context, weights = plain(*args, **settings)
        return 2 * context, weights

    monkeypatch.setattr(modeling_bert, "eager_attention_forward", doubled)
    model = make_model("bert", "eager")
    message = (
        r"`model` must attend by softmax over scaled dot products for its weights to be recorded; received "
        r'"bert\.encoder\.layer\.0\.attention\.self", whose context differs from that by \d.*\. Leave it out: '
        r"record\(model, layers=\[…\]\)\."
    )
    with pytest.raises(ArgumentError, match=message), record(model):
        run(model, make_batch("bert"))


def test_an_encoder_is_inspected():
    model, tokenizer = make_model("bert").train(), make_tokenizer()
    found = regard.inspect(model, tokenizer, "the [MASK] sat")
    assert found.tokens == ("[CLS]", "the", "[MASK]", "sat", "[SEP]")
    assert found.layer == "bert.encoder.layer.1.attention.self"
    assert model.training
    assert model.bert.training
    with torch.no_grad():
        chances = model.eval()(**tokenizer("the [MASK] sat", return_tensors="pt")).logits[0, 2].softmax(-1)
    assert found.likely[0].probability == pytest.approx(float(chances.max()))
    assert (found.target, found.target_tokens) == (None, ())
    assert all(call.query_labels == call.key_labels == list(found.tokens) for call in found.trace)
    assert found.map(head=1).labels == (found.tokens, found.tokens)
    torch.testing.assert_close(found.map(head=1).values, found.trace[1].weights[0, 1])
    assert repr(found) == "Inspection('the [MASK] sat', 2 layers)"
    with pytest.raises(ArgumentError, match=re.escape(
        "`target` must go with a model that says something; received BertForMaskedLM, which only reads. Leave it out."
    )):  # fmt: skip
        regard.inspect(model, tokenizer, "the cat", target="sat")


def test_a_classifier_gives_its_labels():
    config = transformers.BertConfig(vocab_size=SIZE, **KINDS["bert"][2], id2label={0: "bad", 1: "good", 2: "odd"})
    found = regard.inspect(transformers.BertForSequenceClassification(config), make_tokenizer(), "the cat sat")
    assert {one.text for one in found.likely} == {"bad", "good", "odd"}
    assert sum(one.probability for one in found.likely) == pytest.approx(1)
    bare = regard.inspect(transformers.BertModel(config), make_tokenizer(), "the cat sat")
    assert bare.likely == ()


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoder_is_inspected(name):
    model, tokenizer = make_model(name), make_tokenizer()
    found = regard.inspect(model, tokenizer, "the cat", target="sat on")
    assert found.tokens == ("[CLS]", "the", "cat", "[SEP]", "sat", "on")
    assert found.target_tokens == ("sat", "on")
    with torch.no_grad():
        chances = model(torch.tensor([[START, 5, 6, END, 7, 8]])).logits[0].softmax(-1)
    assert found.target_probabilities == pytest.approx((float(chances[3, 7]), float(chances[4, 8])))
    assert found.likely[0].probability == pytest.approx(float(chances[5].max()))
    assert len(found.likely) == 10
    assert found.call().mask[0, 0].equal(torch.ones(6, 6).tril().bool())


@pytest.mark.parametrize("name", ["t5", "bart"])
@pytest.mark.parametrize("target", [None, "a dog ran", "a dog ran on"])
def test_encoder_and_decoder_are_inspected(name, target):
    model, tokenizer = make_model(name), make_tokenizer()
    model.generation_config.max_new_tokens = 4
    found = regard.inspect(model, tokenizer, "a cat sat", target=target)  # with [CLS] and [SEP] five tokens
    source, said = list(found.tokens), list(found.target_tokens)
    assert source == ["[CLS]", "a", "cat", "sat", "[SEP]"]
    if target is not None:
        assert said == ["[CLS]", *target.split(), "[SEP]"]
        assert found.target == target
    assert len(found.target_probabilities) == len(said)
    crossing = [layer for layer in found.trace.layers if "EncDec" in layer or "encoder_attn" in layer]
    assert found.layer == crossing[0]
    for call in found.trace:
        if call.layer in crossing:
            assert (call.query_labels, call.key_labels) == (said, source)
        elif "encoder" in call.layer.split("."):
            assert (call.query_labels, call.key_labels) == (source, source)
        else:
            assert call.query_labels == call.key_labels == ["[SEP]", *said[:-1]]
    if target is None:
        ids = model.generate(tokenizer("a cat sat", return_tensors="pt")["input_ids"])[0, 1:]
        assert said == tokenizer.convert_ids_to_tokens(ids)


def test_mistakes_are_told():
    model, tokenizer = make_model("bert"), make_tokenizer()
    seq2seq = transformers.BartModel(make_model("bart").config)
    for given, message in {
        (model, "the cat"): "`inspect` of a Hugging Face model must be given model, tokenizer and text; received 2 of "
        "these. Write inspect(model, tokenizer, text).",
        (model, tokenizer, " "): "`text` must be text with at least one word; received ' '.",
        (model, tokenizer, "cat " * 20): "`text` must have at most the model's 16 tokens; received 22. Shorten it.",
        (seq2seq, tokenizer, "cat"): "`model` must be able to say tokens; received BartModel, which has no output "
        "layer. Load it by AutoModelForSeq2SeqLM.",
    }.items():
        with pytest.raises(ArgumentError) as caught:
            regard.inspect(*given)
        assert str(caught.value) == message
    with pytest.raises(ArgumentTypeError, match=r"`tokenizer` must be a tokenizer of transformers; received str\."):
        regard.inspect(model, "tokenizer", "cat")
    seer = SimpleNamespace(ask=print)
    with pytest.raises(
        ArgumentTypeError, match=r"received SimpleNamespace\. What it attends to is in model\.ask\(image, "
    ):
        regard.inspect(seer, "a.png", "What is it?")


def test_folders_are_loaded_without_a_network(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    model, tokenizer = make_model("bert"), make_tokenizer()
    assert not is_hugging_face(folder)
    model.save_pretrained(folder)
    assert is_hugging_face(folder)
    with pytest.raises(DataError) as caught:
        load_hugging_face(folder)
    message = f"{folder} must hold a tokenizer beside the model; received none. Save it there by save_pretrained."
    assert str(caught.value) == message
    tokenizer.save_pretrained(folder)
    again, words = load_hugging_face(folder)
    assert type(again) is type(model)
    first, second = (regard.inspect(one, two, "the [MASK]") for one, two in ((model, tokenizer), (again, words)))
    torch.testing.assert_close(first.call().weights, second.call().weights)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("BertForMaskedLM", "BirdModel"))
    with pytest.raises(DataError, match=re.escape(
        f"{folder} must hold a model that transformers {transformers.__version__} knows; received BirdModel. Update"
    )):  # fmt: skip
        load_hugging_face(folder)
    (folder / "config.json").write_text(config)
    (folder / "model.safetensors").unlink()
    message = f"{folder} must hold a whole model, as safetensors, and its tokenizer; transformers says: "
    with pytest.raises(DataError, match=re.escape(message)):
        load_hugging_face(folder)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError) as caught:
        load_hugging_face(folder)
    assert str(caught.value) == (
        "Models of Hugging Face need the package transformers, which is not installed. Install it: pip install "
        "'regard[transformers]'."
    )
