"""Hugging Face folders of strangers: no code runs, nothing is fetched, nothing is made up, nothing grows."""

import io
import json
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.errors import DataError, NotFiniteError
from regard.inspection.hugging_face.folder import load_hugging_face
from regard.inspection.hugging_face.stage import staged
from unit.inspection.hugging_face_models import make_model, make_tokenizer


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    make_model("gpt2").save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "model")
    return tmp_path / "model"


def change(folder, name="config.json", /, **settings):
    table = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(table | settings))


def refused(folder, message, error=DataError):
    with pytest.raises(error) as caught:
        load_hugging_face(folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


EVIL = "open({path!r}, 'w').write('ran')\nclass Evil:\n    pass\n"


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_of_the_folder_never_runs_whatever_is_typed(folder, tmp_path, monkeypatch, name):
    (folder / "evil.py").write_text(EVIL.format(path=str(tmp_path / "mark")))
    kinds = ("AutoConfig", "AutoModel", "AutoModelForCausalLM")
    change(folder, name, auto_map={"AutoTokenizer": ["evil.Evil", None]} | dict.fromkeys(kinds, "evil.Evil"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 100))
    refused(folder, f"{folder / name} must describe a model that transformers brings; received auto_map, which asks")
    change(folder, "config.json", model_type="evil", architectures=None)
    refused(folder, "")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation", "text_attn_implementation"])
@pytest.mark.parametrize("value", ["stranger/kernel", "paged|stranger/kernel", "other", {"": "stranger/kernel"}, 3])
def test_kernels_are_never_fetched(folder, key, value):
    change(folder, **{key: value})
    refused(folder, f"{folder}/config.json: {key} must be eager, sdpa, flex_attention, flash_attention_2, ")
    change(folder, **{key: None, "text_config": {key: value}})
    refused(folder, f"{folder}/config.json: text_config.{key} must be eager, sdpa, ")


def test_implementations_that_transformers_brings_are_no_obstacle(folder):
    change(folder, _attn_implementation="flash_attention_2")  # which needs a GPU
    model, _ = load_hugging_face(folder)
    assert model.config._attn_implementation == "sdpa"


def test_a_missing_tensor_is_an_error_that_names_it(folder):
    tensors = load_file(folder / "model.safetensors")
    gone = "transformer.h.0.attn.c_attn.weight"
    save_file({name: one for name, one in tensors.items() if name != gone}, folder / "model.safetensors")
    refused(folder, f"{folder} must hold every tensor of the model; received missing: {gone}. Copy or save")
    save_file(tensors | {gone: torch.zeros(3, 3)}, folder / "model.safetensors")
    refused(folder, f"{folder} must hold ")


def test_a_model_of_nan_is_refused(folder):
    tensors = load_file(folder / "model.safetensors")
    name = "transformer.wpe.weight"
    save_file(tensors | {name: torch.full_like(tensors[name], torch.nan)}, folder / "model.safetensors")
    refused(folder, f"{folder} must hold numbers; received NaN in {name}.", NotFiniteError)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_layer": 10_000_000}, "n_layer must be at most 1,000; received 10000000."),
        ({"vocab_size": 10**9}, "vocab_size must be at most 16,777,216; received 1000000000."),
        ({"num_labels": 10**12}, "num_labels must be at most 16,777,216"),
        ({"n_embd": 60_000}, "config.json asks for; received"),
        ({"n_positions": 10_000_000}, "config.json asks for; received"),
        ({"n_head": 0}, "transformers says: ZeroDivisionError: "),
        ({"n_head": "many"}, "transformers says: "),
        ({"architectures": ["pipeline"]}, "knows; received pipeline. Update transformers."),
        ({"architectures": ["GPT2Tokenizer"]}, "knows; received GPT2Tokenizer. Update transformers."),
        ({"architectures": ["os.system"]}, "knows; received os.system. Update transformers."),
        ({"architectures": [3]}, "config.json: architectures[0] must be text; received 3."),
        ({"architectures": "GPT2LMHeadModel"}, "config.json: architectures must be a list; received"),
        ({"dtype": "float128"}, "transformers says: "),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantization_config must be left out: only models of"),
        ({"model_type": "unheard-of", "architectures": None}, "transformers says: "),
        ({"model_type": ["gpt2"]}, ""),
    ],
)
def test_damaged_settings_are_one_paragraph(folder, settings, message):
    change(folder, **settings)
    refused(folder, message)


def test_numbers_of_tokens_that_would_take_all_memory_are_refused(folder):
    table = json.loads((folder / "tokenizer.json").read_text())
    table["model"]["vocab"]["cat"] = 4_294_967_290
    (folder / "tokenizer.json").write_text(json.dumps(table))
    refused(folder, "tokenizer.json: model must number its 15 tokens from 0 to 100,014")


def test_a_template_of_tokens_that_nobody_describes_is_refused(folder, capfd):
    table = json.loads((folder / "tokenizer.json").read_text())
    table["post_processor"]["special_tokens"].popitem()
    (folder / "tokenizer.json").write_text(json.dumps(table))
    refused(folder, "must be described in special_tokens; received ")
    table["post_processor"] = {"type": "Sequence", "processors": [table["post_processor"]]}
    (folder / "tokenizer.json").write_text(json.dumps(table))
    refused(folder, "must be described in special_tokens; received ")
    assert capfd.readouterr().err == ""  # nothing of a panic


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 5000, b'{"a": ' + b"9" * 5000 + b"}"])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
def test_damaged_files_are_one_paragraph(folder, name, content):
    (folder / name).write_bytes(content)
    refused(folder, name)


def test_tensors_outside_the_folder_are_not_opened(folder, tmp_path):
    (folder / "model.safetensors").rename(tmp_path / "model.safetensors")
    table = {"metadata": {}, "weight_map": {"transformer.wpe.weight": "../model.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(table))
    refused(folder, "weight_map.transformer.wpe.weight must be a file of the folder, such as model-00001-of-00002")


def test_transformers_sees_only_what_it_may(folder):
    for name in ("evil.py", "adapter_config.json", "pytorch_model.bin", "shard-00001-model-00001-of-00001.safetensors"):
        (folder / name).write_text("{}")
    change(folder, "tokenizer_config.json", vocab_file="/etc/hosts", tokenizer_file="../x", init_inputs=["/etc/hosts"])
    change(folder, transformers_weights="../../x.safetensors", _name_or_path="stranger/model")
    with staged(folder) as place:
        names = {path.name for path in place.iterdir()}
        settings = json.loads((place / "tokenizer_config.json").read_text())
        config = json.loads((place / "config.json").read_text())
    known = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert names <= known
    assert not {"vocab_file", "tokenizer_file", "init_inputs"} & settings.keys()
    assert not {"transformers_weights", "_name_or_path"} & config.keys()
    assert not place.exists()
    model, _ = load_hugging_face(folder)
    assert model.config.name_or_path == str(folder)
