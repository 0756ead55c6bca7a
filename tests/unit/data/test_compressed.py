import builtins
import bz2
import gzip
import lzma
import re
import sys

import pytest
import zstandard

from regard.data.compressed import open_decompressed
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
