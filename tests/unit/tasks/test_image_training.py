"""Training image classifiers: each preset learns, goes on as if nothing had happened, and says what it weighed."""

import json
import re
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.data.corpora.split import Fractions
from regard.data.images.pixels import color_statistics
from regard.errors import ArgumentError, ArgumentTypeError, DataError, Interrupted
from regard.tasks.images.data import gather_images
from regard.tasks.images.model import ImageClassifier, load_image_classifier
from regard.tasks.images.settings import IMAGE_ENCODERS, TYPICAL, ImageData, compose_images
from regard.tasks.images.train import describe_images, train_image_classifier
from regard.training.interruption import Interruption
from regard.training.metrics import read_metrics
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.data.images.pictures import COLORS, cifar, paint, write_folder, write_idx
from unit.tasks.image_run import make_images, settings


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("pictures") / "a", count=40)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, pictures):
    """Train each preset once, when it is first asked for."""
    made = {}

    def trained(preset):
        if preset not in made:
            made[preset] = make_images(tmp_path_factory.mktemp(preset), pictures, preset)
        return made[preset]

    return trained


@pytest.mark.parametrize("preset", IMAGE_ENCODERS)
def test_every_preset_learns_and_is_saved_whole(preset, trained, pictures):
    run, corpus = trained(preset)
    assert run.figures["test_accuracy"] >= 0.8
    classifier = regard.load(run.folder.path)
    assert isinstance(classifier, ImageClassifier)
    decisions = classifier.classify([pictures / place for place in corpus.test.files])
    right = [one.label == name.split("/")[0] for one, name in zip(decisions, corpus.test.files, strict=True)]
    assert sum(right) / len(right) == pytest.approx(run.figures["test_accuracy"])
    assert sum(decisions[0].probabilities.values()) == pytest.approx(1)
    assert decisions[0].probability == max(decisions[0].probabilities.values())
    torch.testing.assert_close(
        classifier.model.standardize.mean.flatten(),
        torch.tensor(color_statistics(corpus.train.pixels)[0], dtype=torch.float32),
    )


def test_evidence_lies_where_the_color_is(trained):
    classifier = load_image_classifier(trained("resnet-both")[0].folder.path)
    draw, hits = np.random.default_rng(5), []
    for channel in [*COLORS.values()] * 6:
        pixels, (row, column) = paint(draw, channel)
        [one] = classifier.inspect([pixels.transpose(1, 2, 0)])
        assert one.evidence.shape == (8, 8)
        place = divmod(int(one.evidence.argmax()), 8)
        hits.append(abs(place[0] / 2 - row - 0.25) <= 1 and abs(place[1] / 2 - column - 0.25) <= 1)
    assert sum(hits) / len(hits) > 0.7


def test_an_inspection_has_gates_channels_and_a_figure(trained, pictures, tmp_path):
    classifier = load_image_classifier(trained("resnet-both")[0].folder.path)
    [one] = classifier.inspect([pictures / "red" / "000.png"])
    assert [place.name for place in one.last_positions()] == ["stage 1, block 1", "stage 2, block 1"]
    strongest = one.strongest(3)
    assert [(stage.name, len(best)) for stage, best in strongest] == [("stage 1, block 1", 3), ("stage 2, block 1", 3)]
    stage, best = strongest[1]
    assert stage.weights[best[0]] == stage.weights.max()
    figure = one.figure()
    figure.savefig(tmp_path / "a.png", dpi=40)
    titles = [axes.get_title().replace("\n", " ") for axes in figure.axes]
    assert f"channel {best[0]}: {float(stage.weights.max()):.2f}" in titles
    assert "stage 2, block 1: gate, 0 to 1" in titles
    with Image.open(tmp_path / "a.png") as drawn:
        assert drawn.size[0] > 100


def test_a_transformer_shows_where_its_token_looked(trained, pictures):
    classifier = load_image_classifier(trained("vit")[0].folder.path)
    [one] = classifier.inspect([pictures / "red" / "000.png"])
    assert [place.name for place in one.last_positions()] == ["block 1", "block 2", "rollout"]
    assert one.positions[0].weights.shape == (4, 4)
    assert (one.channels, one.evidence) == ((), None)
    titles = [axes.get_title().replace("\n", " ") for axes in one.figure().axes]
    assert "rollout: 0 to 0.5" in titles


def test_the_report_and_the_card_tell_the_run(trained):
    run, _ = trained("resnet")
    page = run.folder.report.read_text()
    for part in ("accuracy, test", "What was taken for what", "<th>images</th>", "data:image/png;base64,", "Curves"):
        assert part in page
    card = (run.folder.model / "README.md").read_text()
    assert "pipeline_tag: image-classification" in card
    assert "for images of 16 × 16 pixels" in card
    assert run.signature in card
    valid = [line for line in read_metrics(run.folder.metrics) if line["event"] == "valid"]
    assert [line["step"] for line in valid] == [25, 50]
    assert valid[-1]["accuracy"] == run.figures["valid_accuracy"]
    assert "model:vision-transformer|" in describe_images(compose_images({}, TYPICAL, name="vit"))


class Stop(Interruption):
    """Asks to stop after some batches."""

    def __init__(self, after):
        self.left = after
        super().__init__()

    @property
    def signal(self):
        self.left -= 1
        return int(signal.SIGTERM) if self.left < 0 else 0

    @signal.setter
    def signal(self, number):
        """Leave it to the batches."""


