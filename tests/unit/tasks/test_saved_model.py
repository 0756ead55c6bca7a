"""Every kind of model that comes with texts is written and read in one way."""

import json

import pytest
from torch import nn

from regard.config.vision import ResidualSpec, SavedImageClassifier
from regard.errors import DataError
from regard.tasks.saved_model import build_saved, list_text, read_saved, whole_folder, write_saved

CONFIG = SavedImageClassifier(
    version="0.1.0", task="images", model=ResidualSpec(), height=8, width=8, channels=3, num_labels=2
)


@pytest.fixture
def folder(tmp_path):
    write_saved(tmp_path / "model", nn.Linear(2, 3), CONFIG, {"labels.json": list_text(("é", "b"))})
    return tmp_path / "model"


def test_what_is_written_is_read_again(folder):
    assert {path.name for path in folder.iterdir()} == {"model.safetensors", "labels.json", "config.json"}
    assert (folder / "labels.json").read_text(encoding="utf-8") == '["é", "b"]\n'
    assert read_saved(folder, "images", SavedImageClassifier) == CONFIG
    one, other = build_saved(lambda: nn.Linear(2, 3), folder), build_saved(lambda: nn.Linear(2, 3).double(), folder)
    assert not one.weight.equal(nn.Linear(2, 3).weight)
    assert one.weight.equal(other.weight)


def test_settings_that_cannot_be_are_named_with_their_file(folder):
    table = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**table, "height": 0}))
    with pytest.raises(DataError, match=r"config.json: `height` must be at least 1; received 0\."):
        read_saved(folder, "images", SavedImageClassifier)


def test_a_folder_that_is_not_whole_is_named(folder):
    with (
        pytest.raises(
            DataError, match=r"model must be a whole folder of an image classifier; received: .*weight must have"
        ),
        whole_folder(folder, "images"),
    ):
        build_saved(lambda: nn.Linear(3, 3), folder)
