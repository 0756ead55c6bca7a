"""Image classifiers of Hugging Face: what is refused when a folder is opened, and what is not."""

import json
import re

import pytest
import torch
import transformers

from regard.errors import DataError
from regard.studio.models import Models
from regard.studio.picture_models import PROCESSOR, open_patch_classifier
from unit.studio.strangers import make_vision

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 16}
PIXELS = torch.arange(3 * 32 * 32).remainder(251).to(torch.uint8).view(3, 32, 32)


def _write(kind, folder, **settings):
    """Write a small random model of a class over pictures of 32 × 32 pixels."""
    torch.manual_seed(5)
    model_class = getattr(transformers, kind)
    model_class(model_class.config_class(**({"image_size": 32, "patch_size": 8} | settings))).save_pretrained(folder)
    return folder


def _rewrite(folder, **changes):
    path = folder / PROCESSOR
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (
            "ViTModel",
            SIZES,
            "must hold an image classifier, such as ViTForImageClassification; received ViTModel, which gives no "
            "labels. Save the model with its classifier.",
        ),
        (
            "ViTForImageClassification",
            SIZES | {"num_channels": 1},
            "must hold a model of pictures with 3 channels; received one of 1. Choose a model of color pictures.",
        ),
        (
            "SwinForImageClassification",
            {"patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
            "must hold an image classifier whose layers all attend over all patches, as those of ViT; received "
            "SwinForImageClassification, whose layers do not. Choose a ViT, DeiT or BEiT.",
        ),
    ],
)
def test_a_model_that_could_not_answer_is_refused_when_it_is_opened(tmp_path, kind, settings, message):
    folder = _write(kind, tmp_path, **settings)
    with pytest.raises(DataError, match=f"^{re.escape(f'{folder} {message}')}$"):
        Models([folder])


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("ViTForImageClassification", SIZES | {"image_size": [32, 32], "patch_size": [8, 8]}),
        ("DeiTForImageClassificationWithTeacher", SIZES),
        ("BeitForImageClassification", SIZES),
    ],
)
def test_a_model_over_all_patches_is_opened_and_answers(tmp_path, kind, settings):
    model = open_patch_classifier(_write(kind, tmp_path, **settings))
    assert model.label(PIXELS).weights.shape == (2, 2, 4, 4)


def test_whole_numbers_are_read_as_fractions_are(tmp_path):
    folder = make_vision(tmp_path)
    _rewrite(folder, image_mean=[0, 0, 0], image_std=[1, 1, 1])
    whole = open_patch_classifier(folder).label(PIXELS).probabilities
    _rewrite(folder, image_mean=[0.0, 0.0, 0.0], image_std=[1.0, 1.0, 1.0])
    assert whole == open_patch_classifier(folder).label(PIXELS).probabilities


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("image_std", [0.5, 0, 0.5], "3 numbers above 0"),
        ("image_std", [0.5, -1.0, 0.5], "3 numbers above 0"),
        ("image_std", [0.5], "3 numbers above 0"),
        ("image_mean", [0.5, True, 0.5], "3 numbers"),
        ("image_mean", 0.5, "3 numbers"),
        ("image_mean", ["a", "b", "c"], "3 numbers"),
    ],
)
def test_colors_that_cannot_be_scaled_are_refused_when_the_folder_is_opened(tmp_path, name, value, wanted):
    folder = make_vision(tmp_path)
    _rewrite(folder, **{name: value})
    message = f"{folder / PROCESSOR}: {name} must be {wanted}; received {value}. Write one for each color."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        open_patch_classifier(folder)
