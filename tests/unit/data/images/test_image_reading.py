"""Labeled images are read as they are, and refused, by name, where they are not what they should be."""

import re
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import regard
from regard.data.corpora.report import Report
from regard.data.images.cifar import read_cifar
from regard.data.images.folder import read_image_folder
from regard.data.images.idx import read_idx, read_idx_images
from regard.data.images.labeled import LabeledImages
from regard.data.images.picture import SUFFIXES, fit_picture, picture_size, read_picture, resize_images
from regard.data.images.read import join_images, read_images, rename_classes
from regard.errors import ArgumentError, DataError
from unit.data.images.pictures import cifar, idx, write_folder, write_idx


def test_a_folder_gives_its_classes_by_their_letters(tmp_path):
    folder = write_folder(tmp_path / "a", count=2)
    (folder / "red" / "notes.txt").write_text("x")
    (folder / "red" / ".hidden.png").write_text("x")
    report, counted = Report(), []
    images = read_image_folder(folder, size=(8, 12), report=report, count=counted.append)
    assert images.names == ("blue", "green", "red")
    assert images.pixels.shape == (6, 3, 8, 12)
    assert images.pixels.dtype == np.uint8
    assert images.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert images.describe(4) == "red/000.png"
    assert report.dropped == {"no picture": 1}
    assert counted == [1, 2, 3, 4, 5, 6]
    brightest = images.pixels.max((2, 3)).argmax(1)
    assert brightest.tolist() == [2, 2, 1, 1, 0, 0]


def test_a_bad_picture_is_named_or_left_out(tmp_path):
    folder = write_folder(tmp_path / "a", count=2)
    whole = (folder / "red" / "000.png").read_bytes()
    (folder / "red" / "000.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"red/000\.png must be a picture that can be read.*data\.bad = skip"):
        read_image_folder(folder, size=(8, 8))
    report = Report()
    assert len(read_image_folder(folder, size=(8, 8), bad="skip", report=report)) == 5
    assert report.dropped == {"unreadable": 1}
    (folder / "red" / "001.png").write_bytes(b"x")
    with pytest.raises(
        DataError, match=r"red must hold pictures of a class; received 2 of which none can be read, such"
    ):
        read_image_folder(folder, size=(8, 8), bad="skip")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ([], r"must hold at least two sub-folders of pictures, one for each class; received none\. Put"),
        (["a/x.png"], r'received only "a"\. Put the pictures of each class into a sub-folder'),
        (["x.bin"], r"received none, beside files such as x\.bin\. Name a file, or put"),
        (["a/x/1.png", "b/x/1.png"], r"a must hold the pictures of a class; received only folders such as x\. Name"),
        (["a/x.txt", "b/x.txt"], r"a must hold pictures \(\.png.*\) of a class; received files such as x\.txt"),
    ],
)
def test_folders_that_are_not_of_classes_are_refused(tmp_path, make, message):
    for name in make:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    with pytest.raises(DataError, match=message):
        read_image_folder(tmp_path, size=(8, 8))


def test_an_empty_class_is_refused(tmp_path):
    (write_folder(tmp_path, count=1) / "pink").mkdir()
    with pytest.raises(DataError, match=r"pink must hold pictures .* received an empty folder\."):
        read_image_folder(tmp_path, size=(8, 8))


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "LA", "1", "CMYK"])
def test_every_kind_of_picture_becomes_colors_or_gray(tmp_path, mode):
    path = tmp_path / f"a.{'tiff' if mode == 'CMYK' else 'png'}"
    Image.new("RGB", (6, 4), (255, 255, 255)).convert(mode).save(path)
    assert read_picture(path).shape == (3, 4, 6)
    assert read_picture(path).min() == 255
    assert read_picture(path, size=(2, 3), channels=1).shape == (1, 2, 3)


def test_sixteen_bits_keep_their_shades(tmp_path):
    levels = np.array([[0, 32768, 65535]], dtype=np.uint16)
    Image.fromarray(levels).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png", channels=1).tolist() == [[[0, 127, 255]]]


def test_what_is_transparent_lies_on_white():
    clear = Image.new("RGBA", (2, 2), (0, 0, 0, 0))
    assert fit_picture(clear).min() == 255


def test_pictures_that_cannot_be_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(DataError, match=r"a\.png must be a picture that can be read, such as PNG or JPEG; received"):
        read_picture(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"b\.png must be a file; received a path where there is none\. Did you mean a"):
        read_picture(tmp_path / "b.png")
    with pytest.raises(ArgumentError, match=r"`channels` must be 3 for colors or 1 for gray; received 2\."):
        fit_picture(Image.new("RGB", (2, 2)), channels=2)
    Image.new("L", (9, 9)).save(tmp_path / "c.png")
    monkeypatch.setattr("regard.data.images.picture.MOST_PIXELS", 80)
    with pytest.raises(DataError, match=r"c\.png must have at most 80 pixels; received 9 × 9\. Make it smaller\."):
        read_picture(tmp_path / "c.png")


