import json

import pytest

from regard.data.corpora.corpus import read_pairs
from regard.data.corpora.report import Report
from regard.data.formats import JsonLines
from regard.errors import DataError


@pytest.fixture
def jsonl(tmp_path):
    def read(*rows, bad="refuse", report=None, **choices):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / "data.jsonl").write_text("\n".join(lines), encoding="utf-8")
        corpus = JsonLines(path=tmp_path / "data.jsonl", **choices)
        return [(pair.source, pair.target) for pair in read_pairs(corpus, bad=bad, report=report)]

    return read


@pytest.mark.parametrize(
    ("row", "choices"),
    [
        ({"target": "dog", "source": "Hund"}, {}),
        ({"id": 7, "de": "Hund", "en": "dog"}, {}),
        ({"translation": {"de": "Hund", "en": "dog"}}, {}),
        ({"translation": {"en": "dog", "de": "Hund"}}, {"source": "de", "target": "en"}),
        ({"translation": {"en": "dog", "de": "Hund"}}, {"source": "de"}),
        ({"translation": {"en": "dog", "de": "Hund", "fr": "chien"}}, {"source": "de", "target": "en"}),
        ({"en": "dog", "de": "Hund"}, {"target": "en"}),
        ({"english": "dog", "german": "Hund"}, {"source": "german", "target": "english"}),
        ({"text": {"en": "dog", "de": "Hund"}}, {"source": "text.de", "target": "text.en"}),
        ({"a.b": "Hund", "c": "dog"}, {"source": "a.b", "target": "c"}),
        ({"en": "dog", "de": "Hund"}, {"source": 2, "target": 1}),
    ],
)
def test_keys_by_name_number_or_convention(jsonl, row, choices):
    assert jsonl(row, **choices) == [("Hund", "dog")]


def test_the_first_row_decides_for_all(jsonl):
    rows = [{"de": "Hund", "en": "dog"}, {"en": "cat", "de": "Katze"}]
    assert jsonl(*rows) == [("Hund", "dog"), ("Katze", "cat")]


def test_escapes_and_line_breaks_inside_a_text(jsonl):
    assert jsonl({"source": "a\n  b\u2028c", "target": " d\r\ne "}) == [("a b\u2028c", "d e")]


def test_bad_rows_are_counted_by_kind(jsonl):
    report = Report()
    rows = [
        '{"source": "broken',
        "[1, 2]",
        {"source": "a"},
        {"source": "a", "target": None},
        {"source": "a", "target": 5},
        {"source": "a", "target": " "},
        '{"source": "a", "target": "\\ud800"}',
        '{"source": "a", "target": "\\u0000"}',
        "[" * 100_000,
        {"source": "Hund", "target": "dog"},
    ]
    assert jsonl(*rows, bad="skip", report=report) == [("Hund", "dog")]
    assert report.dropped == {"json": 3, "columns": 3, "empty": 1, "encoding": 2}
    assert report.kept == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            '{"source": "x',
            r"line 2 must be a JSON object; received text that is not JSON \(Unterminated string.*\): '\{",
        ),
        ("[1]", r"line 2 must be a JSON object; received JSON of type list: '\[1\]'"),
        ({"source": "x", "other": "y"}, r"line 2 must have a key 'target'; received the keys source, other\."),
        ({"source": "x", "target": 5}, r"line 2 must have text on both sides; received a target of type int: '5'"),
    ],
)
def test_bad_rows_are_refused_with_place_and_text(jsonl, row, message):
    with pytest.raises(DataError, match=message):
        jsonl({"source": "a", "target": "b"}, row)


def test_an_unknown_key_offers_the_near_miss(jsonl):
    with pytest.raises(DataError, match=r"line 1 must have a key 'germn' \(did you mean german\?\); received the keys"):
        jsonl({"german": "a", "english": "b"}, source="germn", target="english")


def test_keys_that_cannot_be_guessed_are_asked_for(jsonl):
    with pytest.raises(DataError, match=r"name them with `source` and `target`\); received the keys left, right"):
        jsonl({"left": "a", "right": "b"})


def test_a_file_of_only_bad_rows_is_refused_even_when_skipping(jsonl):
    with pytest.raises(DataError, match=r"at least one usable pair; received 2 bad lines\. .*line 1 must"):
        jsonl({"left": "a"}, {"left": "b"}, bad="skip")
