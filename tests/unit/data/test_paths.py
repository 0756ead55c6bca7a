"""What cannot be read says why, in one paragraph; a path is never the cause of a traceback."""

import errno
import os
import re
import sys
from pathlib import Path

import pytest

from regard.data.corpora.corpus import find_corpus
from regard.data.formats.labeled import read_labeled
from regard.data.formats.lines import read_lines
from regard.data.formats.paths import is_file, is_folder, list_folder, missing_file, open_file, what_is_there
from regard.data.formats.pharaoh import read_links
from regard.data.images.folder import read_image_folder
from regard.data.images.read import read_images
from regard.data.scenes.read import read_questions
from regard.errors import DataError
from regard.tasks.language.data import find_files
from regard.tasks.translation.unknown_words import read_dictionary
from unit.data.images.pictures import write_folder

READERS = {
    "lines": lambda path: list(read_lines(path)),
    "pairs": lambda path: list(find_corpus(path).records()),
    "links": read_links,
    "labels": lambda path: list(read_labeled(path)),
    "images": lambda path: read_images(str(path)),
    "questions": lambda path: read_questions(path, image_size=8),
    "dictionary": read_dictionary,
    "text": lambda path: [list(read_lines(one)) for one in find_files(path).paths],
}


@pytest.fixture
def forbidden(monkeypatch):
    """Refuse to open or list paths that have `secret` in their names, as the system does for other users."""

    def refuse(path, *_, **__):
        if "secret" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    real_open, real_list, real_scan = Path.open, os.listdir, os.scandir

    def open_path(path, *rest, **choices):
        refuse(path)
        return real_open(path, *rest, **choices)

    def list_path(path="."):
        refuse(path)
        return real_list(path)

    def scan_path(path="."):  # which `Path.iterdir` calls from Python 3.14 on
        refuse(path)
        return real_scan(path)

    monkeypatch.setattr(Path, "open", open_path)
    monkeypatch.setattr(os, "listdir", list_path)
    monkeypatch.setattr(os, "scandir", scan_path)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_may_not_be_read_is_one_paragraph(tmp_path, forbidden, reader):
    path = tmp_path / "secret.csv" if reader == "labels" else tmp_path / "secret"
    path.touch()
    with pytest.raises(
        DataError, match=r"secret(\.csv)? must be a file; received one that you may not read\. Allow it"
    ):
        READERS[reader](path)


def test_a_folder_that_may_not_be_read_is_one_paragraph(tmp_path, forbidden):
    folder = write_folder(tmp_path / "a", count=1)
    (folder / "red").rename(folder / "secret")
    message = (
        r"secret must be a folder that can be read; received one that cannot \(Permission denied\)\. Check the path"
    )
    with pytest.raises(DataError, match=message):
        read_image_folder(folder, size=(8, 8))
    for reader in ("pairs", "images", "questions", "text"):
        with pytest.raises(DataError, match=message):
            READERS[reader](folder / "secret")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("length", [256, 5000])
def test_a_name_that_no_file_can_have_is_one_short_paragraph(tmp_path, reader, length):
    name = "x" * (length - 4) + ".csv"
    with pytest.raises(DataError, match=rf"received a name of {length:,} letters, more than any file has") as caught:
        READERS[reader](tmp_path / name)
    assert len(str(caught.value)) < 400


def test_odd_paths_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert what_is_there(tmp_path / "pipe") == "something that is neither a file nor a folder"
    assert not is_file("a\0b")
    assert not is_folder("x" * 9999)
    null = "stat: embedded null character in path" if sys.version_info >= (3, 14) else "embedded null byte"
    assert what_is_there(Path("a\0b")) == f"one that cannot be read ({null})"
    (tmp_path / "round").symlink_to("round")
    for path in (Path("a\0b"), tmp_path / "round"):
        with pytest.raises(
            DataError, match=r"must be a file; received one that cannot be read \(.+\)\. Check the path\."
        ):
            open_file(path)
    (tmp_path / "a.txt").touch()
    with pytest.raises(DataError, match=re.escape("received a path in a folder that does not exist, ")):
        open_file(tmp_path / "a.txt" / "b")
    with pytest.raises(DataError, match=r"a\.txt must be a folder that can be read; received one that cannot \(Not a"):
        list_folder(tmp_path / "a.txt")


@pytest.mark.parametrize("name", ["hf:a/b", "builtin:x", "https://a.b/c"])
def test_names_of_other_kinds_are_not_looked_for(name):
    assert re.fullmatch(
        r".* must be a file; received (a data set of|a built-in|an address).*\.", missing_file(Path(name))
    )


def test_a_folder_of_very_many_files_is_not_compared_with_all(tmp_path, monkeypatch):
    for number in range(30):
        (tmp_path / f"{number}.es").touch()
    monkeypatch.setattr("regard.data.formats.paths._COMPARED", 9)
    assert missing_file(tmp_path / "corpus.es").count(".es") <= 9 + 1
