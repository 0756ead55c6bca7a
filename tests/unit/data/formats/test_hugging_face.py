import builtins
import json
import re

import pytest

from regard.data.corpus import find_corpus, read_pairs
from regard.data.formats import HuggingFace
from regard.data.report import Report
from regard.errors import DataError, MissingExtraError

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets.disable_progress_bars()


def make(*pairs):
    return datasets.Dataset.from_list([{"translation": {"de": source, "en": target}} for source, target in pairs])


def sides(corpus, **choices):
    return [(pair.source, pair.target) for pair in read_pairs(corpus, **choices)]


def test_a_folder_saved_to_disk(tmp_path):
    make(("Hund", "dog"), ("Katze", "cat")).save_to_disk(tmp_path / "saved")
    corpus = find_corpus(tmp_path / "saved", source="en", target="de")
    assert isinstance(corpus, HuggingFace)
    assert sides(corpus) == [("dog", "Hund"), ("cat", "Katze")]


def test_a_folder_of_splits(tmp_path):
    splits = {"train": make(("Hund", "dog")), "validation": make(("Kuh", "cow"))}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "saved")
    assert sides(find_corpus(tmp_path / "saved")) == [("Hund", "dog")]
    assert sides(find_corpus(tmp_path / "saved", split="validation")) == [("Kuh", "cow")]
    with pytest.raises(DataError, match=r"one of the 2 splits of .*; received 'valid'\. Did you mean validation\?"):
        sides(find_corpus(tmp_path / "saved", split="valid"))


def test_a_folder_that_the_loader_reads(tmp_path):
    (tmp_path / "data").mkdir()
    rows = [{"translation": {"de": "Hund", "en": "dog"}}]
    (tmp_path / "data" / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert sides(find_corpus(tmp_path / "data")) == [("Hund", "dog")]


def test_a_name_goes_to_the_loader_as_a_stream(monkeypatch):
    asked = {}

    def load(name, configuration, **choices):
        asked.update(choices, name=name, configuration=configuration)
        return make(("Hund", "dog")).to_iterable_dataset()

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert sides(HuggingFace(name="wmt/wmt14", configuration="de-en", split="test")) == [("Hund", "dog")]
    assert asked == {"name": "wmt/wmt14", "configuration": "de-en", "split": "test", "streaming": True}


def test_bad_rows_carry_their_number(tmp_path):
    make(("Hund", "dog"), ("", "cat")).save_to_disk(tmp_path / "saved")
    report = Report()
    assert len(sides(find_corpus(tmp_path / "saved"), report=report)) == 1
    assert report.dropped == {"empty": 1}
    with pytest.raises(
        DataError, match=r"split train, row 2 must have text on both sides; received an empty source: 'cat'"
    ):
        sides(find_corpus(tmp_path / "saved"), bad="refuse")


def test_what_the_loader_cannot_find_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"must be a dataset that `datasets` can load; received .*empty"):
        sides(find_corpus(tmp_path / "empty"))


def test_without_datasets_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "regard[datasets]"')):
        sides(HuggingFace(name="wmt14"))
