import builtins
import re

import pyarrow as pa
import pytest
from pyarrow import parquet

from regard.data.corpora.corpus import find_corpus, read_pairs
from regard.data.corpora.report import Report
from regard.data.formats import Parquet
from regard.errors import DataError, MissingExtraError


def write(path, **columns):
    parquet.write_table(pa.table(columns), path, row_group_size=2)
    return path


def sides(corpus, **choices):
    return [(pair.source, pair.target) for pair in read_pairs(corpus, **choices)]


def test_columns_by_name_number_and_convention(tmp_path):
    path = write(tmp_path / "a.parquet", id=[1, 2, 3], en=["dog", "cat", "cow"], de=["Hund", "Katze", "Kuh"])
    expected = [("Hund", "dog"), ("Katze", "cat"), ("Kuh", "cow")]
    assert sides(Parquet(path=path, source="de", target="en")) == expected
    assert sides(Parquet(path=path, source=3, target=2)) == expected
    assert sides(find_corpus(path, source="de")) == expected


def test_the_translation_column_of_hugging_face(tmp_path):
    path = write(tmp_path / "data", translation=[{"de": "Hund", "en": "dog"}])
    assert sides(find_corpus(path)) == [("Hund", "dog")], "known by content, not by name"


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name, text in (("b", "zwei"), ("a", "eins")):
        write(tmp_path / f"{name}.parquet", source=[text], target=["x"])
    assert [source for source, _ in sides(find_corpus(tmp_path))] == ["eins", "zwei"]


def test_bad_rows_are_counted_with_their_number(tmp_path):
    path = write(tmp_path / "a.parquet", source=["a", None, "c", ""], target=["1", "2", "3", "4"])
    report = Report()
    assert len(sides(Parquet(path=path), report=report)) == 2
    assert report.dropped == {"columns": 1, "empty": 1}
    with pytest.raises(
        DataError, match=r"a\.parquet, row 2 must have text on both sides; received a source of type None"
    ):
        sides(Parquet(path=path), bad="refuse")


def test_an_unknown_column_offers_the_near_miss(tmp_path):
    path = write(tmp_path / "a.parquet", german=["a"], english=["b"])
    with pytest.raises(DataError, match=r"row 1 must have a key 'germn' \(did you mean german\?\)"):
        sides(Parquet(path=path, source="germn", target="english"), bad="refuse")


def test_a_damaged_file_and_an_empty_folder_are_refused(tmp_path):
    path = write(tmp_path / "a.parquet", source=["a"] * 99, target=["b"] * 99)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"a\.parquet must be a Parquet file; received one that breaks after row 0"):
        sides(Parquet(path=path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"must hold \*\.parquet files"):
        sides(Parquet(path=tmp_path / "empty"))
    with pytest.raises(DataError, match=r"b\.parquet must be a file; .* Did you mean a\.parquet"):
        sides(Parquet(path=tmp_path / "b.parquet"))


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", source=["a"], target=["b"])
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "regard[datasets]"')):
        sides(Parquet(path=path))


def test_what_pyarrow_says_is_put_on_one_line(tmp_path):
    path = write(tmp_path / "a.parquet", source=["a"] * 99, target=["b"] * 99)
    whole = path.read_bytes()
    for content in (whole[:100] + whole[-50:], whole[:-60] + bytes(52) + whole[-8:], b"PAR1" + bytes(40) + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.parquet must be a Parquet file; received one that breaks") as caught:
            sides(Parquet(path=path))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400 + len(str(path))


def test_a_small_file_that_holds_much_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    letters = pa.DictionaryArray.from_arrays(pa.array([0] * 9000), pa.array(["a" * (1 << 24)]))
    table = pa.table({"source": letters, "target": letters})
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30)
    with pytest.raises(DataError, match=r"a\.parquet must unpack to at most 100 times its [\d,]+ bytes; received 33,5"):
        next(Parquet(path=path).records())


def test_few_rows_are_read_at_once_where_each_may_be_long(tmp_path, monkeypatch):
    asked = []
    real = parquet.ParquetFile.iter_batches
    monkeypatch.setattr(
        parquet.ParquetFile, "iter_batches", lambda self, **said: (asked.append(said), real(self, **said))[1]
    )
    path = write(tmp_path / "a.parquet", source=["a" * 1000] * 99, target=["b"] * 99)
    monkeypatch.setattr("regard.data.formats.parquet._HELD", 1 << 16)
    assert len(sides(Parquet(path=path))) == 99
    assert 8 <= asked[0]["batch_size"] < 100
