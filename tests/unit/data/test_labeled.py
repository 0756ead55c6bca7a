"""Texts with labels: formats, mistakes, and splits that do not leak."""

import gzip
import re

import pytest

from regard.data.corpora.report import Report
from regard.data.corpora.split import Fractions
from regard.data.formats.labeled import (
    Labeled,
    drop_held_out,
    find_label,
    find_labels,
    number_labels,
    read_labeled,
    read_texts,
    split_labeled,
)
from regard.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


EXPECTED = [Labeled("A fine, warm film", "good"), Labeled("Dull", "bad")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'label,id,text\r\ngood,1,"A fine,\n warm film"\r\nbad,2,Dull\r\n'),
        ("a.tsv", "label\tid\ttext\ngood\t1\tA fine, warm film\n\nbad\t2\tDull\n"),
        ("a.tsv.gz", "text\tlabel\nA fine, warm film\tgood\nDull\tbad\n"),
        ("a.jsonl", '{"text": "A fine, warm film", "label": "good"}\n{"text": " Dull ", "label": "bad", "x": 1}\n'),
    ],
)
def test_every_format_gives_the_same_texts(write, name, text):
    assert list(read_labeled(write(name, text))) == EXPECTED


def test_columns_are_numbered_where_there_is_no_header(write):
    path = write("a.tsv", "1\tfine\tfilm\n0\tdull\tfilm\n")
    assert list(read_labeled(path, text="2+3", label="1")) == [Labeled("fine film", "1"), Labeled("dull film", "0")]


def test_labels_of_json_may_be_numbers_and_booleans(write):
    path = write("a.jsonl", '{"t": "x", "y": 3}\n{"t": "z", "y": true}\n')
    assert [one.label for one in read_labeled(path, text="t", label="y")] == ["3", "true"]


def test_bad_lines_are_counted_or_refused(write):
    text = "text\tlabel\ngood\t1\nno label\t\nthree\tcells\there\n"
    path, report = write("a.tsv", text), Report()
    assert len(list(read_labeled(path, report=report))) == 1
    assert report.dropped == {"empty": 1, "columns": 1}
    message = f"{path}, line 3 must have a text and a label; received an empty label: 'no label'. Mend it, or leave"
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_labeled(path, bad="refuse"))
    objects = write("b.jsonl", '{"text": "x", "label": "a"}\nnot json\n[1]\n{"text": null, "label": "a"}\n')
    assert len(list(read_labeled(objects, report=report))) == 1
    assert report.dropped == {"empty": 1, "columns": 2, "json": 2}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "txt,label\nx,1\n",
            r"must have a column named text; received the first line: txt \| label. Did you mean txt\? If that is a",
        ),
        (
            "a.tsv",
            "bad\ta poor film\n",
            r"a column named text and one named label; received the first line: bad \| a poor film. If that is a "
            "header, name its columns .* If the file has no header, number them from 1, such as data.text=2 and",
        ),
        ("a.tsv", "", "must have at least one line; received an empty file."),
        ("a.jsonl", "", "must have at least one line; received an empty file."),
        ("a.jsonl", '{"txt": "x", "label": 1}\n', "must be keys of .*; received 'text'. Did you mean txt"),
        ("a.csv", "text,label\nx,1\n\xff,2\n", ""),
        (
            "a.doc",
            "x",
            "named .csv, .tsv, .jsonl or .parquet; received another name. Rename it, if it is one.",
        ),
        ("a.txt", "x", "received plain text, which has no labels. Is it for the task language"),
        ("a.parquet", "x", "must be a Parquet file; received one that breaks after row 0"),
    ],
)
def test_mistakes_in_a_file_are_named(write, name, text, message):
    if not message:
        path = write(name, "")
        path.write_bytes(b"text,label\nx,1\n\xff,2\n")
        message = "line 3 must be CSV in UTF-8; received: 'utf-8' codec"
    else:
        path = write(name, text)
    with pytest.raises(DataError, match=message):
        list(read_labeled(path))


def test_a_column_beyond_the_last_is_named(write):
    path = write("a.tsv", "1\tx\n")
    with pytest.raises(
        DataError, match=r"must be numbers of columns of .*, whose first line has 2; received '3'. The first is 1"
    ):
        list(read_labeled(path, text="3", label="1"))


def test_texts_alone_are_read_from_tables_and_lines(write):
    assert list(read_texts(write("a.csv", "text,x\nOne two,1\nthree,2\n"))) == ["One two", "three"]
    assert list(read_texts(write("a.txt", "One two\nthree\n"))) == ["One two", "three"]


def test_the_same_text_is_never_on_two_sides():
    records = [Labeled(f"text {number % 300}" if number % 2 else f"TEXT  {number % 300}", "a") for number in range(900)]
    sides = split_labeled(records, Fractions(valid=0.2, test=0.2))
    seen = [{" ".join(one.text.lower().split()) for one in side} for side in sides]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]
    assert sum(map(len, sides)) == 900
    assert 30 < len(seen[1]) < 90
    again = split_labeled(records[::-1], Fractions(valid=0.2, test=0.2))
    assert {one.text for one in again.valid} == {one.text for one in sides.valid}
    other = split_labeled(records, Fractions(valid=0.2, test=0.2, salt="b"))
    assert {one.text for one in other.valid} != {one.text for one in sides.valid}


