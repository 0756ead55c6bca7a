"""Files that are whole or not there, and small files read with limits."""

import os
import stat
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from regard import files
from regard.errors import DataError
from regard.files import (
    Entry,
    json_text,
    load_json,
    open_to_append,
    parse_json,
    read_json,
    read_toml,
    remove,
    write_text,
    write_whole,
)


def full(_: Path) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_is_the_old_or_the_new_one(tmp_path, monkeypatch):
    path = tmp_path / "a.toml"
    write_text(path, "old")
    write_text(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(OSError, match="No space"):
        write_whole(path, full)
    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "other")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_permissions_are_those_that_the_umask_leaves(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "a.txt", "a")
        write_whole(tmp_path / "a.safetensors", lambda path: save_file({"a": torch.ones(2)}, path))
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o666 & ~umask}


def test_links_are_replaced_and_never_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("config.toml", ".config.writing.toml"):
        (tmp_path / name).symlink_to(victim)
    write_text(tmp_path / "config.toml", "settings")
    assert (victim.read_text(), (tmp_path / "config.toml").read_text()) == ("precious", "settings")
    assert not (tmp_path / "config.toml").is_symlink()
    (tmp_path / ".lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        open_to_append(tmp_path / ".lock")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match="symbolic link"):
        open_to_append(tmp_path / "dangling")
    assert not (tmp_path / "nowhere").exists()


def test_what_is_opened_to_append_keeps_what_it_holds(tmp_path):
    (tmp_path / "a").write_bytes(b"one")
    with open_to_append(tmp_path / "a") as file:
        file.write(b"two")
    assert (tmp_path / "a").read_bytes() == b"onetwo"


def test_a_link_to_a_folder_is_removed_alone(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b").write_text("b")
    for name in ("link", "folder", "absent"):
        remove(tmp_path / name)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["kept", "kept/a"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "must be JSON; received: 'utf-8' codec can't decode byte 0xff"),
        (b"{", "must be JSON; received: Expecting property name"),
        (b"[" * 101 + b"]" * 101, "must be JSON of at most 100 tables and lists in one another; received more."),
        (b"[" * 200_000, "must be JSON of at most 100 tables and lists in one another; received more."),
        (b"9" * 5000, "must be JSON; received: Exceeds the limit"),
        (b" " * 2000, r"must have at most 1,000 bytes; received 2,000\."),
    ],
)
def test_json_has_limits(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"^{path} {message}"):
        read_json(path, most=1000 if len(content) == 2000 else files.SMALL)


def test_json_of_the_permitted_depth_is_read():
    assert parse_json("[" * 100 + "]" * 100, "a").value != []
    beside = "[" + ",".join(["{}"] * 200) + "]"
    assert load_json(beside) == load_json(beside.encode()) == load_json(bytearray(beside, "utf-8-sig")) == [{}] * 200


@pytest.mark.parametrize("depth", [101, 3000, 200_000])
@pytest.mark.parametrize("kind", [str, str.encode])
def test_json_too_deep_is_a_value_error_on_every_python(depth, kind):
    """Python 3.14 itself reads thousands of lists in one another, older ones some hundreds."""
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        with pytest.raises(ValueError, match=r"^more than 100 tables and lists in one another$"):
            load_json(kind(text))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a = \xff", "must be TOML; received: 'utf-8' codec"),
        (b"a = [", "must be TOML; received: "),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "must be TOML of at most 100 tables and lists in one another"),
        (b".".join([b"a"] * 200) + b" = 1", "must be TOML of at most 100 tables and lists in one another"),
        (b"a = " + b"9" * 5000, "must be TOML; received: Exceeds the limit"),
    ],
)
def test_toml_has_limits(tmp_path, content, message):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"^{path} {message}"):
        read_toml(path)


def test_nothing_waits_for_a_pipe_and_what_cannot_be_read_says_why(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="must be a plain file; received something else"):
        read_json(tmp_path / "pipe")
    with pytest.raises(DataError, match="must be a file that can be read; received: No such file or directory"):
        read_json(tmp_path / "absent")
    with pytest.raises(DataError, match="must be a plain file; received something else"):
        read_json(tmp_path)


ENTRY = Entry({"a": {"b": [1, "x"], "long": "y" * 100}, "n": -1, "t": ["x", "x"], "f": 10**400}, "file.json")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ENTRY["z"], "file.json must have the key z; received a table of 4."),
        (lambda: ENTRY["a"]["z"], "file.json: a must have the key z; received a table of 2."),
        (lambda: ENTRY["a"]["b"].table(), "file.json: a.b must be a table; received a list of 2."),
        (lambda: ENTRY["a"].items(), "file.json: a must be a list; received a table of 2."),
        (lambda: ENTRY["a"]["b"].texts(), "file.json: a.b[0] must be text; received 1."),
        (lambda: ENTRY["t"].texts(count=3), "file.json: t must have 3 entries; received 2."),
        (lambda: ENTRY["t"].texts(), 'file.json: t must not have an entry twice; received "x".'),
        (lambda: ENTRY["n"].whole(most=9), "file.json: n must be a whole number from 0 to 9; received -1."),
        (lambda: ENTRY["n"].flag(), "file.json: n must be true or false; received -1."),
        (lambda: ENTRY["f"].text(), "file.json: f must be text; received an enormous number."),
        (lambda: ENTRY["a"]["long"].flag(), f'file.json: a.long must be true or false; received "{"y" * 58}….'),
        (lambda: Entry(3, "file.json").table(), "file.json must hold a table of settings; received 3."),
        (lambda: Entry(None, "file.json").items(), "file.json must hold a list; received null."),
        (lambda: Entry(True, "file.json").whole(), "file.json must be a whole number from 0 to "),
    ],
)
def test_a_value_of_another_type_is_named_by_file_and_key(ask, message):
    with pytest.raises(DataError) as caught:
        ask()
    assert str(caught.value).startswith(message)


def test_values_of_the_right_type_come_out():
    entry = Entry({"a": "x", "n": 3, "yes": True, "names": ["x", "y"]}, "file.json")
    found = entry["a"].text(), entry["n"].whole(), entry["yes"].flag(), entry["names"].texts(count=2)
    assert found == ("x", 3, True, ["x", "y"])
    assert entry.get("absent", 7).whole() == 7


def test_json_is_written_so_that_every_line_and_terminal_stays_whole():
    text = json_text({"a": ["\x1b]0;t\x07", "\x9b", "\u2028é"], "b": float("nan"), "c": (1.5, float("-inf"))})
    assert text == r'{"a": ["\u001b]0;t\u0007", "\u009b", "\u2028é"], "b": null, "c": [1.5, null]}'
    assert parse_json(text, "a").value["a"][2] == "\u2028é"
