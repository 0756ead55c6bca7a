import re

import pytest

from regard.data.corpora.corpus import read_pairs
from regard.data.corpora.report import Report
from regard.data.formats import Tsv
from regard.errors import DataError


@pytest.fixture
def tsv(tmp_path):
    def read(content, *, bad="refuse", report=None, **choices):
        (tmp_path / "data.tsv").write_bytes(content)
        corpus = Tsv(path=tmp_path / "data.tsv", **choices)
        return [(pair.source, pair.target) for pair in read_pairs(corpus, bad=bad, report=report)]

    return read


def test_the_first_two_columns_by_default(tsv):
    assert tsv(b"Hund\tdog\tCC-BY\nKatze\tcat\tCC-BY\n") == [("Hund", "dog"), ("Katze", "cat")]


def test_columns_by_number_from_one(tsv):
    line = b"deu\teng\tHund\tdog\n"
    assert tsv(line, source=3, target=4) == [("Hund", "dog")]
    assert tsv(line, source=4, target=3) == [("dog", "Hund")]
    assert tsv(b"dog\tHund\n", source=2) == [("Hund", "dog")]
    assert tsv(b"dog\tHund\n", target=1) == [("Hund", "dog")]


def test_columns_by_name_in_the_header(tsv):
    text = "\ufeffid\ten\tde\r\n1\tdog\tHund\r\n".encode()
    assert tsv(text, source="de", target="en") == [("Hund", "dog")]
    assert tsv(b"en\tde\ndog\tHund\n", source="de", target=1) == [("Hund", "dog")]


def test_a_header_of_source_and_target_needs_no_telling(tsv):
    assert tsv(b"Target\tSource\ndog\tHund\n") == [("Hund", "dog")]


def test_a_header_can_be_passed_over(tsv):
    assert tsv(b"German\tEnglish\nHund\tdog\n", header=True) == [("Hund", "dog")]


def test_an_unknown_name_offers_the_near_miss(tsv):
    with pytest.raises(
        DataError,
        match=re.escape("received 'germn', and its first line has 2 columns. Did you mean german?"),
    ):
        tsv(b"german\tenglish\nHund\tdog\n", source="germn", target="english")


def test_quotes_are_text(tsv):
    assert tsv(b'"Hund\t"dog" he said\n') == [('"Hund', '"dog" he said')]


def test_wrong_numbers_of_columns_are_counted_or_refused(tsv):
    text = b"one\nHund\tdog\nKatze\tcat\tmat\nMaus\tmouse\n"
    report = Report()
    assert tsv(text, bad="skip", report=report) == [("Hund", "dog"), ("Maus", "mouse")]
    assert report.dropped == {"columns": 2}
    assert [example.text for example in report.examples["columns"]] == ["one", "Katze\tcat\tmat"]
    with pytest.raises(DataError, match=r"data\.tsv, line 1 must have 2 tab-separated columns; received 1: 'one'\."):
        tsv(text)
    with pytest.raises(DataError, match=r"line 2 must have 2 tab-separated columns; received 3: 'Katze\\tcat\\tmat'"):
        tsv(text.partition(b"\n")[2])


def test_a_column_below_one_or_the_same_twice_is_refused(tsv):
    with pytest.raises(DataError, match=r"`source` must be a column from 1; received 0\. The first column is 1\."):
        tsv(b"a\tb\n", source=0)
    with pytest.raises(DataError, match=r"must be two columns; received column 2 for both"):
        tsv(b"a\tb\n", source=2, target=2)


def test_a_long_line_is_shortened_in_the_message(tsv):
    with pytest.raises(DataError) as caught:
        tsv(b"x" * 5000)
    assert "x" * 59 + "…" in str(caught.value)
    assert len(str(caught.value)) < 300
