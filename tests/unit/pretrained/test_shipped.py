"""Models that come with the package: found by name, described, whole, and of use."""

import pytest

import regard
from regard.errors import DataError
from regard.pretrained import shipped
from regard.pretrained.shipped import check_model, list_models, read_model, shipped_folder, write_about
from regard.tasks.model_folder import find_model
from regard.tasks.task import TASKS

SHIPPED = list_models()
CREDIT = {"license": "CC BY 2.0", "credit": "Somebody"}


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A package with one model, of three files."""
    folder = tmp_path / "models" / "xx-yy"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"parameters")
    (folder / "README.md").write_text("# A card")
    write_about(folder, task="translate", description="Greek to me", figures={"BLEU": "1.0"}, **CREDIT)
    monkeypatch.setattr(shipped, "MODELS", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "models"


def test_a_name_gives_the_folder_of_the_package(models):
    assert find_model("xx-yy") == models / "xx-yy" == shipped_folder("xx-yy")
    assert [item.name for item in regard.list_models()] == ["xx-yy"]


def test_a_folder_of_the_same_name_comes_first(models, tmp_path):
    (tmp_path / "xx-yy").mkdir()
    (tmp_path / "xx-yy" / "config.json").write_text("{}")
    assert find_model("xx-yy").resolve() == tmp_path / "xx-yy"


@pytest.mark.parametrize("name", ["../models/xx-yy", "xx-yy/", "", ".", "xx"])
def test_only_names_are_found(models, name):
    assert shipped_folder(name) is None


def test_a_name_that_is_nearly_right_is_offered(models):
    with pytest.raises(DataError, match=r"received xx-yz, which is not there. Did you mean xx-yy\?"):
        find_model("xx-yz")


def test_what_about_says_comes_back(models):
    model = read_model(models / "xx-yy")
    assert (model.task, model.description, model.license, model.credit) == (
        "translate",
        "Greek to me",
        "CC BY 2.0",
        "Somebody",
    )
    assert model.figures == {"BLEU": "1.0"}
    assert model.checksums.keys() == {"config.json", "model.safetensors", "README.md"}
    check_model(model)


def test_a_file_that_is_another_one_or_missing_is_noticed(models):
    model = read_model(models / "xx-yy")
    (models / "xx-yy" / "model.safetensors").write_bytes(b"Parameters")
    with pytest.raises(DataError, match=r"model.safetensors must be the file that came with .*; it is another one"):
        check_model(model)
    (models / "xx-yy" / "model.safetensors").unlink()
    with pytest.raises(DataError, match=r"model.safetensors must be the file that came with .*; it is missing"):
        check_model(model)


@pytest.mark.parametrize("model", SHIPPED, ids=lambda model: model.name)
def test_each_is_whole_small_and_of_its_kind(model):
    check_model(model)
    assert model.task in TASKS
    assert model.num_bytes <= 11e6
    names = {path.name for path in model.folder.iterdir()}
    assert {"config.json", "model.safetensors", "README.md", "about.json"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pth", ".pkl", ".pickle"))]
    assert model.license in (model.folder / "README.md").read_text(encoding="utf-8")