@pytest.mark.parametrize("pack", ["plain", "gz", "xz"])
def test_idx_files_bring_their_labels(tmp_path, pack):
    images = read_images(str(write_idx(tmp_path, pack=pack)))
    assert images.pixels.shape == (6, 1, 5, 4)
    assert images.pixels[1, 0, 0].tolist() == [20, 21, 22, 23]
    assert images.names == ("0", "3")
    assert images.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert read_images(str(write_idx(tmp_path, pack=pack)), size=8).pixels.shape == (6, 1, 8, 8)


def test_colored_idx_files_have_their_colors_second_or_last(tmp_path):
    (tmp_path / "l").write_bytes(idx(np.array([0, 1])))
    for shape in ((2, 3, 5, 4), (2, 5, 4, 3)):
        (tmp_path / "a").write_bytes(idx(np.zeros(shape)))
        assert read_idx_images(tmp_path / "a", tmp_path / "l").pixels.shape == (2, 3, 5, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"must be an IDX file of bytes, which begins with 00 00 08 .* received an empty file\."),
        (b"\0\0\x0d\x03", r"received 00 00 0d 03\."),
        (b"\0\0\x08\x03\0\0\0\1", r"must say the length of its 3 axes; received a file that breaks off\."),
        (struct.pack(">HBBII", 0, 8, 2, 2, 3) + b"12345", r"must hold 2 × 3 = 6 bytes after its head; received 5\."),
    ],
)
def test_idx_files_that_are_not_whole_are_refused(tmp_path, content, message):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_idx(tmp_path / "a")


def test_idx_images_must_go_with_their_labels(tmp_path):
    path = write_idx(tmp_path)
    labels = tmp_path / "train-labels-idx1-ubyte"
    labels.write_bytes(idx(np.zeros(5)))
    with pytest.raises(DataError, match=r"must have a label for each of the 6 images of .*; received 5\."):
        read_idx_images(path)
    labels.write_bytes(idx(np.zeros((6, 1))))
    with pytest.raises(DataError, match=r"must be labels, an IDX file of one axis; received 2 axes\."):
        read_idx_images(path)
    with pytest.raises(DataError, match=re.escape("or with 1 or 3 colors second or last; received (6, 1). Is it")):
        read_idx_images(labels)
    labels.unlink()
    with pytest.raises(
        DataError, match=r"must lie beside it.*no train-labels-idx1-ubyte\. Name their file: data\.labels"
    ):
        read_idx_images(path)
    alone = path.rename(tmp_path / "alone.idx")
    with pytest.raises(DataError, match=r"received a name without the word images\. Name their file: data\.labels"):
        read_idx_images(alone)
    alone.rename(path)
    path.write_bytes(idx(np.zeros((0, 2, 2))))
    labels.write_bytes(idx(np.zeros(0)))
    with pytest.raises(DataError, match=r"must hold at least one image; received none\."):
        read_idx_images(path)


def test_cifar_files_are_told_apart_by_their_records(tmp_path):
    (tmp_path / "ten").write_bytes(cifar([3, 9, 3]))
    ten = read_cifar(tmp_path / "ten")
    assert (ten.names, ten.labels.tolist(), ten.pixels.shape) == (("3", "9"), [0, 1, 0], (3, 3, 32, 32))
    (tmp_path / "hundred").write_bytes(cifar([70, 99], fine=True))
    assert read_cifar(tmp_path / "hundred").names == ("70", "99")
    raw = (tmp_path / "ten").read_bytes()
    assert ten.pixels[0].tobytes() == raw[1:3073]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"must hold images; received an empty file\."),
        (cifar([1])[:-1], r"must be CIFAR-10 or CIFAR-100 in binary.* received 3,072 bytes that are not\. Is the file"),
        (cifar([200]), r"label below 10 or 100; received 3,073 bytes that are not"),
    ],
)
def test_cifar_files_that_are_not_whole_are_refused(tmp_path, content, message):
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_cifar(tmp_path / "a.bin")


def test_a_pattern_names_several_files(tmp_path):
    for number, labels in ((1, [4, 2]), (2, [0])):
        (tmp_path / f"data_batch_{number}.bin").write_bytes(cifar(labels))
    images = read_images(str(tmp_path / "data_batch_*.bin"))
    assert (images.names, images.labels.tolist()) == (("0", "2", "4"), [2, 1, 0])
    with pytest.raises(DataError, match=r"must name at least one file; received a pattern that none has\."):
        read_images(str(tmp_path / "test_*.bin"))
    (tmp_path / "flowers").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(
        DataError, match=r"for each class, an IDX file .* is none\. Did you mean data_batch_[12]\.bin\?"
    ):
        read_images(str(tmp_path / "data_batch_3.bin"))
    with pytest.raises(DataError, match=r"a path where there is none\. Did you mean flowers/\?"):
        read_images(str(tmp_path / "flower"))
    with pytest.raises(DataError, match=r"Choose one of flowers/, data_batch_1\.bin, data_batch_2\.bin\."):
        read_images(str(tmp_path / "x"))
    with pytest.raises(DataError, match=r"a path in a folder that does not exist, .*none\. Check the path\."):
        read_images(str(tmp_path / "none" / "x"))
    with pytest.raises(DataError, match=r"or a CIFAR file; received a file of text\. Is it for the task classify\?"):
        read_images(str(tmp_path / "notes.txt"))
    (tmp_path / "a.png").write_text("")
    with pytest.raises(DataError, match=r"a\.png must be a folder .* received one picture\. Name the folder\."):
        read_images(str(tmp_path / "a.png"))


