import json
import os
import re
import stat

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard import __version__
from regard.config.model import TransformerSpec
from regard.errors import DataError, NotFiniteError
from regard.models import build_model
from regard.models.folder import load_model, read_config, save_model, saved_tensors
from regard.tasks.translation.presets import preset

SPEC = TransformerSpec(size=8, num_encoder_layers=1, num_decoder_layers=1, feed_forward_size=8, tie="all")


@pytest.fixture
def folder(tmp_path):
    model = build_model(SPEC, source_vocabulary=7, target_vocabulary=7)
    save_model(model, SPEC, tmp_path / "run" / "model", source_vocabulary=7, target_vocabulary=7)
    return tmp_path / "run" / "model"


def test_a_folder_holds_two_plain_files(folder) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    config = json.loads((folder / "config.json").read_text())
    assert config["version"] == __version__
    assert config["model"]["kind"] == "transformer"
    assert (config["source_vocabulary"], config["target_vocabulary"]) == (7, 7)
    assert read_config(folder).model == SPEC


def test_what_is_shared_is_written_once_and_shared_again(folder) -> None:
    names = load_file(folder / "model.safetensors").keys()
    assert "source.table.weight" in names
    assert "output.weight" not in names
    model = load_model(folder).model
    assert model.output.weight is model.source.table.weight
    assert model.output.weight is model.target.table.weight


def test_a_trained_model_can_go_on(folder) -> None:
    model = load_model(folder).model
    tokens = torch.ones(1, 3, dtype=torch.long)
    model(tokens, None, tokens).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_what_is_on_disk_may_change_without_changing_the_model(folder) -> None:
    model = load_model(folder).model
    before = model.output.weight.clone()
    (folder / "model.safetensors").write_bytes(b"\0" * (folder / "model.safetensors").stat().st_size)
    assert torch.equal(model.output.weight, before)


def test_saving_again_replaces_the_files_whole(folder) -> None:
    model = load_model(folder).model
    with torch.no_grad():
        model.output.bias.fill_(5)
    save_model(model, SPEC, folder, source_vocabulary=7, target_vocabulary=7)
    assert (load_model(folder).model.output.bias == 5).all()
    assert len(list(folder.iterdir())) == 2


def test_buffers_that_are_made_anew_are_not_saved() -> None:
    model = build_model(TransformerSpec(size=8, position="alibi"), source_vocabulary=7, target_vocabulary=7)
    assert not any("slopes" in name for name in saved_tensors(model))


def refused(folder, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        load_model(folder)


def test_a_folder_without_files_is_named(tmp_path, folder) -> None:
    refused(tmp_path / "nowhere", "config.json cannot be read (No such file or directory).")
    (folder / "model.safetensors").unlink()
    refused(folder, "model.safetensors must be a safetensors file; received: No such file or directory")


def test_damage_is_named(folder) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-10])
    refused(folder, "model.safetensors must be a safetensors file; received: ")
    (folder / "config.json").write_text("{")
    refused(folder, "config.json must be JSON; received: ")
    (folder / "config.json").write_text("[]")
    refused(folder, "config.json must hold a table of settings; received a list of 0.")


def test_a_pickle_is_not_loaded(folder) -> None:
    torch.save({"a": torch.ones(2)}, folder / "model.safetensors")
    refused(folder, "model.safetensors must be a safetensors file; received: ")


def test_other_names_and_shapes_are_named(folder) -> None:
    tensors = load_file(folder / "model.safetensors")
    renamed = dict(tensors)
    renamed["encoder.0.attention.querry.weight"] = renamed.pop("encoder.0.attention.query.weight")
    save_file(renamed, folder / "model.safetensors")
    refused(
        folder,
        f"must hold the {len(tensors)} tensors of the model; received missing: encoder.0.attention.query.weight; "
        "unknown: encoder.0.attention.querry.weight. Did you mean encoder.0.attention.query.weight?",
    )
    save_file({"output.bias": torch.zeros(7)}, folder / "model.safetensors")
    refused(folder, f" and {len(tensors) - 4} more.")
    save_file(tensors | {"output.bias": torch.zeros(8)}, folder / "model.safetensors")
    refused(folder, "output.bias must have the shape (7,) that config.json asks for; received (8,).")


