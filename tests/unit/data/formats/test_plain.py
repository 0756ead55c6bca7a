import pytest

from regard.data.corpora.corpus import read_pairs
from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.formats import TwoFiles
from regard.errors import DataError


@pytest.fixture
def two_files(tmp_path):
    def write(source, target):
        (tmp_path / "de").write_bytes(source)
        (tmp_path / "en").write_bytes(target)
        return TwoFiles(source=tmp_path / "de", target=tmp_path / "en")

    return write


def test_line_n_goes_with_line_n(two_files):
    corpus = two_files("Hund\nKätzchen\n".encode(), b"dog\nkitten")
    assert list(read_pairs(corpus)) == [Pair(source="Hund", target="dog"), Pair(source="Kätzchen", target="kitten")]
    assert len(list(read_pairs(corpus))) == 2, "a corpus can be read again"


def test_a_line_separator_inside_a_sentence_shifts_nothing(two_files):
    corpus = two_files("a\u2028b\x85c\nd\n".encode(), b"1\r\n2\r\n")
    assert list(read_pairs(corpus)) == [Pair(source="a\u2028b\x85c", target="1"), Pair(source="d", target="2")]


@pytest.mark.parametrize("bad", ["skip", "refuse"])
@pytest.mark.parametrize(("source", "target"), [(4, 2), (2, 3), (1, 0), (0, 1)])
def test_unequal_counts_are_refused_with_both_numbers_whatever_is_done_with_bad_lines(two_files, source, target, bad):
    corpus = two_files(b"x\n" * source, b"y\n" * target)
    message = rf"en must have a line for each of the {source} lines of .*de; received {target}\. Has a line been lost\?"
    with pytest.raises(DataError, match=message):
        list(read_pairs(corpus, bad=bad))


def test_bad_lines_of_every_kind_are_counted_by_kind(two_files):
    report = Report()
    source = b"gut\n\xff\xfeboese\n  \nx\0y\nauch gut\n"
    target = b"good\nbad\nempty\nnul\nalso good\n"
    assert [pair.target for pair in read_pairs(two_files(source, target), report=report)] == ["good", "also good"]
    assert report.dropped == {"encoding": 2, "empty": 1}


def test_an_empty_side_is_refused_by_name_and_number(two_files):
    with pytest.raises(
        DataError, match=r"en, line 2 must have text on both sides; received an empty target: 'b'\. Correct"
    ):
        list(read_pairs(two_files(b"a\nb\n", b"1\n\n"), bad="refuse"))


def test_a_nul_byte_is_refused(two_files):
    with pytest.raises(DataError, match=r"line 1 must hold no NUL .* received one in the source: 'x\\x00y'"):
        list(read_pairs(two_files(b"x\0y\n", b"1\n"), bad="refuse"))
