"""Checkpoints that are whole or not there."""

import json

import pytest
import torch

from regard.errors import DataError
from regard.training import checkpoint as module
from regard.training.checkpoint import Checkpoint, Checkpoints
from regard.training.streams import capture_streams, restore_streams, seed_streams


def make(step: int) -> Checkpoint:
    return Checkpoint(step, {"a": torch.full((3,), float(step)), "t": torch.arange(6).view(2, 3).T}, {"step": step})


def test_what_was_saved_comes_back(tmp_path):
    checkpoints = Checkpoints(tmp_path / "new")
    for step in (5, 100_000_000, 10):
        checkpoints.save(make(step))
    assert checkpoints.steps() == [5, 10, 100_000_000]
    found = checkpoints.newest()
    assert found.damaged == []
    assert found.checkpoint.step == 100_000_000
    assert found.checkpoint.state == {"step": 100_000_000}
    assert torch.equal(found.checkpoint.tensors["t"], make(1).tensors["t"])


def test_a_checkpoint_replaces_one_of_the_same_step(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(5))
    (tmp_path / "step-00000005" / "state.json").write_text("{")
    checkpoints.save(make(5))
    assert checkpoints.load(5).state == {"step": 5}
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json", "digests.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped"])
def test_damage_is_noticed_and_the_one_before_is_used(tmp_path, name, damage):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(5))
    checkpoints.save(make(10))
    path = tmp_path / "step-00000010" / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        flipped = bytes([*content[:-3], content[-3] ^ 1, *content[-2:]])
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "flipped": flipped}[damage])
    found = checkpoints.newest()
    assert found.checkpoint.step == 5
    assert len(found.damaged) == 1
    assert "step-00000010" in found.damaged[0]


@pytest.mark.parametrize("moment", ["save_file", "_write_json", "digest", "flush"])
def test_a_save_that_fails_leaves_nothing(tmp_path, monkeypatch, moment):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(5))

    def failing(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, moment, failing)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(make(10))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]


def test_what_a_killed_save_left_is_swept(tmp_path):
    for name in (".writing-7", ".replaced-3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tensors.safetensors").write_bytes(b"half")
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.newest() == (None, [])
    checkpoints.save(make(7))
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000007"]


@pytest.mark.parametrize("name", [".writing-7", ".writing-8", ".replaced-7", "step-00000007"])
@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_a_plain_file_or_a_link_does_not_stand_in_the_way(tmp_path, name, kind):
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("kept")
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.folder.mkdir()
    path = checkpoints.folder / name
    if kind == "file":
        path.write_text("plain")
    else:
        path.symlink_to(other if kind == "link" else tmp_path / "nowhere")
    assert checkpoints.newest().checkpoint is None
    checkpoints.save(make(7))
    assert checkpoints.load(7).state == {"step": 7}
    checkpoints.save(make(9))
    checkpoints.prune([9])
    assert [one.name for one in checkpoints.folder.iterdir()] == ["step-00000009"]
    assert (other / "kept").read_text() == "kept"


def test_names_that_are_nearly_those_of_checkpoints_are_left_alone(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(8))
    others = ["step-0000000008", "step-8", "step-٠٠٠٠٠٠٠٩", "step-00000008.old"]
    for name in others:
        (tmp_path / name).mkdir()
    assert checkpoints.steps() == [8]
    checkpoints.prune([])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)


DAMAGE = {
    "digests nested deep": ("digests.json", "[" * 100_000),
    "digests of a list": ("digests.json", "[]"),
    "digests of numbers": ("digests.json", '{"tensors.safetensors": 3, "state.json": null}'),
    "digests not UTF-8": ("digests.json", b"\xff\xfe"),
    "a number of 5,000 digits": ("digests.json", "1" * 5000),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_digests_are_passed_over(tmp_path, damage):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(5))
    checkpoints.save(make(10))
    name, content = DAMAGE[damage]
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "step-00000010" / name).write_bytes(content)
    found = checkpoints.newest()
    assert (found.checkpoint.step, len(found.damaged)) == (5, 1)
    assert "step-00000010" in found.damaged[0]


def test_what_may_not_be_read_is_not_taken_for_damage(tmp_path, monkeypatch):
    """Else a run would begin anew, and remove what its owner could still make readable."""
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(5))

    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(module, "_digest", refused)
    message = (
        r"step-00000005 must be the run's to read and to write; it is not \(Permission denied\). Mend that and give"
    )
    with pytest.raises(DataError, match=message):
        checkpoints.newest()
    with pytest.raises(DataError, match=message):
        checkpoints.load(5)


def test_a_folder_that_cannot_be_written_to_is_noticed_before_there_is_something_to_lose(tmp_path, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda path, mode: False)
    with pytest.raises(DataError, match=r"must be the run's to read and to write; it is not \(Permission denied\)"):
        Checkpoints(tmp_path / "new").make()


@pytest.mark.parametrize("moment", ["steps", "save"])
def test_a_folder_of_checkpoints_that_is_none_is_named(tmp_path, moment):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.folder.write_text("")
    with pytest.raises(DataError, match=r"/checkpoints must be the run's to read and to write; it is not \("):
        checkpoints.steps() if moment == "steps" else checkpoints.save(make(3))


def test_a_folder_that_was_moved_away_is_not_made_again_unnoticed(tmp_path):
    with pytest.raises(FileNotFoundError):
        Checkpoints(tmp_path / "gone" / "checkpoints").save(make(3))
    assert not list(tmp_path.iterdir())


def test_pruning_keeps_what_is_named(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for step in (1, 2, 3):
        checkpoints.save(make(step))
    checkpoints.prune([1, 3, 99])
    assert checkpoints.steps() == [1, 3]


def test_no_pickle_is_loaded(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(make(5))
    torch.save({"a": 1}, tmp_path / "step-00000005" / "tensors.safetensors")
    digests = tmp_path / "step-00000005" / "digests.json"
    values = json.loads(digests.read_text())
    values["tensors.safetensors"] = module.digest(tmp_path / "step-00000005" / "tensors.safetensors")
    digests.write_text(json.dumps(values))
    with pytest.raises(DataError, match="must be a whole checkpoint; received SafetensorError"):
        checkpoints.load(5)


def test_streams_differ_by_rank_and_survive_json():
    seed_streams(3, 0)
    first = torch.rand(4)
    seed_streams(3, 1)
    assert not torch.equal(first, torch.rand(4))
    torch.randn(3), torch.rand(3)
    tensors, plain = capture_streams()
    expected = torch.randn(5)
    restore_streams(tensors, json.loads(json.dumps(plain)))
    assert torch.equal(torch.randn(5), expected)
