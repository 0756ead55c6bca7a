"""A small run on images that several tests make: the label is the color of a patch."""

from unittest import mock

from regard.config.read import merge
from regard.tasks.images.data import gather_images
from regard.tasks.images.settings import TYPICAL, compose_images
from regard.tasks.images.train import train_image_classifier
from regard.training.run import Run
from regard.training.run_folder import RunFolder

SIZES = {
    "resnet": {"widths": [8, 16], "num_blocks": 1, "reduction": 4},
    "vit": {"size": 16, "num_layers": 2, "num_heads": 2, "feed_forward_size": 32, "dropout": 0.0},
}


def settings(folder, preset, **changes):
    """Choose what trains in a second or two."""
    train = {"steps": 50, "batch_size": 24, "threads": 1, "validate_every": 25, "device": "cpu"}
    table = {
        "data": {"corpus": str(folder), "image_size": 16, "shift": 0},
        "model": SIZES[preset.split("-")[0]],
        "train": {**train, "schedule": {"rate": 0.01}},
    }
    table = merge(table, changes)
    corpus = gather_images(compose_images(table, TYPICAL, name=preset).data)
    return compose_images(table, corpus.size, name=preset), corpus


def make_images(out, folder, preset, **changes):
    """Train into `out`, and give what came of it and the images."""
    config, corpus = settings(folder, preset, **changes)
    run = RunFolder(out)
    run.begin(config, corpus.fingerprint())
    with mock.patch("regard.tasks.images.train.SHOWN", 1):  # figures take longer than the training
        return train_image_classifier(config, corpus, Run(folder=run, command="regard train")), corpus