def test_files_of_one_set_have_one_shape():
    parts = [
        LabeledImages(pixels=np.zeros((1, 1, size, 2), np.uint8), labels=np.array([0]), names=("0",)) for size in (2, 3)
    ]
    with pytest.raises(DataError, match=r"must have images of one shape; received \[\(1, 2, 2\), \(1, 3, 2\)\]\."):
        join_images(parts)


def test_labels_get_names():
    images = LabeledImages(pixels=np.zeros((1, 1, 2, 2), np.uint8), labels=np.array([0]), names=("2",))
    assert rename_classes(images, ["a", "b", "c"]).names == ("c",)
    with pytest.raises(DataError, match=r"`data.names` must name every label from 0; received 2 names, and label 2"):
        rename_classes(images, ["a", "b"])


def test_images_of_the_right_size_are_not_touched():
    pixels = np.zeros((1, 1, 4, 4), np.uint8)
    assert resize_images(pixels, (4, 4)) is pixels


def test_idx_files_are_read_no_further_than_they_promise(tmp_path, monkeypatch):
    head = struct.pack(">HBBII", 0, 8, 2, 2, 3)
    (tmp_path / "a").write_bytes(head + bytes(7))
    with pytest.raises(DataError, match=r"must hold 2 × 3 = 6 bytes after its head; received more\. Fetch it again\."):
        read_idx(tmp_path / "a")
    (tmp_path / "a").write_bytes(struct.pack(">HBBIII", 0, 8, 3, 2**32 - 1, 2**32 - 1, 7))
    with pytest.raises(
        DataError, match=r"must hold at most 4,294,967,296 bytes of images; received a head that promises 4,"
    ):
        read_idx(tmp_path / "a")
    (tmp_path / "a").write_bytes(struct.pack(">HBBII", 0, 8, 2, 60_000, 60_000) + b"few")
    tracemalloc.start()
    with pytest.raises(DataError, match=r"= 3,600,000,000 bytes after its head; received 3\."):
        read_idx(tmp_path / "a")
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()
    (tmp_path / "a").write_bytes(cifar([1, 2]))
    monkeypatch.setattr("regard.data.images.cifar.MOST_BYTES", 5000)
    with pytest.raises(
        DataError, match=r"a must have at most 5,000 bytes; received more\. Divide it into several files\."
    ):
        read_cifar(tmp_path / "a")


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%BeginProlog\n%%EndProlog\nshowpage\n"


@pytest.mark.parametrize("content", [EPS, b"\xc5\xd0\xd3\xc6" + bytes(26) + EPS, b"%PDF-1.4\n", b"DDS " + bytes(124)])
def test_formats_that_pillow_does_not_decode_itself_are_never_opened(tmp_path, monkeypatch, content):
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("started a program"))
    (tmp_path / "a.png").write_bytes(content)
    for read in (read_picture, picture_size):
        with pytest.raises(
            DataError, match=r"a\.png must be a picture .*; received one that cannot: it is none of PNG, JPEG"
        ):
            read(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"^b must be a picture that can be read, .* it is none of PNG, JPEG, BMP, GIF"):
        read_picture(content, name="b")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_with_a_name_of_its_own_is_opened(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    Image.new("L" if suffix == ".pgm" else "RGB", (6, 4), 255).save(path)
    assert read_picture(path).shape == (3, 4, 6)
    assert read_picture(path.read_bytes(), name="a").shape == (3, 4, 6)
    assert picture_size(path) == (4, 6)


def test_every_picture_is_opened_in_one_place():
    package = Path(regard.__file__).parent
    homes = [path for path in package.rglob("*.py") if re.search(r"Image\.open\(", path.read_text(encoding="utf-8"))]
    assert {path.relative_to(package).as_posix() for path in homes} == {
        "data/images/picture.py",
        "studio/views/ask_picture.py",  # of what a page sends, in three formats and of fewer pixels
        "studio/paper.py",  # of what a page drew itself, in one format and of fewer pixels
        "studio/preview.py",  # of what the studio answered itself
    }
    assert all(re.search(r"Image\.open\([^\n]*formats=FORMATS\)", path.read_text(encoding="utf-8")) for path in homes)


def test_labels_of_many_digits_have_no_name():
    images = LabeledImages(pixels=np.zeros((1, 1, 2, 2), np.uint8), labels=np.array([0]), names=("9" * 5000,))
    with pytest.raises(DataError, match=r"`data.names` must name every label from 0; .* label 9{59}… has none\."):
        rename_classes(images, ["a"])