def test_a_config_of_another_version_says_so(folder) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["model"]["sise"] = 3
    config["version"] = "9.9"
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder, f"model.sise: unknown key. Did you mean size? It was written by regard 9.9; this is {__version__}.")


def test_vocabularies_of_two_sizes(tmp_path) -> None:
    spec = preset("luong-dot", vocabulary=100)
    model = build_model(spec, source_vocabulary=5, target_vocabulary=6).double()
    save_model(model, spec, tmp_path, source_vocabulary=5, target_vocabulary=6)
    loaded, config = load_model(tmp_path)
    assert (config.source_vocabulary, config.target_vocabulary) == (5, 6)
    assert loaded.output.weight.dtype == torch.float64


def change(folder, **tensors) -> None:
    save_file(load_file(folder / "model.safetensors") | tensors, folder / "model.safetensors")


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float8_e5m2])
def test_numbers_of_another_kind_are_refused(folder, dtype) -> None:
    change(folder, **{"output.bias": torch.zeros(7).to(dtype)})
    refused(folder, "model.safetensors: output.bias must be of F32 or F16 or BF16 or F64; received ")


def test_precisions_are_not_mixed(folder) -> None:
    change(folder, **{"output.bias": torch.zeros(7).half()})
    refused(folder, "model.safetensors must hold numbers of one precision; received ")
    whole = {name: one.double() for name, one in load_file(folder / "model.safetensors").items()}
    save_file(whole, folder / "model.safetensors")
    assert load_model(folder).model.output.weight.dtype == torch.float64


def test_nan_is_refused_and_infinity_is_a_number(folder) -> None:
    bias = torch.zeros(7)
    bias[3] = -torch.inf
    change(folder, **{"output.bias": bias})
    assert load_model(folder).model.output.bias[3] == -torch.inf
    bias[3] = torch.nan
    change(folder, **{"output.bias": bias})
    with pytest.raises(NotFiniteError, match=r"must hold numbers; received NaN in output\.bias\. The model is damaged"):
        load_model(folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 60_000}, "must have the shape ("),
        ({"num_encoder_layers": 200}, "tensors of the model; received missing: encoder.1"),
        ({"num_encoder_layers": 10**9}, "`num_encoder_layers` must be at most 256; received 1000000000."),
        ({"size": 10**15}, "`size` must be at most 1,048,576; received 1000000000000000."),
        ({"size": 10**400}, "`size` must be at most 1,048,576; received an enormous number."),
    ],
)
def test_sizes_are_compared_with_the_file_before_anything_is_built(folder, monkeypatch, settings, message) -> None:
    table = json.loads((folder / "config.json").read_text())
    table["model"] |= settings
    (folder / "config.json").write_text(json.dumps(table))
    monkeypatch.setattr(
        torch.Tensor, "normal_", lambda tensor, *_, **__: tensor if tensor.is_meta else pytest.fail("memory")
    )
    refused(folder, message)


def test_vocabularies_without_measure_are_refused(folder) -> None:
    table = json.loads((folder / "config.json").read_text())
    for size in (10**9, 10**18, 10**30):
        (folder / "config.json").write_text(json.dumps(table | {"source_vocabulary": size, "target_vocabulary": size}))
        refused(folder, str(folder))


def test_nothing_waits_for_a_pipe_of_that_name(folder) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    refused(folder, "model.safetensors must be a plain file; received something else.")


def test_what_is_written_may_be_read_by_others(folder) -> None:
    assert {stat.S_IMODE(path.stat().st_mode) & 0o444 for path in folder.iterdir()} == {0o444}
