"""The kernel of the word loss: in Triton's interpreter here, on a GPU where there is one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from regard.models.word_loss import word_loss
from unit.models.word_loss_interpreted import compare, compare_many

PROGRAM = Path(__file__).with_name("word_loss_interpreted.py")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_in_the_interpreter_it_agrees_with_torch() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert (done.returncode, done.stdout) == (0, "agrees\n"), done.stderr[-3000:]


@pytest.mark.gpu
def test_on_a_gpu_it_agrees_with_torch() -> None:
    compare("cuda")


@pytest.mark.gpu
def test_on_a_gpu_no_thread_reads_what_another_has_written_over() -> None:
    compare_many("cuda")


@pytest.mark.gpu
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_on_a_gpu_the_loss_is_that_of_the_cpu(r_drop: float) -> None:
    features, target = torch.randn(6, 9, 32), torch.randint(1, 301, (3, 9)).repeat(2, 1)
    target[:, 6:] = 0
    output = nn.Linear(32, 301)
    results = []
    for device in ("cpu", "cuda"):
        moved = output.to(device)
        inputs = (features.to(device).requires_grad_(), moved.weight, moved.bias)
        loss = word_loss(inputs[0], moved, target.to(device), smoothing=0.1, r_drop=r_drop)
        gradients = torch.autograd.grad(loss.total, inputs)
        results.append([item.cpu() for item in (loss.total, loss.cross_entropy, *gradients)])
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-3)
