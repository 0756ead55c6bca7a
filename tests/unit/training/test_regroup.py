"""A checkpoint of two processes resumes on one and on three; a worker that is killed restarts; nodes meet."""

import socket
import subprocess
import sys

import pytest
import torch

from regard.training.checkpoint import Checkpoints, read_tensors
from regard.training.regroup import Regrouping
from unit.training.test_group import PROGRAM, environment, torchrun

SHARD = pytest.mark.parametrize("shard", [[], ["shard"]], ids=["copies", "shards"])


@pytest.mark.parametrize(("before", "now"), [(2, 1), (2, 3), (3, 2), (8, 5), (1, 4)])
@pytest.mark.parametrize("batch", [0, 1, 7, 100])
def test_no_batch_is_left_out_and_few_come_again(before, now, batch):
    position = Regrouping(before=before, now=now, per_update=before).position({"epoch": 3, "batch": batch})
    assert position["epoch"] == 3
    assert 0 <= batch * before - position["batch"] * now < now


@pytest.mark.parametrize(
    ("together", "now", "said"),
    [
        (8, 2, "An update takes 8 batches, as before."),
        (8, 3, "An update takes 9 batches instead of 8, so that the result is another."),
        (2, 3, "An update takes 3 batches instead of 2, so that the result is another."),
    ],
)
def test_an_update_takes_as_many_batches_where_it_can(together, now, said):
    regrouping = Regrouping(before=together, now=now, per_update=together)
    assert regrouping.note() == f"The run was saved by {together} processes and goes on with {now}. {said}"


def test_a_state_that_is_carried_begins_the_next_epoch():
    regrouping = Regrouping(before=2, now=1, per_update=2)
    assert regrouping.position({"epoch": 3, "batch": 9}, carrying=True) == {"epoch": 4, "batch": 0}


def test_the_first_process_goes_on_with_the_sums_of_all():
    tallies = [{"loss": 1.0, "cross_entropy": 2.0, "tokens": 9.0}, {"loss": 3.0, "cross_entropy": 5.0, "tokens": 9.0}]
    first, second = (Regrouping(before=2, now=3, per_update=2).tally(tallies, rank) for rank in (0, 1))
    assert (first.loss, first.cross_entropy, first.tokens) == (4.0, 7.0, 9.0)
    assert (second.loss, second.cross_entropy, second.tokens) == (0.0, 0.0, 9.0)


def final(folder):
    return read_tensors(folder / "final.safetensors")


def run(processes, folder, *arguments, options=()):
    done = torchrun(processes, folder, *arguments, options=options)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
@SHARD
def test_two_processes_resume_on_one_and_on_three(tmp_path, shard):
    """On one, with the same updates: it accumulates what two computed side by side."""
    run(2, tmp_path / "whole", "plain", *shard)
    for now in (1, 3):
        folder = tmp_path / f"on-{now}"
        run(2, folder, "half", *shard)
        saved = Checkpoints(folder / "checkpoints").load(10)
        assert (saved.shards is not None) == bool(shard)
        assert saved.state["ranks"] == 2
        run(now, folder, "rest", *shard)
        assert f"saved by 2 processes and goes on with {now}." in (folder / "notes.txt").read_text()
        after = Checkpoints(folder / "checkpoints").load(20)
        assert (after.state["ranks"], after.state["per_update"]) == (now, 2)
        assert (after.shards is not None) == (bool(shard) and now > 1)
    expected, one, three = (final(tmp_path / name) for name in ("whole", "on-1", "on-3"))
    for name in expected:
        torch.testing.assert_close(one[name], expected[name], atol=1e-5, rtol=1e-5)
        assert three[name].isfinite().all()
        torch.testing.assert_close(three[name].float(), expected[name].float(), atol=0.2, rtol=0.2)  # larger updates


@pytest.mark.slow
@SHARD
def test_a_worker_that_is_killed_restarts_and_the_run_ends_with_the_same_bits(tmp_path, shard):
    run(2, tmp_path / "whole", "noisy", *shard)
    run(2, tmp_path / "killed", "die", *shard, options=["--max-restarts=1"])
    assert (tmp_path / "killed" / "died").exists()
    expected, received = final(tmp_path / "whole"), final(tmp_path / "killed")
    assert all(torch.equal(expected[name], received[name]) for name in expected)


@pytest.mark.slow
def test_two_nodes_train_as_two_processes_of_one(tmp_path):
    """Two agents of torchrun, as on two machines: each starts a process of its own, and they meet at an address."""
    run(2, tmp_path / "one", "noisy", "shard")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1", "--rdzv-id=test"]
    command += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--local-addr=127.0.0.1"]
    nodes = [
        subprocess.Popen(
            [*command, f"--node-rank={number}", str(PROGRAM), str(tmp_path / "two"), "noisy", "shard"],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for number in range(2)
    ]
    errors = [node.communicate(timeout=240)[1] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], errors
    expected, received = final(tmp_path / "one"), final(tmp_path / "two")
    assert all(torch.equal(expected[name], received[name]) for name in expected)
