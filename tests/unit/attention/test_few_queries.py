"""The kernel for few queries: in Triton's interpreter here, on a GPU where there is one; and what it refuses."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.attention import attention
from regard.attention.kernels import direct, few_queries
from regard.attention.mask import Causal, Dense, Harmless
from unit.attention.few_queries_interpreted import cases, compare

PROGRAM = Path(__file__).with_name("few_queries_interpreted.py")
triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")


@triton
def test_in_the_interpreter_it_agrees_with_attention_written_out() -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == len(list(cases()))


class _OnGpu(Tensor):
    """A tensor that claims to be on a GPU."""

    is_cuda = True  # type: ignore[assignment]


def on_gpu(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype).as_subclass(_OnGpu)


@triton
@pytest.mark.parametrize(
    ("query", "keys", "reason"),
    [
        (torch.zeros(1, 1, 1, 32), 4, "it needs a CUDA device and Triton"),
        (on_gpu(1, 1, 9, 32), 4, "it is for 1 to 8 queries; there are 9"),
        (on_gpu(1, 1, 1, 24), 4, "it is for heads of 16, 32, 64, 128 numbers; these have 24"),
        (on_gpu(1, 1, 1, 32, dtype=torch.float64), 4, "it adds up in float32"),
        (on_gpu(1, 1, 1, 32), 257, "it holds 256 keys at most; there are 257"),
        (on_gpu(1, 1, 1, 32), 0, "an axis is empty"),
        (on_gpu(1, 1, 1, 32), 256, None),
    ],
)
def test_what_it_does_not_serve_it_says(query: Tensor, keys: int, reason: str | None) -> None:
    assert few_queries.refusal(query, torch.zeros(1, 1, keys, query.size(-1))) == reason


def test_a_call_takes_it_where_nothing_but_keys_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU; here only which calls would."""
    taken: list[Tensor | None] = []

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        taken.append(mask)
        return query

    monkeypatch.setattr(few_queries, "attend", attend)
    monkeypatch.setattr(few_queries, "refusal", lambda query, key: None)
    query, key = torch.zeros(2, 3, 1, 16), torch.zeros(2, 3, 4, 16)
    allowed = torch.ones(2, 1, 1, 4, dtype=torch.bool)
    for mask in (None, Dense(allowed), Harmless(allowed[:1])):
        assert direct._attend_few(query, key, key, mask) is query
    for mask in (Causal(), Dense(allowed.expand(2, 3, 1, 4)), Dense(allowed[0, 0]), allowed):
        assert direct._attend_few(query, key, key, mask) is None
    assert [None if mask is None else mask.size(0) for mask in taken] == [None, 2, 1]


@pytest.mark.gpu
def test_on_a_gpu_it_agrees_and_is_what_a_call_takes(cuda: torch.device) -> None:
    for name, (query, key, value, mask, table) in cases("cuda"):
        assert compare((query, key, value, mask, table)) < 1e-5, name
        half = [item.bfloat16() for item in (query, key, value)]
        assert compare((*half, mask, table)) < 0.03, name
        if table is not None:
            continue
        own = None if mask is None else Dense(mask)
        with torch.no_grad():
            torch.testing.assert_close(
                attention(query, key, value, mask=own), few_queries.attend(query, key, value, mask)
            )