@pytest.mark.usefixtures("unchecked")  # for speed
def test_a_stopped_run_goes_on_bit_for_bit(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.tasks.images.train.SHOWN", 1)
    change = {"train": {"steps": 12, "validate_every": 6}, "data": {"flip": True, "shift": 2}}
    whole, _ = make_images(tmp_path / "whole", pictures, "resnet-channel", **change)
    config, corpus = settings(pictures, "resnet-channel", **change)
    run = Run(folder=RunFolder(tmp_path / "parts"))
    run.folder.begin(config, corpus.fingerprint())
    with pytest.raises(Interrupted):
        train_image_classifier(config, corpus, replace(run, interruption=Stop(9)))
    assert 0 < run.folder.checkpoints.steps()[-1] < 12
    resumed = train_image_classifier(config, corpus, run)
    one, other = (load_image_classifier(made.folder.path).model.state_dict() for made in (whole, resumed))
    assert all(torch.equal(one[name], other[name]) for name in one)
    again = train_image_classifier(config, corpus, run)
    assert again.figures == resumed.figures


def test_images_come_in_any_form(trained, pictures):
    classifier = load_image_classifier(trained("resnet")[0].folder.path)
    path = pictures / "green" / "003.png"
    with Image.open(path) as opened:
        opened.load()
    array = np.array(opened)
    tensor = torch.from_numpy(array).permute(2, 0, 1) / 255
    found = classifier.classify([str(path), path, opened, array, tensor])
    assert len({one.probability for one in found}) == 1
    assert classifier.classify([]) == []
    assert classifier.classify([array[..., 0], torch.rand(3, 40, 20)])[0].label in COLORS
    assert "residual" in repr(classifier)


def test_images_that_are_none_are_refused(trained, unchecked, tmp_path):
    classifier = load_image_classifier(trained("resnet")[0].folder.path)
    for images, kind, message in [
        ("a.png", ArgumentError, '`images` must be a list of images; received one path. Write ["a.png"].'),
        ([3], ArgumentTypeError, "`images[0]` must be a path, a Pillow image, an array or a tensor; received int."),
        (
            [np.zeros((4, 4))],
            ArgumentError,
            "`images[0]` as an array must be bytes of shape (height, width) or (height, width, 3); received float64 of",
        ),
        ([torch.zeros(1, 4, 4)], ArgumentError, "of shape (3, height, width); received torch.float32 of (1, 4, 4)."),
    ]:
        with pytest.raises(kind, match=re.escape(message)):
            classifier.classify(images)


def test_folders_that_are_not_whole_are_refused(trained, tmp_path):
    run, _ = trained("resnet")
    copy = tmp_path / "model"
    copy.mkdir()
    for path in run.folder.model.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "labels.json").unlink()
    with pytest.raises(DataError, match=r"must be a whole folder of an image classifier; received: "):
        load_image_classifier(copy)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"height": 0}))
    with pytest.raises(DataError, match=r"config\.json: `height` must be at least 1; received 0\."):
        load_image_classifier(copy)
    (copy / "config.json").write_text(json.dumps(config | {"task": "classify"}))
    with pytest.raises(DataError, match=r"must be the folder of an image classifier; .* holds .*Use "):
        load_image_classifier(copy)


def test_held_out_files_are_kept_apart(tmp_path):
    (tmp_path / "train.bin").write_bytes(cifar([0, 1] * 20))
    (tmp_path / "test.bin").write_bytes(cifar([0, 1] * 4))  # the first images of the other file
    files = {"corpus": str(tmp_path / "train.bin"), "test": str(tmp_path / "test.bin")}
    corpus = gather_images(ImageData(**files, names=("cat", "dog"), hold_out=Fractions(valid=0.2)))
    assert corpus.labels == ("cat", "dog")
    assert len(corpus.train) + len(corpus.valid) == 32
    assert len(corpus.test) == 8
    assert corpus.reports[-1].dropped == {"held out": 8}
    other = gather_images(ImageData(**files, names=("cat", "dog"), hold_out=Fractions(valid=0.3)))
    assert corpus.fingerprint() != other.fingerprint()


def test_data_that_cannot_be_trained_on_is_refused(tmp_path):
    with pytest.raises(
        ArgumentError, match=r"`data` must be a folder with a sub-folder of pictures .* received nothing"
    ):
        gather_images(ImageData())
    (tmp_path / "one.bin").write_bytes(cifar([7, 7]))
    with pytest.raises(DataError, match=r'must have at least two labels to choose from; received only "7"\.'):
        gather_images(ImageData(corpus=str(tmp_path / "one.bin")))
    (tmp_path / "two.bin").write_bytes(cifar([0, 3] * 8))
    gray, two = write_idx(tmp_path), str(tmp_path / "two.bin")
    with pytest.raises(
        DataError, match=re.escape("(colors, height, width) = (3, 32, 32); received (1, 5, 4). Set data.i")
    ):
        gather_images(ImageData(corpus=str(tmp_path / "two.bin"), valid=str(gray)))
    with pytest.raises(DataError, match=r"must leave images to train and to validate on; received 0 and 16\."):
        gather_images(ImageData(corpus=two, valid=two, hold_out=Fractions(test=0.0)))


def test_settings_suit_the_images():
    colored = compose_images({}, TYPICAL, name="resnet")
    gray = compose_images({}, TYPICAL._replace(channels=1, height=28, width=28, images=60_000), name="vit")
    assert (colored.data.flip, gray.data.flip) == (True, False)
    assert (colored.data.shift, gray.data.shift) == (4, 2)
    assert (colored.train.schedule.rate, gray.train.schedule.rate) == (3e-3, 1e-3)
    assert colored.train.label_smoothing == gray.train.label_smoothing == 0.0
    assert 1400 < gray.train.steps <= 2000
