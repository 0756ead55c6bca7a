import builtins
import bz2
import gzip
import lzma
import re
import sys
import tracemalloc

import pytest
import zstandard

from regard.data.formats.compressed import FREE_EXPANSION, open_decompressed, read_at_most
from regard.errors import DataError, MissingExtraError

TEXT = "Ein Hund läuft.\nZwei Hunde laufen.\n".encode() * 5000
PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def read(path):
    with open_decompressed(path) as stream:
        return stream.read()


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("name", ["text.txt", "text.gz", "text.bz2", "text"])
def test_compression_is_known_by_content_not_by_name(tmp_path, packing, name):
    path = tmp_path / name
    path.write_bytes(PACK[packing](TEXT))
    assert read(path) == TEXT


@pytest.mark.parametrize("name", ["text.gz", "text.zst", "text.xz"])
def test_plain_text_with_the_name_of_a_compressed_file_is_read_as_it_stands(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(TEXT)
    assert read(path) == TEXT


@pytest.mark.parametrize("packing", PACK)
def test_several_members_in_one_file_are_read_one_after_another(tmp_path, packing):
    path = tmp_path / "text"
    path.write_bytes(PACK[packing](b"one\n") + PACK[packing](b"two\n"))
    assert read(path) == b"one\ntwo\n"


@pytest.mark.parametrize("packing", PACK)
def test_a_file_cut_short_is_an_error_and_not_an_end(tmp_path, packing):
    path = tmp_path / "text"
    whole = PACK[packing](TEXT)
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(DataError, match=r"text must be a whole compressed file; received a damaged one \(.+\)\. Fetch"):
        read(path)


def test_a_damaged_zstd_file_is_an_error(tmp_path):
    path = tmp_path / "text"
    whole = bytearray(PACK["zstd"](TEXT))
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(DataError, match="damaged"):
        read(path)


def test_an_empty_file_is_empty(tmp_path):
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty") == b""


def test_a_zip_archive_is_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(DataError, match=re.escape("received a zip archive. Unpack it first.")):
        read(tmp_path / "a.txt")


def test_a_missing_file_offers_the_near_miss(tmp_path):
    (tmp_path / "train.de").touch()
    with pytest.raises(
        DataError, match=r"train\.ed must be a file; received a path where there is none\. Did you mean"
    ):
        read(tmp_path / "train.ed")
    for name in ("notes.csv", "films.tsv", "films.tsv.gz", *(f"{number}.es" for number in range(9))):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"none\. Choose one of films\.tsv, films\.tsv\.gz\.$"):
        read(tmp_path / "x.tsv")
    with pytest.raises(DataError, match=r"none\. Did you mean notes\.csv\?$"):  # of another kind, but close
        read(tmp_path / "notes.cvs")
    with pytest.raises(DataError, match=r"none\. Choose one of 0\.es, .*, 7\.es, …\.$"):
        read(tmp_path / "corpus.es")
    with pytest.raises(DataError, match=r"none\. Check the path\.$"):
        read(tmp_path / "corpus.jsonl")
    with pytest.raises(DataError, match="in a folder that does not exist"):
        read(tmp_path / "nowhere" / "train.de")
    with pytest.raises(DataError, match="received a folder"):
        read(tmp_path)


def test_zstd_without_its_package_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(PACK["zstd"](TEXT))
    real = builtins.__import__

    def without(name, *rest):
        if name == "zstandard":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "zstandard")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "regard[datasets]"')):
        read(path)


