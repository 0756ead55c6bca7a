"""Two processes follow one with the same global batch, stop together, and go on together."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard.errors import ArgumentError
from regard.training.checkpoint import Checkpoints, read_tensors
from regard.training.group import Group, pick_device

pytestmark = pytest.mark.distributed
PROGRAM = Path(__file__).with_name("together.py")


def torchrun(processes: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}  # no outside network
    return subprocess.run(
        [*command, str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=environment,
    )


def test_two_processes_follow_one(tmp_path):
    for processes in (1, 2):
        done = torchrun(processes, tmp_path / str(processes), "plain")
        assert done.returncode == 0, done.stderr[-3000:]
    one, two = (read_tensors(tmp_path / str(count) / "final.safetensors") for count in (1, 2))
    for name in one:
        torch.testing.assert_close(one[name], two[name], atol=1e-5, rtol=1e-5)
    state = Checkpoints(tmp_path / "2" / "checkpoints").load(20).state
    assert (state["ranks"], state["run"]["step"]) == (2, 20)


@pytest.mark.slow
def test_two_processes_stop_and_go_on_with_the_same_bits(tmp_path):
    for mode, folder in (("noisy", "whole"), ("stop", "parts"), ("noisy", "parts")):
        done = torchrun(2, tmp_path / folder, mode)
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
    with pytest.raises(ArgumentError, match=r"`train.device` must be cpu, cuda or auto; received toaster."):
        pick_device("toaster")
    if not torch.cuda.is_available():
        assert pick_device("auto") == torch.device("cpu")
        with pytest.raises(ArgumentError, match=r"must be cpu where torch sees no GPU; received cuda."):
            pick_device("cuda")
