"""A real process, killed without warning at random moments, the middle of a save included, ends with the same bits."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.training.checkpoint import Checkpoints, read_tensors

PROGRAM = Path(__file__).with_name("copying.py")


def run(folder: Path, steps: int) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, str(PROGRAM), str(folder), str(steps)], stderr=subprocess.PIPE)


def finish(folder: Path, steps: int) -> dict[str, bytes]:
    process = run(folder, steps)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()
    return {name: one.numpy().tobytes() for name, one in read_tensors(folder / "final.safetensors").items()}


def kill_once(folder: Path, steps: int, draw: random.Random) -> str:
    """Kill a run at a random moment, or while a checkpoint is being written; say what was going on."""
    process = run(folder, steps)
    checkpoints, begun = Checkpoints(folder / "checkpoints"), time.monotonic()
    first = max(checkpoints.steps(), default=0)
    wanted = first + draw.randint(1, 6)
    while process.poll() is None and time.monotonic() - begun < 60 and max(checkpoints.steps(), default=0) < wanted:
        time.sleep(0.002)
    in_save = draw.random() < 0.7
    while in_save and process.poll() is None and not list(checkpoints.folder.glob(".writing-*/tensors*")):
        pass
    if not in_save:
        time.sleep(draw.random() * 0.01)
    process.kill()
    process.communicate()
    return "saving" if list(checkpoints.folder.glob(".writing-*")) else "between"


def kill_and_compare(tmp_path: Path, *, kills: int, steps: int, seed: int) -> list[str]:
    expected = finish(tmp_path / "whole", steps)
    draw = random.Random(seed)
    moments = [kill_once(tmp_path / "parts", steps, draw) for _ in range(kills)]
    assert not (tmp_path / "parts" / "final.safetensors").exists(), "the run was over before it was killed"
    assert finish(tmp_path / "parts", steps) == expected
    return moments


@pytest.mark.slow
def test_a_run_killed_many_times_ends_with_the_same_bits(tmp_path):
    moments = kill_and_compare(tmp_path, kills=4, steps=300, seed=2)
    assert "saving" in moments
