"""The same rows whatever they are kept in, for every task; and first lines that name columns."""

import gzip
import json

import numpy as np
import pytest
from PIL import Image

from regard.data.corpora.corpus import find_corpus, read_pairs
from regard.data.formats import Csv
from regard.data.formats.cells import is_header
from regard.data.formats.labeled import Labeled, find_label, read_labeled, read_texts
from regard.data.formats.tables import is_table, read_table
from regard.data.scenes.read import read_questions
from regard.errors import DataError

FORMATS = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz", "csv.zst", "tsv.zst", "jsonl.zst", "saved")


def pack(text, name):
    if name.endswith(".gz"):
        return gzip.compress(text.encode())
    if name.endswith(".zst"):
        return pytest.importorskip("zstandard").compress(text.encode())
    return text.encode()


@pytest.fixture
def write(tmp_path):
    """Write rows in a format, and give the path."""

    def write(rows, kind, *, stem="train"):
        path = tmp_path / f"{stem}.{kind}"
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(
                pytest.importorskip("pyarrow").Table.from_pylist(rows), path
            )
        elif kind == "saved":
            pyarrow = pytest.importorskip("pyarrow")
            table = pyarrow.Table.from_pylist(rows)
            path.mkdir()
            with pyarrow.ipc.new_stream(str(path / "data.arrow"), table.schema) as stream:
                stream.write_table(table)
            (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
        elif kind.startswith("jsonl"):
            path.write_bytes(pack("".join(json.dumps(row) + "\n" for row in rows), path.name))
        else:
            between = "," if kind.startswith("csv") else "\t"
            lines = [list(rows[0]), *(row.values() for row in rows)]
            path.write_bytes(pack("".join(between.join(map(str, line)) + "\n" for line in lines), path.name))
        return path

    return write


@pytest.mark.parametrize("kind", FORMATS)
def test_labeled_texts_are_the_same_in_every_format(write, kind):
    path = write([{"text": "fine film", "label": 1}, {"text": "dull", "label": 0}], kind)
    assert is_table(path)
    assert list(read_labeled(path)) == [Labeled("fine film", "1"), Labeled("dull", "0")]
    assert list(read_texts(path)) == ["fine film", "dull"]
    assert find_label(path, "label", "0").endswith(("row 2", "line 3" if "sv" in kind else "line 2"))


@pytest.mark.parametrize("kind", FORMATS)
def test_pairs_are_the_same_in_every_format(write, kind):
    path = write([{"id": 7, "de": "Hund", "en": "dog"}, {"id": 8, "de": "Katze", "en": "cat"}], kind)
    assert [(pair.source, pair.target) for pair in read_pairs(find_corpus(path))] == [("Hund", "dog"), ("Katze", "cat")]


@pytest.mark.parametrize("kind", FORMATS)
def test_questions_are_the_same_in_every_format(write, tmp_path, kind):
    Image.fromarray(np.zeros((8, 8, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    path = write([{"image": "a.png", "question": "how many?", "answer": 3}], kind)
    if kind == "saved":
        assert [row for _, row in read_table(path)] == [{"image": "a.png", "question": "how many?", "answer": 3}]
        return
    for place in (path, tmp_path):
        [asked] = read_questions(place, image_size=8)["train"].questions
        assert (asked.text, asked.answer, asked.kind) == ("how many?", "3", "count")


def test_a_folder_of_parquet_trains_a_classifier(write, tmp_path):
    write([{"text": "b", "label": 1}], "parquet", stem="2")
    write([{"text": "a", "label": 0}], "parquet", stem="1")
    assert list(read_labeled(tmp_path)) == [Labeled("a", "0"), Labeled("b", "1")]


def test_what_is_no_text_in_a_row_is_bad(write):
    path = write([{"text": "a", "label": [1]}], "parquet")
    with pytest.raises(DataError, match=r"train\.parquet, row 1 must have text under text, label; received something"):
        list(read_labeled(path, bad="refuse"))
    with pytest.raises(DataError, match=r"must be keys of .*train\.parquet; received 'body'\. Choose one of text, lab"):
        list(read_labeled(path, text="body"))


@pytest.mark.parametrize(
    ("first", "pairs"),
    [
        ("source\ttarget", [("x", "y")]),
        ("target\tsource", [("y", "x")]),
        ("Tgt\tSrc", [("y", "x")]),
        ("en\tes", [("x", "y")]),
        ("English\tSpanish", [("x", "y")]),
        ("pt-BR\tzh_Hans", [("x", "y")]),
        ("no\tno", [("no", "no"), ("x", "y")]),
        ("Hund\ten", [("Hund", "en"), ("x", "y")]),
    ],
)
@pytest.mark.parametrize("between", ["\t", ",", ";"])
def test_a_first_line_of_known_names_is_no_pair(tmp_path, first, pairs, between):
    path = tmp_path / ("a.tsv" if between == "\t" else "a.csv")
    path.write_text(f"{first}\nx\ty\n".replace("\t", between), encoding="utf-8")
    assert [(pair.source, pair.target) for pair in read_pairs(find_corpus(path))] == pairs
    if "arget" not in first and "gt" not in first:  # numbers are columns of the same file
        numbered = read_pairs(find_corpus(path, source="1", target="2"))
        assert [(pair.source, pair.target) for pair in numbered] == pairs


def test_a_header_is_passed_over_where_columns_are_numbered(tmp_path):
    (tmp_path / "a.tsv").write_text("label\ttext\n1\tfine\n", encoding="utf-8")
    assert list(read_labeled(tmp_path / "a.tsv", text="2", label="1")) == [Labeled("fine", "1")]


def test_csv_pairs_are_quoted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,de,en\n1,"Ja, ""Hund""","yes,\ndog"\n2,Katze\n', encoding="utf-8")
    corpus = find_corpus(path)
    assert isinstance(corpus, Csv)
    assert [(pair.source, pair.target) for pair in read_pairs(corpus)] == [('Ja, "Hund"', "yes, dog")]
    with pytest.raises(DataError, match=r"a\.csv, line 4 must have 3 comma-separated columns; received 2: '2\\tKatze'"):
        list(read_pairs(corpus, bad="refuse"))


def test_labeled_texts_are_not_taken_for_pairs(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nfine,1\n", encoding="utf-8")
    message = r"a\.csv must have a source and a target; received the first line: text \| label\. Name them by"
    with pytest.raises(DataError, match=message):
        list(read_pairs(find_corpus(tmp_path / "a.csv")))


def test_one_cell_is_no_header():
    assert not is_header(["text"])
    assert not is_header([])
    assert is_header(["id", "text", "label"])
