"""Data sets saved on disk are read as they lie there; no code of the folder, and none of `datasets`, is run."""

import json
import sys
from pathlib import Path

import pytest

from regard.data.corpora.corpus import find_corpus, read_pairs
from regard.data.corpora.report import Report
from regard.data.formats import SavedDataset
from regard.data.formats.parquet import check_count
from regard.errors import DataError

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()


def make(*pairs):
    return datasets.Dataset.from_list([{"translation": {"de": source, "en": target}} for source, target in pairs])


def sides(corpus, **choices):
    return [(pair.source, pair.target) for pair in read_pairs(corpus, **choices)]


def test_a_folder_saved_to_disk(tmp_path):
    make(("Hund", "dog"), ("Katze", "cat")).save_to_disk(tmp_path / "saved")
    corpus = find_corpus(tmp_path / "saved", source="en", target="de")
    assert isinstance(corpus, SavedDataset)
    assert sides(corpus) == [("dog", "Hund"), ("cat", "Katze")]


def test_a_folder_of_splits(tmp_path):
    splits = {"train": make(("Hund", "dog")), "validation": make(("Kuh", "cow"))}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "saved")
    assert sides(find_corpus(tmp_path / "saved")) == [("Hund", "dog")]
    assert sides(find_corpus(tmp_path / "saved", split="validation")) == [("Kuh", "cow")]
    with pytest.raises(DataError, match=r"one of the 2 splits of .*; received 'valid'\. Did you mean validation\?"):
        sides(find_corpus(tmp_path / "saved", split="valid"))


def test_bad_rows_carry_their_number(tmp_path):
    make(("Hund", "dog"), ("", "cat")).save_to_disk(tmp_path / "saved")
    report = Report()
    assert len(sides(find_corpus(tmp_path / "saved"), report=report)) == 1
    assert report.dropped == {"empty": 1}
    with pytest.raises(
        DataError, match=r"split train, row 2 must have text on both sides; received an empty source: 'cat'"
    ):
        sides(find_corpus(tmp_path / "saved"), bad="refuse")


def test_neither_the_package_nor_a_script_is_run(tmp_path, monkeypatch):
    make(("Hund", "dog")).save_to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "saved.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert sides(find_corpus(tmp_path / "saved")) == [("Hund", "dog")]


OUTSIDE = ["../x.arrow", "/etc/hosts", "a/b.arrow", "..", "", "a\0b", 7, None, ["x"]]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_file_outside_the_folder_is_refused(tmp_path, name):
    make(("Hund", "dog")).save_to_disk(tmp_path / "saved")
    state = tmp_path / "saved" / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "_data_files": [{"filename": name}]}))
    with pytest.raises(DataError, match=r"state\.json must name what lies beside it; received .*Save the data set"):
        sides(find_corpus(tmp_path / "saved"))
    (tmp_path / "saved" / "dataset_dict.json").write_text(json.dumps({"splits": [name]}))
    with pytest.raises(DataError, match=r"dataset_dict\.json must name what lies|`split` must be one of the 1 splits"):
        sides(find_corpus(tmp_path / "saved"))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("", r"state\.json must be what `datasets` wrote, JSON; received: "),
        ("[" * 3000 + "]" * 3000, r"wrote, JSON; received: more than 100 tables and lists in one another\. Save the"),
        ("[]", r"state\.json must be a JSON object; received list\. Save the data set again\."),
        ("{}", r"must name the Arrow files of a data set that is saved whole; received none\."),
        (
            '{"_data_files": [], "_indices_data_files": [{}]}',
            r"received one that is a choice of another\. Save",
        ),
        ('{"_data_files": [{"filename": "x.arrow"}]}', r"x\.arrow must be a file; received a path where there is none"),
    ],
)
def test_a_damaged_state_is_one_paragraph(tmp_path, state, message):
    make(("Hund", "dog")).save_to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "state.json").write_text(state)
    with pytest.raises(DataError, match=message):
        sides(find_corpus(tmp_path / "saved"))


def test_a_damaged_file_is_one_paragraph(tmp_path):
    make(*[("Hund", "dog")] * 50).save_to_disk(tmp_path / "saved")
    [path] = (tmp_path / "saved").glob("*.arrow")
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"x" * 300):
        path.write_bytes(content)
        with pytest.raises(
            DataError, match=r"must be an Arrow file that `datasets` wrote; received one that breaks"
        ) as it:
            sides(find_corpus(tmp_path / "saved"))
        assert "\n" not in str(it.value)


def test_rows_that_are_all_alike_take_no_bytes_and_are_counted():
    check_count(Path("a"), 30, 1_000_000)
    check_count(Path("a"), 2_000_000, 2_000_000)
    with pytest.raises(DataError, match=r"a must have at most 1,000,000 rows for its 30 bytes; received more\."):
        check_count(Path("a"), 30, 1_000_001)
