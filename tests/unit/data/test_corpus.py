import bz2
import gzip
import lzma
import tracemalloc

import pytest

from regard.data.corpus import find_corpus, read_pairs
from regard.data.formats import HuggingFace, JsonLines, Tmx, Tsv, TwoFiles
from regard.data.pair import Pair
from regard.data.report import Report
from regard.errors import DataError

TMX = """<?xml version="1.0"?>
<tmx><body>
<tu><tuv xml:lang="de"><seg>Hund</seg></tuv><tuv xml:lang="en"><seg>dog</seg></tuv></tu>
</body></tmx>"""


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [("Hund\tdog\n", Tsv), ('{"source": "Hund", "target": "dog"}\n', JsonLines), (TMX, Tmx)],
)
def test_the_format_is_found_by_looking_whatever_the_name(tmp_path, pack, mark, text, kind):
    path = tmp_path / "misleading.txt.zst"
    path.write_bytes(pack((mark + text).encode()))
    corpus = find_corpus(path)
    assert isinstance(corpus, kind)
    assert list(read_pairs(corpus)) == [Pair(source="Hund", target="dog")]


def test_a_sentence_that_starts_with_a_brace_is_not_json(tmp_path):
    (tmp_path / "a").write_text("{sic} Hund\tdog\n", encoding="utf-8")
    assert isinstance(find_corpus(tmp_path / "a"), Tsv)


def test_two_names_are_two_plain_files():
    assert isinstance(find_corpus("train.de", "train.en"), TwoFiles)


def test_digits_are_column_numbers(tmp_path):
    (tmp_path / "a.tsv").write_text("1\tHund\tdog\n", encoding="utf-8")
    assert find_corpus(tmp_path / "a.tsv", source="2", target="3") == Tsv(path=tmp_path / "a.tsv", source=2, target=3)


@pytest.mark.parametrize("name", ["wmt14", "wmt/wmt14"])
def test_a_name_that_is_no_file_may_be_on_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = find_corpus(name, source="de", target="en", split="test", configuration="de-en")
    assert found == HuggingFace(name=name, configuration="de-en", split="test", source="de", target="en")


@pytest.mark.parametrize("name", ["train.tsv", "./wmt14", "data/train.tsv", "a/b/c"])
def test_a_path_that_is_no_file_is_missing(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="must be a file; received"):
        find_corpus(name)


def test_one_plain_file_is_refused_with_its_beginning(tmp_path):
    (tmp_path / "train.de").write_text("Ein Hund läuft.\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"train\.de must be .* when it comes alone; .*'Ein Hund läuft\.\\n'.* name both"
    ):
        find_corpus(tmp_path / "train.de")


def test_tmx_is_read_by_language_not_by_number(tmp_path):
    (tmp_path / "a.tmx").write_text(TMX, encoding="utf-8")
    with pytest.raises(DataError, match="received the number 2"):
        find_corpus(tmp_path / "a.tmx", source="de", target=2)


def test_the_report_keeps_the_first_examples_only(tmp_path):
    (tmp_path / "a.tsv").write_text("Hund\tdog\n" + "Katze\t\n" * 5, encoding="utf-8")
    report = Report(title="reading", most_examples=2)
    assert len(list(read_pairs(find_corpus(tmp_path / "a.tsv"), report=report))) == 1
    assert report.dropped == {"empty": 5}
    assert [example.place.rpartition(", ")[2] for example in report.examples["empty"]] == ["line 2", "line 3"]
    assert str(report).startswith("reading: 1 of 6 kept\n  empty        5   83.33 %  ")


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_policy_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("Hund\tdog\n", encoding="utf-8")
    with pytest.raises(DataError, match='`bad` must be "skip" or "refuse"; received \'ignore\''):
        list(read_pairs(find_corpus(tmp_path / "a.tsv"), bad="ignore"))


def test_an_empty_file_gives_no_pairs(tmp_path):
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    assert list(read_pairs(find_corpus(tmp_path / "a", tmp_path / "b"))) == []


def test_reading_takes_constant_memory(tmp_path):
    # 10 MB of text in all.
    path = tmp_path / "a.tsv"
    path.write_bytes(gzip.compress((b"Hund " * 200 + b"\tdog\nKatze\t\n") * 10_000))
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_pairs(find_corpus(path)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 10_000
    assert peak < 1_000_000, peak
