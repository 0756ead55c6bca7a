"""Questions come from folders of one's own, and from easy-VQA, packed or not."""

import gzip
import json
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.corpora.split import Fractions
from regard.data.scenes.read import read_captions, read_questions
from regard.data.scenes.sides import PictureQuestion, drop_shared, split_pictures
from regard.errors import DataError


def write_picture(path, level):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((10, 12, 3), level, dtype=np.uint8)).save(path)


def write_lines(path, records):
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))


@pytest.fixture
def own(tmp_path):
    for number in range(30):
        write_picture(tmp_path / "pictures" / f"{number}.png", 8 * number)
    records = [
        {"image": f"pictures/{number}.png", "question": f"how bright, {ask}?", "answer": number}
        for ask in "ab"
        for number in range(30)
    ]
    write_lines(tmp_path / "train.jsonl", [*records, ""])
    return tmp_path


def test_a_folder_of_ones_own(own):
    side = read_questions(own, image_size=8)["train"]
    assert side.pictures.shape == (30, 3, 8, 8)
    assert side.questions[:2] == (
        PictureQuestion(0, "how bright, a?", "0", "count"),
        PictureQuestion(0, "how bright, b?", "0", "count"),
    )
    write_lines(own / "test.jsonl", [{"image": "pictures/3.png", "question": "x?", "answer": "y", "kind": "z"}])
    told = []
    sides = read_questions(own, image_size=8, count=told.append)
    assert sides["test"].questions == (PictureQuestion(0, "x?", "y", "z"),)
    assert told == list(range(1, 32))
    assert len(drop_shared(sides["train"], [sides["test"]]).pictures) == 29
    assert read_questions(own / "train.jsonl", image_size=8).keys() == {"train"}
    (own / "train.jsonl").rename(own / "questions.jsonl")
    (own / "test.jsonl").unlink()
    assert read_questions(own, image_size=8).keys() == {"train"}


def test_equal_pictures_stay_on_one_side(own):
    write_picture(own / "pictures" / "again.png", 80)
    with (own / "train.jsonl").open("a") as file:
        file.write(json.dumps({"image": "pictures/again.png", "question": "q?", "answer": "no"}) + "\n")
    side = read_questions(own, image_size=8)["train"]
    parts = split_pictures(side, Fractions(valid=0.3, test=0.3))
    assert sum(len(part) for part in parts) == len(side) == 61
    seen = [set(part.digests()) for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))
    [home] = [part for part in parts if any(one.answer == "no" for one in part.questions)]
    assert any(one.answer == "10" for one in home.questions)
    with pytest.raises(DataError, match=r"`valid` = 0.0001 must hold out at least one picture; received none of 31\."):
        split_pictures(side, Fractions(valid=0.0001, test=0.3))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ('{"image": ', r"train.jsonl, line 1 must be a JSON object; received text that is not"),
        ("[1]", r"train.jsonl, line 1 must be a JSON object; received JSON of type list: '\[1\]'\."),
        ({"image": "0.png", "question": "q"}, r"must have text under the key answer; received null\."),
        ({"imag": "0.png"}, r"must have text under the key image; received null\. Did you mean imag\?"),
        ({"image": "no.png", "question": "q", "answer": "a"}, r"no.png must be a file; received a path where there"),
    ],
)
def test_mistakes_in_lines_say_where(tmp_path, record, message):
    write_lines(tmp_path / "train.jsonl", [record])
    with pytest.raises(DataError, match=message):
        read_questions(tmp_path, image_size=8)


def test_other_mistakes(tmp_path):
    with pytest.raises(
        DataError, match=r"a JSON Lines file; received a data set of the Hugging Face hub, which is read"
    ):
        read_questions(Path("hf:a/b"), image_size=8)
    with pytest.raises(DataError, match=r"must be builtin:shapes, a folder or a JSON Lines file; received a path"):
        read_questions(tmp_path / "none", image_size=8)
    with pytest.raises(DataError, match=r"must hold train.jsonl or questions.jsonl, .*; received an empty folder\."):
        read_questions(tmp_path, image_size=8)
    (tmp_path / "train.jsonl").write_text("\n")
    with pytest.raises(DataError, match=r"train.jsonl must have at least one question; received none\."):
        read_questions(tmp_path, image_size=8)
    (tmp_path / "train.jsonl").write_bytes(b'{"image": "\xff"}\n')
    with pytest.raises(DataError, match=r"train.jsonl, line 1 must be UTF-8; received byte 0xff"):
        read_questions(tmp_path, image_size=8)


