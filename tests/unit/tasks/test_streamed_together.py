"""A corpus that is not held in memory trains the same model in several processes as one that is."""

from pathlib import Path

import pytest
import torch

from regard.training.checkpoint import read_tensors
from unit.scale.tiny import write_pairs
from unit.training.test_group import torchrun

PROGRAM = Path(__file__).with_name("streamed_together.py")


@pytest.mark.slow
def test_two_processes_stream_a_corpus_as_they_hold_it(tmp_path):
    source, target = write_pairs(tmp_path, 400)
    for name, in_memory in (("held", 10_000), ("streamed", 50)):
        done = torchrun(2, source, target, tmp_path / name, in_memory, program=PROGRAM)
        assert done.returncode == 0, done.stderr[-3000:]
    held, streamed = (read_tensors(tmp_path / name / "model" / "model.safetensors") for name in ("held", "streamed"))
    assert all(torch.equal(held[name], streamed[name]) for name in held)