def test_names_are_near_without_their_endings(tmp_path):
    for name in ("bad.csv", "a.txt"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"none\. Choose one of bad\.csv\.$"):
        read(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"none\. Did you mean bad\.csv\?$"):
        read(tmp_path / "bda.csv")


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Files of a few kilobytes that hold 256 MiB of zeros each."""
    folder = tmp_path_factory.mktemp("bombs")
    gzip_member = gzip.compress(bytes(1 << 24), 9)
    (folder / "gzip").write_bytes(gzip_member * 16)
    (folder / "bzip2").write_bytes(bz2.compress(bytes(1 << 24)) * 16)
    (folder / "xz").write_bytes(lzma.compress(bytes(1 << 24), preset=0) * 16)
    (folder / "zstd").write_bytes(zstandard.ZstdCompressor(level=1).compress(bytes(1 << 28)))
    return folder


def read_through(path):
    with open_decompressed(path) as stream:
        while stream.read(1 << 16):
            pass


@pytest.mark.parametrize("packing", PACK)
def test_a_small_file_cannot_fill_the_memory(bombs, packing):
    path = bombs / packing
    assert path.stat().st_size < 1 << 19
    tracemalloc.start()
    try:
        with pytest.raises(
            DataError,
            match=r"must unpack to at most 100 times its size; received [\d,]+ bytes from its first [\d,]+\. If",
        ):
            read_through(path)
        assert tracemalloc.get_traced_memory()[1] < 3 * FREE_EXPANSION
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packing", PACK)
def test_a_small_file_that_unpacks_to_little_may_be_of_one_letter(tmp_path, packing):
    (tmp_path / "a").write_bytes(PACK[packing](b"a" * (FREE_EXPANSION - 1)))
    assert len(read(tmp_path / "a")) == FREE_EXPANSION - 1


def test_a_step_of_zstd_is_bounded_by_what_it_is_given(bombs):
    from regard.data.formats.compressed import _PIECE

    whole = (bombs / "zstd").read_bytes()
    frame = zstandard.ZstdDecompressor().decompressobj()
    most = max(len(frame.decompress(whole[start : start + _PIECE])) for start in range(0, len(whole), _PIECE))
    assert most <= 1 << 24


def test_a_window_that_needs_much_memory_is_refused(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"x", filters=filters))
    with pytest.raises(
        DataError, match=r"a\.xz must be compressed so that 256 MiB suffice to unpack it; received one th"
    ):
        read(tmp_path / "a.xz")
    window = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    (tmp_path / "a.zst").write_bytes(_large_frame(window))
    with pytest.raises(DataError, match=r"a\.zst must be compressed so that 256 MiB suffice to unpack it"):
        read(tmp_path / "a.zst")


def _large_frame(window):
    frame = zstandard.ZstdCompressor(compression_params=window).compressobj()
    return frame.compress(b"x" * 1000) + frame.flush()


def test_frames_of_xz_may_be_padded_and_what_follows_them_may_not_be_lost(tmp_path):
    (tmp_path / "a").write_bytes(lzma.compress(b"one") + b"\0" * 8 + lzma.compress(b"two") + b"\0" * 4000)
    assert read(tmp_path / "a") == b"onetwo"
    (tmp_path / "a").write_bytes(lzma.compress(b"one") + b"rest")
    with pytest.raises(DataError, match="damaged"):
        read(tmp_path / "a")


@pytest.mark.parametrize("packing", PACK)
def test_a_compressed_file_can_be_read_again_from_its_beginning(tmp_path, packing):
    (tmp_path / "a").write_bytes(PACK[packing](TEXT))
    with open_decompressed(tmp_path / "a") as stream:
        assert (stream.seekable(), stream.tell()) == (True, 0)
        assert stream.read(100_000) == TEXT[:100_000]
        stream.seek(0)
        assert stream.read() == TEXT


@pytest.mark.parametrize("packing", PACK)
def test_what_goes_wrong_beside_a_file_is_not_blamed_on_it(tmp_path, packing):
    (tmp_path / "a").write_bytes(PACK[packing](TEXT))
    for error in (BrokenPipeError, EOFError, OSError):
        with pytest.raises(error), open_decompressed(tmp_path / "a"):
            raise error


def test_no_memory_is_taken_for_what_is_only_promised(tmp_path):
    (tmp_path / "a").write_bytes(b"few")
    tracemalloc.start()
    with open_decompressed(tmp_path / "a") as stream:
        assert read_at_most(stream, 1 << 40) == b"few"
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()
    with open_decompressed(tmp_path / "a") as stream:
        assert read_at_most(stream, 2) == b"fe"
