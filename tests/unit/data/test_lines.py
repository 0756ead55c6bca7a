import re

import pytest

from regard.data.lines import read_lines
from regard.data.records import BadLine
from regard.errors import DataError


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