def write_easy(folder, questions):
    for number in (0, 7):
        write_picture(folder / "images" / f"{number}.png", 100 + number)
    (folder / "questions.json").write_text(questions if isinstance(questions, str) else json.dumps(questions))


def test_easy_vqa_packed_and_unpacked(tmp_path):
    asked = [
        ["what color is the shape?", "gray", 7],
        ["is there a circle?", "no", 0],
        ["what is the gray shape?", "x", 0],
    ]
    write_easy(tmp_path / "train", asked)
    write_easy(tmp_path / "test", asked[1:])
    sides = read_questions(tmp_path, image_size=64)
    assert sides.keys() == {"train", "test"}
    assert [one.picture for one in sides["train"].questions] == [0, 0, 1]
    assert [one.kind for one in sides["train"].questions] == ["yes/no", "shape", "color"]
    packed = tmp_path / "packed"
    packed.mkdir()
    with tarfile.open(packed / "train.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "train", arcname="train")
    again = read_questions(packed, image_size=64)["train"]
    assert again.questions == sides["train"].questions
    assert (again.pictures == sides["train"].pictures).all()


def test_damaged_easy_vqa(tmp_path):
    write_easy(tmp_path / "train", [["q?", "a", 0]])
    archive = tmp_path / "packed" / "train.tar.xz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:xz") as opened:
        opened.add(tmp_path / "train", arcname="train")
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(DataError, match=r"train.tar.xz must be a whole compressed file; received a damaged one"):
        read_questions(archive.parent, image_size=8)
    for text, message in (
        ("{", r"must have a questions.json that is JSON; received:"),
        ("{}", r"must have a questions.json that is a list; received dict\."),
        ("[]", r"must have at least one question in questions.json; received none\."),
        (
            '[["q?", "a", 5]]',
            r"question 1 must be \[question, answer, number of a picture\]; received \[\"q\?\", \"a\", 5\]",
        ),
    ):
        write_easy(tmp_path / "train", text)
        with pytest.raises(DataError, match=message):
            read_questions(tmp_path, image_size=8)
    write_easy(tmp_path / "train", [["q?", "a", 0]])
    (tmp_path / "train" / "images" / "0.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"0.png must be a picture that can be read"):
        read_questions(tmp_path, image_size=8)
    with tarfile.open(archive, "w:xz") as opened:
        opened.add(tmp_path / "train", arcname="train")
    with pytest.raises(
        DataError, match=r"train.tar.xz, train/images/0.png must be a picture that can be read, such as"
    ):
        read_questions(archive.parent, image_size=8)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            '{"a":' * 3000 + "1" + "}" * 3000,
            r"line 1 must be a JSON object; received text that is not JSON \(more than 100 tables and lists in one",
        ),
        ('{"image": "0.png", "question": "q", "answer": 1e999}', r"under the key answer; received Infinity\."),
        (
            '{"image": "0.png", "question": "q", "answer": 1' + "0" * 400 + "}",
            r"under the key answer; received 10{58}…\.",
        ),
        (
            '{"image": "0.png", "question": "q", "answer": ' + "9" * 5000 + "}",
            r"text that is not JSON \(what Python's JSON",
        ),
        ('{"image": "0.png", "question": "q", "answer": [[1]]}', r"under the key answer; received a list or table\."),
        ('{"image": "' + "x" * 5000 + '.png", "question": "q", "answer": "a"}', r"received a name of 5,004 letters"),
        ('{"image": "' + "x" * 5000 + '/a.png", "question": "q", "answer": "a"}', r"received a name of 5,000 letters"),
        (
            '{"image": "a\\nb/c.png", "question": "q", "answer": "a"}',
            r"a b/c\.png must be .* does not exist, .*a b\. Check",
        ),
        ('{"image": "a\\u0000b", "question": "q", "answer": "a"}', r"must be a file; received one that cannot be read"),
        ('{"image": "' + "x" * 999 + '", "question": "", "answer": "a"}', r'under the key question; received ""\.'),
        (
            "{" + ", ".join(f'"{"k" * 300}{n}": 1' for n in range(99)) + "}",
            r"key image; received null\. Choose one of k{59}…",
        ),
    ],
)
def test_odd_lines_are_one_short_paragraph(tmp_path, record, message):
    (tmp_path / "train.jsonl").write_text(record)
    with pytest.raises(DataError, match=message) as caught:
        read_questions(tmp_path, image_size=8)
    assert len(str(caught.value)) < 900


