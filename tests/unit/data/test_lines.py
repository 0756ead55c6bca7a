import json
import re
from pathlib import Path

import pytest

import regard
from regard.cli.pair_files import read_two_files
from regard.data.corpora.pair import Pair
from regard.data.formats import JsonLines, Tsv, TwoFiles
from regard.data.formats.labeled import read_labeled, read_texts
from regard.data.formats.lines import LONGEST_LINE, read_lines
from regard.data.formats.pharaoh import read_links
from regard.data.formats.records import BadLine
from regard.errors import DataError
from regard.tasks.evaluation.held_out import HeldOut, read_hypotheses
from regard.tasks.translation.unknown_words import read_dictionary


@pytest.fixture
def lines(tmp_path):
    def write(content):
        (tmp_path / "text").write_bytes(content)
        return list(read_lines(tmp_path / "text"))

    return write


def test_a_line_ends_at_the_line_feed_only(lines):
    odd = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh"
    assert lines(f"{odd}\nnext\n".encode()) == [odd, "next"]


def test_a_carriage_return_before_the_line_feed_is_removed(lines):
    assert lines(b"one\r\ntwo\r\n\r\nthree") == ["one", "two", "", "three"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_not_part_of_the_text(lines, mark):
    assert lines(mark + "Übung\n".encode()) == ["Übung"]


def test_a_mark_inside_the_file_is_text(lines):
    assert lines("a\n\ufeffb\n".encode()) == ["a", "\ufeffb"]


def test_a_line_that_is_not_utf8_is_bad_and_the_others_are_not(lines):
    first, second, third = lines(b"gut\n" + b"M\xfcller\n" + b"gut\n")
    assert (first, third) == ("gut", "gut")
    assert isinstance(second, BadLine)
    assert re.fullmatch(
        r".*text, line 2 must be UTF-8; received byte 0xfc at offset 1: 'M\\\\xfcller'\.", str(second)
    ), str(second)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_refused_with_the_way_out(lines, encoding):
    with pytest.raises(DataError, match=r"text must be UTF-8; received UTF-16.*iconv -f UTF-16"):
        lines(("\ufeff" + "Hund\n").encode(encoding))


def test_the_last_line_needs_no_line_feed(lines):
    assert lines(b"one\ntwo") == ["one", "two"]
    assert lines(b"") == []


def test_a_line_of_more_than_its_limit_is_an_error(tmp_path, monkeypatch):
    assert LONGEST_LINE == 16_777_216
    monkeypatch.setattr("regard.data.formats.lines.LONGEST_LINE", 1000)
    path = tmp_path / "text"
    for content in (b"a\n" + b"b" * 1001, b"a\n" + b"b" * 5000 + b"\nc\n"):
        path.write_bytes(content)
        with pytest.raises(
            DataError, match=r"text, line 2 must have at most 1,000 bytes; received more\. If it is text, br"
        ):
            list(read_lines(path))
    for content in (b"b" * 1000, b"b" * 1000 + b"\n", b"b" * 999 + b"\r\n"):
        path.write_bytes(content)
        assert len(list(read_lines(path))) == 1
    csv = tmp_path / "a.csv"
    csv.write_bytes(b"text,label\n" + b"b" * 1001)
    with pytest.raises(DataError, match=r"a\.csv, line 2 must have at most 1,000 bytes; received more\."):
        list(read_labeled(csv))


ODD = "one\x0btwo\x0c\x1c\x1d\x1e\x85three\u2028four\u2029five"


def _write(tmp_path, line, name="a"):
    (tmp_path / name).write_text(f"{line}\n{line}\n", encoding="utf-8", newline="")
    return tmp_path / name


def test_every_reader_ends_a_line_where_read_lines_does(tmp_path):
    plain, tabs = _write(tmp_path, ODD), _write(tmp_path, f"{ODD}\t{ODD}", "tabs")
    assert len(list(TwoFiles(source=plain, target=plain).records())) == 2
    assert len(list(Tsv(path=tabs).records())) == 2
    row = json.dumps({"source": ODD, "target": ODD, "text": ODD, "label": "x"}, ensure_ascii=False)
    assert len(list(JsonLines(path=_write(tmp_path, row, "a.jsonl")).records())) == 2
    assert len(list(read_labeled(tmp_path / "a.jsonl"))) == 2
    assert len(list(read_labeled(_write(tmp_path, f"{ODD}\tx", "a.tsv"), text="1", label="2"))) == 2
    assert len(list(read_labeled(_write(tmp_path, f"{ODD},x", "a.csv"), text="1", label="2"))) == 2
    assert len(list(read_texts(plain))) == 2
    assert len(read_two_files(plain, plain)) == 2
    assert len(read_links(_write(tmp_path, "0-0\x0b1-1\u20282-2", "links"))) == 2
    assert read_hypotheses(plain, HeldOut(pairs=[Pair(source="a", target="b")] * 2, name="x")) == [ODD] * 2
    assert len(read_dictionary(tabs)) == 1


def test_no_reader_of_data_ends_lines_elsewhere():
    package = Path(regard.__file__).parent
    readers = [path for path in (package / "data").rglob("*.py") if "builtin" not in path.parts]
    readers += [package / "cli" / name for name in ("pair_files.py", "align.py", "score_links.py", "translate.py")]
    readers += (package / "tasks").glob("*.py")
    wrong = [
        path for path in readers if re.search(r"(line|text|content)\w*\.splitlines\(", path.read_text(encoding="utf-8"))
    ]
    assert len(readers) > 80
    assert wrong == []
