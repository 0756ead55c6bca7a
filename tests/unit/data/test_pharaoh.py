"""Files of word links."""

import pytest

from regard.data.corpora.pair import Link
from regard.data.formats.pharaoh import Lengths, format_links, has_zero, parse_links, read_links, write_links
from regard.errors import ArgumentError, DataError

FOUR = [Lengths(4, 4), Lengths(3, 2)]


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "links"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_what_is_written_comes_back(tmp_path):
    links = [(Link(0, 1, True), Link(2, 0, False)), (), (Link(12, 30, True),)]
    write_links(tmp_path / "links", links)
    assert (tmp_path / "links").read_text() == "0-1 2?0\n\n12-30\n"
    assert read_links(tmp_path / "links") == links


def test_links_are_written_in_order():
    assert format_links([Link(10, 0, True), Link(2, 5, True), Link(2, 1, False)]) == "2?1 2-5 10-0"


def test_a_link_given_twice_is_sure_if_it_is_once():
    assert parse_links("1?1 1-1 2-2 2p2", place="here") == (Link(1, 1, True), Link(2, 2, True))


@pytest.mark.parametrize("item", ["0:1", "0", "-1", "1-", "0-1-2", "a-b", "0x1", "٣-٤"])
def test_anything_else_is_refused_with_its_line(file, item):
    with pytest.raises(DataError, match=rf"links, line 2: a link must be such as 0-2 or 0\?2; received '{item}'."):
        read_links(file(f"0-0\n{item}\n"))


def test_lines_that_are_not_text_are_refused(file):
    with pytest.raises(DataError, match=r"links, line 1 must be UTF-8; received byte 0xff at offset 0"):
        read_links(file(b"\xff\n"))


@pytest.mark.parametrize(
    ("text", "link", "line"), [("1-1 4-3\n1-1\n", "4-3", 1), ("1-1\n3-2\n", "3-2", 2), ("\n1?2", "1?2", 2)]
)
def test_a_file_that_counts_from_1_is_refused(file, text, link, line):
    source, target = FOUR[line - 1]
    with pytest.raises(DataError) as caught:
        read_links(file(text), lengths=FOUR)
    assert str(caught.value).endswith(
        f"links must count words from 0; received no 0 anywhere, and {link} in line {line}, of {source} and {target} "
        "words: it seems to count from 1. Set `base=1`."
    )


def test_any_zero_proves_that_a_file_counts_from_0(file):
    with pytest.raises(DataError, match=r"line 1: links must stay within 4 source and 4 target words; received 4-3."):
        read_links(file("4-3\n0-1\n"), lengths=FOUR)
    assert has_zero([(), (Link(3, 0, True),)])
    assert not has_zero([(), (Link(3, 1, True),)])


def test_without_proof_a_file_counts_from_0(file):
    assert read_links(file("1-1\n1-1\n"), lengths=FOUR) == [(Link(1, 1, True),), (Link(1, 1, True),)]


def test_what_counts_from_1_is_read_so_when_told(file):
    assert read_links(file("1-1 4p4\n3-2\n"), base=1, lengths=FOUR) == [
        (Link(0, 0, True), Link(3, 3, False)),
        (Link(2, 1, True),),
    ]


def test_the_base_must_be_0_or_1_and_agree_with_the_file(file, unchecked):
    with pytest.raises(ArgumentError, match=r"`base` must be 0 or 1, what the first word is called; received 2."):
        read_links(file("1-1\n"), base=2)
    with pytest.raises(DataError, match=r"line 2: links must count from 1, as `gold_base=1` says; received 1-0."):
        read_links(file("1-1\n1-0\n"), base=1, argument="gold_base")


def test_links_beyond_the_words_are_refused_or_dropped(file):
    path = file("1-1 4-5\n3-2\n")
    message = (
        r"links, line 1: links must stay within 4 source and 4 target words; received 4-5. Are the sides exchanged, or "
        "the words counted in another way?"
    )
    with pytest.raises(DataError, match=message):
        read_links(path, base=1, lengths=FOUR)
    assert read_links(path, base=1, lengths=FOUR, bad="drop") == [(Link(0, 0, True),), (Link(2, 1, True),)]


def test_every_pair_needs_a_line(file):
    with pytest.raises(DataError, match=r"links must have one line for each of the 2 pairs; received 3."):
        read_links(file("0-0\n0-0\n0-0\n"), lengths=FOUR)


def test_a_file_of_the_other_direction_is_turned(file):
    assert read_links(file("0-3\n1-2\n"), lengths=FOUR, swapped=True) == [(Link(3, 0, True),), (Link(2, 1, True),)]


@pytest.mark.parametrize("digits", [10, 4301, 50_000])
def test_numbers_of_many_digits_are_no_links(file, digits):
    with pytest.raises(
        DataError, match=r"line 1: a link must be such as 0-2 or 0\?2; received '9{10,59}.*'\.$"
    ) as caught:
        read_links(file("9" * digits + "-0"))
    assert len(str(caught.value)) < 300