@pytest.mark.parametrize("name", ["²0", "٣", "1" * 5000, "-1", "1e3", "x"])
def test_pictures_of_easy_vqa_are_called_by_numbers(tmp_path, name):
    write_easy(tmp_path / "train", [["q?", "a", 0]])
    packed = tmp_path / "packed"
    packed.mkdir()
    with tarfile.open(packed / "train.tar", "w") as archive:
        archive.add(tmp_path / "train", arcname="train")
        archive.add(tmp_path / "train" / "images" / "0.png", arcname=f"train/images/{name}.png")
    assert len(read_questions(packed, image_size=8)["train"].pictures) == 2


def test_pictures_and_questions_of_easy_vqa_have_limits(tmp_path, monkeypatch):
    write_easy(tmp_path / "train", [["q?", "a", 0]])
    (tmp_path / "packed").mkdir()
    with tarfile.open(tmp_path / "packed" / "train.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "train", arcname="train")
    monkeypatch.setattr("regard.data.images.picture.MOST_PIXELS", 80)
    for folder in (tmp_path, tmp_path / "packed"):
        with pytest.raises(
            DataError, match=r"\d\.png must have at most 80 pixels; received 12 × 10\. Make it smaller\."
        ):
            read_questions(folder, image_size=8)
    monkeypatch.setattr("regard.data.scenes.easy_vqa.MOST_BYTES", 14)
    for folder in (tmp_path, tmp_path / "packed"):
        with pytest.raises(
            DataError, match=r"(json|png) must have at most 14 bytes; received more\. Make it smaller\."
        ):
            read_questions(folder, image_size=8)


def test_members_that_promise_much_take_no_memory(tmp_path):
    member = tarfile.TarInfo("train/questions.json")
    member.size = 1 << 33
    for kind in (tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME):
        member.type = kind
        head = member.tobuf(tarfile.GNU_FORMAT)
        (tmp_path / "train.tar.gz").write_bytes(
            gzip.compress(head + bytes(1 << 24), 9) + gzip.compress(bytes(1 << 25), 9)
        )
        tracemalloc.start()
        with pytest.raises(DataError, match=r"train.tar.gz must unpack to at most 100 times its size"):
            read_questions(tmp_path, image_size=8)
        assert tracemalloc.get_traced_memory()[1] < 1 << 27
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, "9" * 5000, "[" + "[" * 400 + "]" * 400 + "]"])
def test_odd_questions_of_easy_vqa_are_one_paragraph(tmp_path, text):
    write_easy(tmp_path / "train", text)
    with pytest.raises(
        DataError, match=r"(must have a questions.json that is JSON|question 1 must be \[question, answer)"
    ):
        read_questions(tmp_path, image_size=8)


CAPTIONS = [("pictures/0.png", "a dark  square"), ("pictures/9.png", "a gray square"), ("pictures/0.png", "it is dark")]


def write_captions(path):
    """Write captions as what the name ends in."""
    match path.suffix:
        case ".jsonl":
            write_lines(path, [{"image": image, "caption": caption} for image, caption in CAPTIONS])
        case ".parquet":
            import pyarrow
            from pyarrow import parquet

            images, captions = zip(*CAPTIONS, strict=True)
            parquet.write_table(pyarrow.table({"image": images, "caption": captions}), path)
        case ending:
            separator = "\t" if ending == ".tsv" else ","
            path.write_text("\n".join(separator.join(row) for row in (("image", "caption"), *CAPTIONS)))
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_captions_come_from_any_table(own, ending):
    (own / "train.jsonl").unlink()
    path = write_captions(own / f"captions.{ending}")
    for source in (path, own):
        side = read_captions(source, image_size=8)["train"]
        assert side.pictures.shape == (2, 3, 8, 8)
        assert side.captions == ("a dark square", "it is dark", "a gray square")
        assert (side.owners, side.prompts) == ((0, 0, 1), ("", "", ""))
    assert side.select([1]).captions == ("a gray square",)
    assert side.select([]).owners == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "image,caption\npictures/0.png,dark\npictures/1.png,\n",
            r"a\.csv, line 3 must have text under the key caption",
        ),
        ("image,caption\nabsent.png,dark\n", r"^\S+a\.csv, line 2: \S+absent\.png must be "),
        ("image,caption\npictures/0.png\n", r"a\.csv, line 2 must have 2 columns; received 1"),
        (
            "image,captions\npictures/0.png,dark\n",
            r"line 2 must have text under the key caption; .*Did you mean captions",
        ),
        ("image,caption\n", r"a\.csv must have at least one caption; received none"),
    ],
)
def test_bad_captions_are_refused_by_file_and_row(own, text, message):
    (own / "a.csv").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_captions(own / "a.csv", image_size=8)
    assert "\n" not in str(caught.value)
