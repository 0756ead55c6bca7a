"""The fused additive kernel: in Triton's interpreter here, on a GPU where there is one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from regard import Additive, Padding, attention
from regard.errors import BackendError
from unit.attention.additive_interpreted import cases, compare

PROGRAM = Path(__file__).with_name("additive_interpreted.py")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_in_the_interpreter_it_agrees_with_the_reference() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert (done.returncode, done.stdout) == (0, "agrees\n"), done.stderr[-3000:]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "it runs on CUDA alone"),
        ({"dropout": 0.1}, "the kernel has no dropout"),
        ({"bias": torch.zeros(5, 7)}, "the kernel adds nothing to the scores"),
        ({"normalize": lambda scores, mask: scores}, "the kernel takes a softmax, not "),
        ({"score": Additive(torch.ones(6), activation="identity")}, "Additive is not the tanh layer"),
    ],
)
def test_it_says_why_it_refuses(options, reason) -> None:
    arguments = {"score": Additive(torch.ones(6))} | options
    with pytest.raises(BackendError, match=reason):
        attention(torch.ones(2, 5, 6), torch.ones(2, 7, 6), **arguments, backend="triton")


def test_wide_values_and_exact_numbers_are_refused() -> None:
    query, key = torch.ones(2, 5, 6), torch.ones(2, 7, 6)
    with pytest.raises(BackendError, match="values are wider than 512"):
        attention(query, key, torch.ones(2, 7, 513), score=Additive(torch.ones(6)), backend="triton")
    with pytest.raises(BackendError, match=r"the kernel computes in float32 or less, not torch\.float64"):
        attention(query.double(), key.double(), score=Additive(torch.ones(6).double()), backend="triton")


@pytest.mark.parametrize(("batch", "keys"), [(0, 7), (2, 0), (65_536, 1)])
def test_nothing_and_too_many_are_refused(batch, keys) -> None:
    query, key = torch.ones(batch, 1, 2), torch.ones(batch, keys, 2)
    with pytest.raises(BackendError, match="an axis is empty, or batch and heads have more than 65,535 elements"):
        attention(query, key, score=Additive(torch.ones(2)), backend="triton")


@pytest.mark.gpu
@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_on_a_gpu_it_agrees_with_the_reference(dtype) -> None:
    for name, options, tensors in cases():
        moved = {
            key: Padding(value.lengths.cuda()) if isinstance(value, Padding)
            else value.cuda() if isinstance(value, torch.Tensor) else value
            for key, value in options.items()
        }  # fmt: skip
        compare(name, moved, tuple(tensor.to("cuda", dtype) for tensor in tensors))
