"""A stand-in for the kernel that reads keys by a table on a GPU: plain operations, and a count of its calls."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import _disable_current_modes

from regard.attention.kernels import few_queries


class TableKernel:
    """Gathers, unseen by whoever counts operations, as a kernel does without writing it anywhere."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, table: Tensor | None = None
    ) -> Tensor:
        assert table is not None
        self.calls += 1
        with _disable_current_modes():
            positions = torch.arange(key.size(2))
            key, value = (item.transpose(1, 2)[table, positions].transpose(1, 2) for item in (key, value))
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def stand_in(monkeypatch: pytest.MonkeyPatch) -> TableKernel:
    """Let it serve every call."""
    kernel = TableKernel()
    monkeypatch.setattr(few_queries, "attend", kernel)
    monkeypatch.setattr(few_queries, "refusal", lambda query, key: None)
    return kernel
