"""A run folder of a stranger opens no file and fetches nothing, unless somebody says so."""

import os
import shutil
import socket

import pytest

from regard.errors import ArgumentError, DataError
from regard.studio.views.compare_pairs import find_common
from regard.tasks.evaluation.held_out import Choice, find_held_out
from regard.tasks.evaluation.texts import find_run_text
from regard.tasks.language.data import gather_text
from regard.tasks.translation.settings import Config, Data
from regard.training.run_folder import RunFolder
from unit.tasks.small_run import make_run, write_files
from unit.tasks.texts import settings, write_text


@pytest.fixture
def own(tmp_path):
    return make_run(tmp_path / "run", write_files(tmp_path))


@pytest.fixture
def stranger(own, tmp_path):
    """The same folder as it comes out of an archive, with all times as they were."""
    shutil.copytree(own.path, tmp_path / "copied")
    return RunFolder(tmp_path / "copied")


def test_a_run_of_ones_own_is_known_wherever_it_is_moved(own, tmp_path):
    assert own.made_here()
    own.path.rename(tmp_path / "moved")
    moved = RunFolder(tmp_path / "moved")
    assert moved.made_here()
    assert find_held_out(Choice(), moved.path).pairs
    assert find_held_out(Choice(), moved.model).pairs


def test_a_copy_is_not_and_is_trusted_when_told(own, stranger):
    assert not stranger.made_here()
    with pytest.raises(DataError) as caught:
        find_held_out(Choice(), stranger.path)
    named = f"{own.path.parent}/a.es, {own.path.parent}/a.en"
    assert str(caught.value) == (
        f"`trust` must be given before what {stranger.config} names is opened, since the run was not made here or "
        f"has changed since; received none, for {named}. Give it if that is yours: `trust=True`. "
        "Name a test set otherwise: `data`, or `source` and `target`."
    )
    trusted = find_held_out(Choice(trust=True), stranger.path)
    assert trusted.pairs == find_held_out(Choice(), own.path).pairs


def test_whoever_trains_on_the_same_data_has_named_it(own, stranger):
    stranger.begin(own.read_settings(Config), own.fingerprint())
    assert stranger.made_here()
    with pytest.raises(ArgumentError, match="must stay as it was"):
        stranger.begin(own.read_settings(Config), "other")


@pytest.mark.parametrize("damage", ["{", "{}", '{"changed": "x"}', '{"changed": 0}', "[" * 5000])
def test_a_note_that_is_damaged_or_made_up_trusts_nothing(own, damage):
    (own.path / ".made-here.json").write_text(damage)
    assert not own.made_here()


def test_settings_that_were_changed_are_those_of_a_stranger(own):
    own.config.write_text(own.config.read_text().replace("a.es", "b.es"))
    with pytest.raises(DataError, match=r"`trust` must be given before .* is opened"):
        find_held_out(Choice(), own.path)


def test_nothing_is_opened_before_it_is_refused(own, stranger, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # whoever opens it waits for ever
    text = stranger.config.read_text().replace(f"{tmp_path}/a.es", f"{tmp_path}/pipe")
    stranger.config.write_text(text.replace(f"{tmp_path}/a.en", f"{tmp_path}/pipe"))
    for split in ("test", "valid", "train"):
        with pytest.raises(DataError, match=r"`trust` must be given before .* is opened"):
            find_held_out(Choice(split=split), stranger.path)
    with pytest.raises(DataError, match=r"`trust` must be given before"):
        find_common({"stranger": stranger.path})
    common = find_common({"own": own.path, "stranger": stranger.path})
    assert (common.owner, common.unsure) == ("own", ("stranger",))


@pytest.mark.parametrize("key", ["corpus", "valid"])
def test_a_dataset_is_never_fetched_at_the_word_of_a_run(tmp_path, monkeypatch, key):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("somebody reached out"))
    run = RunFolder(tmp_path / "run")
    run.begin(Config(data=Data(**{"corpus": "a.tsv", key: "hf:stranger/data"})), "")
    assert run.made_here()
    with pytest.raises(DataError, match=r"before what .*config\.toml names is fetched; received none, for hf:stranger"):
        find_held_out(Choice(), run.path)


def test_built_in_corpora_need_no_trust(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.begin(Config(data=Data(corpus="builtin:hi-en", size=20)), "")
    (run.path / ".made-here.json").unlink()
    assert find_held_out(Choice(), run.path).pairs


def test_the_text_of_a_language_model_is_held_to_the_same(tmp_path):
    config = settings(write_text(tmp_path / "a.txt"), "bag")
    run = RunFolder(tmp_path / "run")
    run.begin(config, gather_text(config.data).fingerprint)
    assert find_run_text(run.path)[1].size.lines
    (run.path / ".made-here.json").unlink()
    with pytest.raises(DataError, match=r"`trust` must be given before .* for .*a\.txt\."):
        find_run_text(run.path)
    assert find_run_text(run.path, trust=True)[1].size.lines


@pytest.mark.parametrize("content", [b"\xff", b"a = [", b"a = " + b"[" * 3000 + b"]" * 3000, b"a = " + b"9" * 5000])
def test_damaged_settings_and_notes_are_named(own, content):
    own.config.write_bytes(content)
    with pytest.raises(DataError, match=r"config\.toml must be what `regard train` wrote; received: "):
        find_held_out(Choice(), own.path)
    with pytest.raises(DataError, match=r"config\.toml must be what `regard train` wrote; received: "):
        own.begin(Config(), "a")


@pytest.mark.parametrize("content", ["{", "[]", '{"fingerprint": 3}', "[" * 3000])
def test_a_damaged_checksum_of_the_data_is_named(own, content):
    (own.path / ".data.json").write_text(content)
    with pytest.raises(DataError, match=r"\.data\.json"):
        find_held_out(Choice(), own.path)
