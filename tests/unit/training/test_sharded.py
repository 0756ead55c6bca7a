"""Shards: parts of tensors in files that a stranger may have written."""

import json

import pytest
import torch
from safetensors.torch import save_file

from regard.errors import DataError
from regard.training.checkpoint import Checkpoint, Checkpoints
from regard.training.sharded import read_whole, save_shards, shard_names, shard_templates

NAMES = [f"shard-{number:05d}-model-00001-of-00001.safetensors" for number in (1, 2, 3)]


def write(folder, number, tensors, offsets):
    """Write a file as a process does: where in its tensor each part begins is in the head."""
    info = {name: {"saved_offsets": offset} for name, offset in offsets.items()}
    head = {"DCP_SHARDING_INFO": json.dumps(info), "DCP_VERSION": "1.0"}
    save_file(tensors, folder / NAMES[number], metadata=head)


def test_what_a_process_writes_is_read_whole(tmp_path):
    tensors = {"model/a": torch.arange(6.0).reshape(2, 3), "optimizer/0/exp_avg": torch.ones(4)}
    digests = save_shards(tensors, tmp_path, rank=0)
    assert list(digests) == [NAMES[0]]
    assert shard_names(tmp_path) == sorted(tensors)
    received = read_whole(tmp_path)
    assert all(torch.equal(received[name], item) for name, item in tensors.items())


def test_parts_of_several_processes_are_joined(tmp_path):
    whole = torch.arange(10.0).reshape(5, 2)
    write(tmp_path, 0, {"model/a": whole[:3].clone()}, {"model/a": [0, 0]})
    write(tmp_path, 1, {"model/a": whole[3:].clone()}, {"model/a": [3, 0]})
    assert torch.equal(read_whole(tmp_path)["model/a"], whole)


WRONG = {
    "far away": ([0, 10**15], r"must hold all of a, 1,000,000,000,000,003 numbers; received 6\."),
    "a hole": ([0, 5], r"must hold all of a, 8 numbers; received 6\."),
    "twice": ([0, 0], r"must hold all of a, 3 numbers; received 6\."),
    "before the beginning": ([0, -2], r"must hold"),
    "no number": ([0, "x"], r"must hold whole shards; received TypeError"),
}


@pytest.mark.parametrize(("offsets", "message"), WRONG.values(), ids=WRONG)
def test_parts_that_do_not_fill_a_tensor_take_no_memory(tmp_path, offsets, message):
    for number, offset in enumerate(offsets):
        write(tmp_path, number, {"a": torch.ones(3)}, {"a": [offset]})
    with pytest.raises(DataError, match=message):
        read_whole(tmp_path)


def test_other_damage_names_the_folder(tmp_path):
    write(tmp_path, 0, {"a": torch.ones(3)}, {})
    with pytest.raises(DataError, match=r"must hold whole shards; received KeyError: 'a'\."):
        read_whole(tmp_path)
    (tmp_path / NAMES[0]).write_bytes(b"{")
    with pytest.raises(DataError, match=r"must hold whole shards; received SafetensorError"):
        shard_names(tmp_path)


def test_shards_of_another_model_are_refused():
    model = torch.nn.Linear(2, 2)
    template = shard_templates(model, torch.optim.AdamW(model.parameters()))
    assert template("optimizer/1/exp_avg").shape == template("average/bias").shape == (2,)
    for name in ("model/other", "optimizer/2/exp_avg", "optimizer/x/exp_avg"):
        with pytest.raises(DataError, match=rf"must be those of the model; received {name}, which it has not\."):
            template(name)


@pytest.fixture
def saved(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.make()
    digests = save_shards({"model/a": torch.ones(3)}, checkpoints.prepare(5), rank=0)
    checkpoints.save(Checkpoint(5, {"b": torch.zeros(1)}, {"step": 5}), shards=digests)
    return checkpoints


def test_a_checkpoint_with_shards_is_whole_or_damaged(saved):
    assert set(saved.load(5).tensors) == {"b"}
    assert set(saved.load(5).whole().tensors) == {"b", "model/a"}
    folder = saved.load(5).shards
    content = (folder / NAMES[0]).read_bytes()
    (folder / NAMES[0]).write_bytes(content[:-1] + b"x")
    with pytest.raises(DataError, match=r"must have the checksum written beside it; received another\."):
        saved.load(5)
    (folder / NAMES[0]).write_bytes(content)
    (folder / NAMES[1]).write_bytes(content)  # which torch would read, too
    with pytest.raises(DataError, match=r"shards must hold the 1 files of digests\.json; received 2\."):
        saved.load(5)
    for name in NAMES[:2]:
        (folder / name).unlink()
    assert saved.newest().checkpoint is None
    assert len(saved.newest().damaged) == 1


def test_what_an_interrupted_save_left_is_swept(saved):
    left = saved.prepare(6)
    (left / NAMES[0]).write_bytes(b"half")
    assert saved.steps() == [5]
    saved.prepare(6)
    assert not list(left.iterdir())
