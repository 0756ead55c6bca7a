import bz2
import gzip
import lzma
import tracemalloc

import pytest

from regard.data.corpora.corpus import find_corpus, read_pairs
from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.formats import HuggingFace, JsonLines, Tmx, Tsv, TwoFiles
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
def test_only_a_name_with_its_prefix_is_on_the_hub(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = find_corpus(f"hf:{name}", source="de", target="en", split="test", configuration="de-en")
    assert found == HuggingFace(name=name, configuration="de-en", split="test", source="de", target="en")
    with pytest.raises(DataError, match=rf"^{name} must be a file of pairs, .*hub is written hf:NAME\.$"):
        find_corpus(name, split="test", configuration="de-en")


@pytest.mark.parametrize("name", ["", "/etc", "./a", "../a", "a/b/c", "a b", "a\nb", "~/a", "http://a.b", "é"])
def test_what_cannot_be_a_name_on_the_hub_is_refused(name):
    with pytest.raises(DataError, match=r"must be written hf:NAME or hf:OWNER/NAME; received .*A file or folder is"):
        find_corpus(f"hf:{name}")


@pytest.mark.parametrize("name", ["train.tsv", "wmt14", "./wmt14", "data/train.tsv", "a/b/c", "corpuss", "runs/testt"])
def test_a_path_that_is_no_file_is_missing_and_nobody_is_asked(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: pytest.fail("asked the network"))
    with pytest.raises(DataError, match=r"must be a file of pairs, a folder of them, or builtin:es-en; received a pa"):
        find_corpus(name)


def test_a_path_that_is_no_file_offers_the_near_miss(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("corpus.tsv", "corpus.py", "notes.md", "x.es"):
        (tmp_path / name).touch()
    (tmp_path / "runs" / "test").mkdir(parents=True)
    with pytest.raises(DataError, match=r"received a path where there is none\. Did you mean corpus\.tsv\? A data set"):
        find_corpus("corpuss")
    with pytest.raises(
        DataError, match=r"Did you mean test/\? A data set of the Hugging Face hub is written hf:NAME\."
    ):
        find_corpus("runs/testt")
    with pytest.raises(DataError, match=r"none\. Choose one of runs/, corpus\.tsv\. A data set"):
        find_corpus("q")
    with pytest.raises(DataError, match=r"received an address, and nothing is downloaded here"):
        find_corpus("https://a.b/c.tsv")


@pytest.mark.parametrize("length", [256, 5000])
def test_a_name_that_no_file_can_have_is_shown_shortened(length):
    with pytest.raises(DataError, match=rf"^x+… must be a file of pairs, .* received a name of {length:,} letters"):
        find_corpus("x" * length)


def test_a_number_of_too_many_digits_is_a_name(tmp_path):
    (tmp_path / "a.tsv").write_text("Hund\tdog\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"`source` must name a column of .*; received '9{59}…'"):
        list(read_pairs(find_corpus(tmp_path / "a.tsv", source="9" * 5000)))


def test_a_folder_is_read_by_the_file_named_after_the_split(tmp_path):
    (tmp_path / "train.tsv").write_text("Hund\tdog\n", encoding="utf-8")
    (tmp_path / "test.jsonl").write_text('{"source": "Katze", "target": "cat"}\n', encoding="utf-8")
    (tmp_path / "load.py").write_text("raise SystemExit", encoding="utf-8")
    assert isinstance(find_corpus(tmp_path), Tsv)
    assert isinstance(find_corpus(tmp_path, split="test"), JsonLines)
    with pytest.raises(DataError, match=r"one file of pairs called valid, such as valid\.tsv; received test\.jsonl"):
        find_corpus(tmp_path, split="valid")
    (tmp_path / "train.tsv.gz").touch()
    with pytest.raises(DataError, match=r"received 2 files of that name\. Name a file in it\."):
        find_corpus(tmp_path)


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
