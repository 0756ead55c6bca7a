"""Two processes follow one with the same global batch, stop together, and go on together."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from regard.errors import ArgumentError
from regard.training.checkpoint import Checkpoints, read_tensors
from regard.training.group import Group, check_shared, pick_device

PROGRAM = Path(__file__).with_name("together.py")


def environment() -> dict[str, str]:
    return os.environ | {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}  # no outside network


def torchrun(
    processes: int, *arguments: object, options: Sequence[str] = (), program: Path = PROGRAM
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", *options]
    return subprocess.run(
        [*command, str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=environment(),
    )


@pytest.mark.slow
def test_two_processes_follow_one_with_copies_and_with_shards(tmp_path):
    for processes, name, *more in ((1, "plain1"), (2, "plain2"), (2, "shard2", "shard")):
        done = torchrun(processes, tmp_path / name, "plain", *more)
        assert done.returncode == 0, done.stderr[-3000:]
    one, *several = (read_tensors(tmp_path / name / "final.safetensors") for name in ("plain1", "plain2", "shard2"))
    for two in several:
        for name in one:
            torch.testing.assert_close(one[name], two[name], atol=1e-5, rtol=1e-5)
    alone, copies, shards = (
        Checkpoints(tmp_path / name / "checkpoints").load(20) for name in ("plain1", "plain2", "shard2")
    )
    assert (copies.state["ranks"], copies.state["run"]["step"]) == (2, 20)
    for name in (name for name in alone.tensors if not name.startswith("random")):  # the optimizer's memory too
        torch.testing.assert_close(shards.whole().tensors[name], alone.tensors[name], atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("shard", [[], ["shard"]], ids=["copies", "shards"])
def test_two_processes_stop_and_go_on_with_the_same_bits(tmp_path, shard):
    for mode, folder in (("noisy", "whole"), ("stop", "parts"), ("noisy", "parts")):
        done = torchrun(2, tmp_path / folder, mode, *shard)
        assert done.returncode == 0, done.stderr[-3000:]
    whole, parts = (read_tensors(tmp_path / name / "final.safetensors") for name in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_alone_a_group_changes_nothing():
    group = Group()
    assert group.leads
    assert group.sum([1.0, 2.0]) == [1.0, 2.0]
    assert group.gather_text("é") == ["é"]
    assert group.share_text("a") == "a"
    model = torch.nn.Linear(1, 1)
    assert group.wrap(model) is model


def test_devices_are_checked():
    assert pick_device("cpu") == torch.device("cpu")
    with pytest.raises(
        ArgumentError, match=r"`train.device` must be cpu, auto, or cuda where torch sees a GPU; received toaster."
    ):
        pick_device("toaster")
    if not torch.cuda.is_available():
        assert pick_device("auto") == torch.device("cpu")
        with pytest.raises(ArgumentError, match=r"must be cpu, auto, or cuda where torch sees a GPU; received cuda."):
            pick_device("cuda")


class Among(Group):
    """A process among others whose texts are known."""

    def gather_text(self, text: str) -> list[str]:
        return ["a" * 64, text]


def test_a_run_folder_that_nodes_do_not_share_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    (tmp_path / "config.toml").write_text("")
    check_shared(tmp_path / "config.toml", Group())
    for path in (tmp_path / "config.toml", tmp_path / "missing.toml"):
        message = r"`out` must be on a disk that all 2 processes share; process 1 does not read the \w+.toml that the"
        with pytest.raises(ArgumentError, match=message):
            check_shared(path, Among(rank=1, ranks=2))
