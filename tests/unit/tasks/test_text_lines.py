import io

import pytest

from regard.tasks.text_lines import RawLine, gather_lines, split_lines, understand


class Slow:
    """A stream that gives what it has in these portions."""

    def __init__(self, *portions):
        self.portions = list(portions)

    def read1(self, size=-1):
        return self.portions.pop(0) if self.portions else b""


def texts(content):
    lines = [line for some in split_lines(io.BytesIO(content)) for line in some]
    return [understand(line, first=number == 0).text for number, line in enumerate(lines)]


def test_a_line_ends_at_the_line_feed_only():
    odd = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh\x00i"
    assert texts(f"{odd}\nnext\n".encode()) == [odd, "next"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"one", ["one"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", ["one", "\ufefftwo"]),
        ("שלום 🙂\n".encode(), ["שלום 🙂"]),
    ],
)
def test_every_line_is_there(content, lines):
    assert texts(content) == lines


def test_lines_come_as_soon_as_their_end_has():
    stream = Slow(b"one\n", b"tw", b"o\nthr", b"ee\nfour\n")
    assert [[line.content for line in some] for some in split_lines(stream)] == [
        [b"one"],
        [b"two"],
        [b"three", b"four"],
    ]


def test_a_line_without_end_is_held_only_so_far():
    lines = list(split_lines(Slow(b"ab" * 9, b"cd" * 9, b"\nxy"), longest=5))
    assert lines == [[RawLine(b"ababa", 37)], [RawLine(b"xy", 2)]]
    assert understand(lines[0][0]).shortened
    assert not understand(lines[1][0]).shortened


def test_a_shortened_line_may_end_inside_a_character():
    euro = "€".encode()
    (line,), *_ = split_lines(Slow(euro * 4 + b"\n"), longest=10)
    assert understand(line) == ("€€€", 0, True)


@pytest.mark.parametrize(
    ("content", "text", "broken"),
    [
        (b"caf\xe9", "caf\ufffd", 1),
        (b"\xff\xfe\xff", "\ufffd\ufffd\ufffd", 3),
        (b"\xe2\x82", "\ufffd", 2),
        ("\ufffd".encode(), "\ufffd", 0),
    ],
)
def test_broken_bytes_are_replaced_and_counted(content, text, broken):
    assert understand(RawLine(content, len(content) + 1)) == (text, broken, False)


def test_lines_are_gathered_by_number_and_by_size():
    lines = [RawLine(b"x" * size, size + 1) for size in (1, 1, 1, 9, 1, 1)]
    sizes = [[len(line.content) for line in some] for some in gather_lines([lines[:2], lines[2:]], most_lines=3)]
    assert sizes == [[1, 1, 1], [9, 1, 1]]
    sizes = [[len(line.content) for line in some] for some in gather_lines([lines], most_lines=9, most_bytes=10)]
    assert sizes == [[1, 1, 1, 9], [1, 1]]
