"""Models of Hugging Face that read text: what they predict, may attend to, and can read at once."""

import pytest
import torch
import transformers

from regard.errors import ArgumentError
from regard.studio.schema.read import TextRequest
from regard.studio.schema.steps import ReadRequest
from regard.studio.text_models import HuggingFaceModel, open_hugging_face
from regard.studio.views.read import read_text
from regard.studio.views.steps import inspect_text
from regard.studio.views.whatif_text import begin_text
from unit.inspection.hugging_face_models import LAYERS, SIDES, SIZE, SPECIAL, make_model, make_tokenizer
from unit.studio.strangers import TEXT

NAMES = {0: "person", 1: "animal", 2: "thing"}


def _open(kind, root, **settings):
    """Write a small random model of a class, and open it as the studio does."""
    torch.manual_seed(4)
    model_class = getattr(transformers, kind)
    config = model_class.config_class(**({"vocab_size": SIZE} | SPECIAL | settings))
    model_class(config).save_pretrained(root)
    make_tokenizer().save_pretrained(root)
    return open_hugging_face(root)


def _read(model, text=TEXT):
    return read_text(model, TextRequest(model="", text=text))


@pytest.mark.parametrize(
    ("kind", "settings", "named"),
    [
        ("BertForTokenClassification", LAYERS, []),
        ("BertForQuestionAnswering", LAYERS, []),
        ("BertForPreTraining", LAYERS, []),
        ("BertForSequenceClassification", LAYERS, sorted(NAMES.values())),
        (
            "BartForSequenceClassification",
            {"d_model": 16, "decoder_start_token_id": 2, **SIDES},
            sorted(NAMES.values()),
        ),
        ("BartModel", {"d_model": 16, "decoder_start_token_id": 2, **SIDES}, []),
    ],
)
def test_labels_are_not_shown_as_words(tmp_path, kind, settings, named):
    model = _open(kind, tmp_path, **settings, **({"id2label": NAMES} if "Classification" in kind else {}))
    answer = _read(model)
    assert answer.reads == "encoder"
    assert answer.candidates == []
    assert answer.chances == []
    assert sorted(item.name for item in answer.labels) == named
    assert sum(item.probability for item in answer.labels) == pytest.approx(1.0 if named else 0.0)
    assert [(item.id, len(item.layers)) for item in answer.maps] == [("text", 2)]
    with pytest.raises(ArgumentError, match=r"^`model` must predict words to be changed; received an encoder"):
        begin_text(model, TEXT)


@pytest.mark.parametrize(("name", "reads"), [("bert", "masked"), ("gpt2", "causal"), ("bart", "both"), ("t5", "both")])
def test_models_that_output_words_show_them(tmp_path, name, reads):
    answer = _read(HuggingFaceModel(make_model(name), make_tokenizer(), tmp_path))
    assert answer.reads == reads
    assert len(answer.candidates) == (1 if reads == "both" else 8)
    assert answer.labels == []


@pytest.mark.parametrize("layer_types", [["sliding_attention", "full_attention"], ["full_attention"] * 2])
def test_no_layer_has_weight_where_the_mask_forbids(tmp_path, layer_types):
    model = HuggingFaceModel(make_model("gemma2", "eager", layer_types=layer_types), make_tokenizer(), tmp_path)
    ids = model.ids(TEXT)
    [maps] = model.run(ids, []).maps
    assert maps.mask.tolist() == torch.ones(len(ids), len(ids)).tril().bool().tolist()
    assert (maps.weights[1][:, maps.mask] > 0).all()
    assert (maps.weights[:, :, ~maps.mask] == 0).all()


def test_where_all_layers_slide_the_mask_does(tmp_path):
    layer_types = ["sliding_attention"] * 2
    model = HuggingFaceModel(make_model("gemma2", "eager", layer_types=layer_types), make_tokenizer(), tmp_path)
    ids = model.ids(TEXT)
    [maps] = model.run(ids, []).maps
    window = torch.ones(len(ids), len(ids)).tril().triu(-2)  # of three tokens
    assert maps.mask.tolist() == window.bool().tolist()


@pytest.mark.parametrize(
    ("kind", "settings", "most"),
    [
        ("RobertaForMaskedLM", {"pad_token_id": 1}, 14),
        ("RobertaForCausalLM", {"pad_token_id": 0, "is_decoder": True}, 15),
        ("XLMRobertaForMaskedLM", {"pad_token_id": 1}, 14),
        ("BertForMaskedLM", {"pad_token_id": 1}, 16),
    ],
)
def test_a_long_text_is_cut_at_the_positions_that_a_model_has(tmp_path, kind, settings, most):
    model = _open(kind, tmp_path, **(LAYERS | {"max_position_embeddings": 16} | settings))
    answer = _read(model, " ".join(["cat"] * 30))
    assert (model.reach, len(answer.source.ids), answer.cut) == (most, most, 32 - most)
    assert len(answer.candidates) == most
    with pytest.raises((IndexError, RuntimeError)):
        model.predict([5] * (most + 1), [])
    with pytest.raises(ArgumentError, match=rf"^`text` must have at most {most} tokens to be taken apart; received 32"):
        inspect_text(model, ReadRequest(model="", text=" ".join(["cat"] * 30)))
