"""Images are divided without leaks, and batches come the same way again."""

import numpy as np
import pytest
import torch

from regard.data.corpora.report import Report
from regard.data.corpora.split import Fractions
from regard.data.images.augment import augment
from regard.data.images.batches import ImageBatches
from regard.data.images.labeled import LabeledImages, drop_held_out_images, rename_labels, split_images
from regard.errors import DataError
from regard.training.job import TrainingBatch


def make(count, *, seed=1):
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 256, (count, 3, 6, 6)).astype(np.uint8)
    return LabeledImages(pixels=pixels, labels=np.arange(count) % 3, names=("a", "b", "c"))


def test_an_image_that_is_there_twice_is_on_one_side():
    images = make(200)
    twice = LabeledImages(
        pixels=np.concatenate([images.pixels, images.pixels]),
        labels=np.concatenate([images.labels, images.labels]),
        names=images.names,
    )
    sides = split_images(twice, Fractions(valid=0.3, test=0.2))
    digests = [set(side.digests()) for side in sides]
    assert sum(map(len, sides)) == 400
    assert not digests[0] & digests[1]
    assert not digests[0] & digests[2]
    assert not digests[1] & digests[2]
    assert 80 < len(sides.valid) < 160
    again = split_images(twice, Fractions(valid=0.3, test=0.2))
    assert (again.valid.pixels == sides.valid.pixels).all()


def test_a_side_that_stays_empty_is_an_error():
    with pytest.raises(DataError, match=r"`valid` = 1e-06 must hold out at least one image; received none of 5\."):
        split_images(make(5), Fractions(valid=1e-6, test=0.0))


def test_what_is_held_out_elsewhere_is_dropped():
    images, report = make(10), Report()
    kept = drop_held_out_images(images, [images.select([3, 7])], report=report)
    assert len(kept) == 8
    assert report.dropped == {"held out": 2}
    assert report.examples["held out"][0].place == "image 4"
    assert drop_held_out_images(images, [make(3, seed=2)]) is images


def test_labels_are_numbered_as_those_to_train_on():
    images = make(3)
    assert rename_labels(images, ["c", "b", "a"], side="test").labels.tolist() == [2, 1, 0]
    with pytest.raises(
        DataError, match=r'The test images must have labels that the training images have; received "c"'
    ):
        rename_labels(images, ["a", "b"], side="test")


def test_changes_keep_what_is_there():
    pixels = make(40).pixels
    flipped = augment(pixels, np.random.default_rng(1), flip=True, shift=0)
    kept = [(one == other).all() for one, other in zip(flipped, pixels, strict=True)]
    assert all(
        (one == (other if same else other[..., ::-1])).all()
        for one, other, same in zip(flipped, pixels, kept, strict=True)
    )
    assert 8 < sum(kept) < 32
    moved = augment(pixels, np.random.default_rng(1), flip=False, shift=1)
    assert moved.shape == pixels.shape
    # The middle of an image comes from at most one place away.
    near = [(moved[:, :, 2:4, 2:4] == pixels[:, :, 2 + y : 4 + y, 2 + x : 4 + x]).all((1, 2, 3)) for y, x in MOVES]
    assert np.any(near, axis=0).all()
    wide = augment(pixels[:, :, :2, :2], np.random.default_rng(1), flip=False, shift=5)
    assert wide.shape == (40, 3, 2, 2)


MOVES = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]


def batches(**changes):
    return ImageBatches(make(23), **({"size": 5, "seed": 3, "flip": True, "shift": 1} | changes))


def test_an_epoch_has_every_image_once_in_batches_of_like_size():
    seen = list(batches())
    assert sorted(torch.cat([one.indices for one in seen]).tolist()) == list(range(23))
    assert [one.num_tokens for one in seen] == [5, 5, 5, 4, 4]
    assert isinstance(seen[0], TrainingBatch)
    labels = make(23).labels
    assert all((labels[one.indices] == one.labels.numpy()).all() for one in seen)


def test_batches_go_on_where_they_stopped():
    whole = batches()
    first = [*whole, *whole]
    resumed = batches()
    resumed.restore({"epoch": 1, "batch": 2})
    rest = list(resumed)
    assert len(rest) == 3
    for one, other in zip(rest, first[7:], strict=True):
        assert torch.equal(one.pixels, other.pixels)
        assert torch.equal(one.indices, other.indices)
    assert not torch.equal(first[0].indices, first[5].indices)
    assert resumed.state() == {"epoch": 2, "batch": 0}


def test_several_processes_share_an_epoch():
    seen = [torch.cat([one.indices for one in batches(rank=rank, ranks=2)]).tolist() for rank in (0, 1)]
    assert sorted(seen[0] + seen[1]) == list(range(23))


def test_a_batch_is_halved_and_moved():
    batch = next(iter(batches(shuffle=False, flip=False, shift=0)))
    first, second = batch.halve()
    assert (first.num_tokens, second.num_tokens) == (3, 2)
    assert torch.equal(torch.cat([first.pixels, second.pixels]), batch.pixels)
    assert [one.num_tokens for one in first.halve()[1].halve()] == [1]
    assert batch.to("cpu").cells == 5 * 3 * 36
    assert batch.image.max() <= 1
    assert batch.image.dtype == torch.float32