def test_a_rare_label_is_trained_on():
    records = [Labeled(f"text {number}", "ab"[number % 2]) for number in range(200)]
    plain = split_labeled(records, Fractions(valid=0.2, test=0.2))
    odd = [Labeled(plain.valid[0].text.upper(), "rare"), Labeled("x", "b"), Labeled("X", "rarer")]
    sides = split_labeled([*records, *odd], Fractions(valid=0.2, test=0.2))
    for side in sides:
        assert {one.label for one in side} <= {one.label for one in sides.train}
    assert plain.valid[0] in sides.train  # the same text as that with the rare label
    assert sum(map(len, sides)) == 203


def test_a_label_for_each_text_is_no_label():
    records = [Labeled("x", str(number)) for number in range(30)]
    message = "The training texts must share labels; received 30 labels for 30 texts. Is data.label the right column"
    with pytest.raises(DataError, match=message):
        find_labels(records)


def test_a_side_that_stays_empty_is_an_error():
    message = "`valid` = 0.001 must hold out at least one text; received none of 1. Give a larger share"
    with pytest.raises(DataError, match=message):
        split_labeled([Labeled("a", "x")], Fractions(valid=0.001, test=0.0))


def test_what_is_held_out_elsewhere_is_not_trained_on():
    report = Report()
    kept = drop_held_out([Labeled("One", "a"), Labeled("two", "b")], [Labeled("one ", "z")], report=report)
    assert kept == [Labeled("two", "b")]
    assert report.dropped == {"held out": 1}


def test_labels_are_in_order():
    assert find_labels([Labeled("", one) for one in ("10", "9", "b", "a", "9")]) == ["9", "10", "a", "b"]


@pytest.mark.parametrize(("labels", "received"), [(["x"], 'only "x"'), ([], "none")])
def test_one_label_is_an_error(labels, received):
    message = f"The training texts must have at least two labels to choose from; received {received}. Is data.label"
    with pytest.raises(DataError, match=message):
        find_labels([Labeled("", one) for one in labels])


def test_an_unknown_label_is_an_error():
    message = 'The test texts must have labels that the training texts have; received "goood". Did you mean good?'
    with pytest.raises(DataError, match=re.escape(message)):
        number_labels([Labeled("x", "goood")], ["bad", "good"], side="test")


def test_a_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(
        DataError, match=r"received a folder\. Name a file in it; a folder of pictures is for the task images"
    ):
        list(read_labeled(tmp_path))
    with pytest.raises(DataError, match="received a path where there is none"):
        list(read_labeled(tmp_path / "a.doc"))


def test_semicolons_may_stand_between_columns(write):
    path = write("a.csv", 'text;label\n"a; b, c";x\n')
    assert list(read_labeled(path)) == [Labeled("a; b, c", "x")]
    assert find_label(path, "label", "x") == f"{path}, line 2"
    with pytest.raises(DataError, match=r"received the first line: text \| label\. "):
        list(read_labeled(path, label="stars"))
    assert list(read_labeled(write("b.csv", "1;2,x\n"), text="1", label="2")) == [Labeled("1;2", "x")]


@pytest.mark.parametrize("digits", [4000, 4301, 9999])
def test_labels_and_columns_of_many_digits_are_no_numbers(write, digits):
    long = "9" * digits
    records = [Labeled(f"x {number}", label) for number in range(12) for label in (long, "10", "9", "a")]
    assert find_labels(records) == ["9", "10", long, "a"]
    with pytest.raises(DataError, match=r"must have labels that the training texts have; received \"9{59}…\"\."):
        number_labels([Labeled("x", long)], ["a"], side="test")
    with pytest.raises(DataError, match=r"must be numbers of columns of .*; received '9{59}…'\. The first is 1\."):
        list(read_labeled(write("a.tsv", "x\ty\n"), text=long, label="1"))


def test_messages_are_one_line_whatever_a_header_holds(write):
    with pytest.raises(
        DataError, match=r"received the first line: te xt \| la bel\. Did you mean te xt\? If that is a"
    ):
        list(read_labeled(write("a.csv", '"te\nxt","la\r\nbel"\n')))
    with pytest.raises(DataError, match=r"received 'text'\. Did you mean te xt\? Name them: by data\.text"):
        list(read_labeled(write("a.jsonl", '{"te\\nxt": 1}\n')))


def test_messages_show_little_of_a_long_header(write):
    path = write("a.csv", ",".join("x" * 300 for _ in range(99)) + "\n")
    with pytest.raises(
        DataError, match=r"must have a column named text and one named label; received the first line: x{59}…"
    ) as it:
        list(read_labeled(path))
    assert len(str(it.value)) < 1100
    path = write("a.jsonl", "{" + ", ".join(f'"{"k" * 300}{n}": 1' for n in range(99)) + "}\n")
    with pytest.raises(DataError, match=r"must be keys of .*; received 'text'\. Choose one of k{59}…, ") as it:
        list(read_labeled(path))
    assert len(str(it.value)) < 1100
