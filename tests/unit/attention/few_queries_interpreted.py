"""The kernel for few queries in Triton's interpreter, in a process of its own: Triton asks for it when imported.

TRITON_INTERPRET=1 python few_queries_interpreted.py
"""

import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from regard.attention.kernels import few_queries
from regard.attention.normalize import Softmax, normalize

Case = tuple[Tensor, Tensor, Tensor, Tensor | None]


def cases(device: str = "cpu") -> Iterator[tuple[str, Case]]:
    """Give one query and several, odd lengths, masks of each sentence and of all, empty rows, and NaN behind a mask."""
    torch.manual_seed(0)
    for batch, heads, queries, keys, size in (
        (3, 2, 1, 1, 16),
        (3, 2, 5, 16, 32),
        (2, 3, 3, 33, 64),
        (1, 1, 8, 7, 128),
    ):
        query = torch.randn(batch, queries, heads, size, device=device).transpose(1, 2)  # as a layer's heads lie
        key, value = (torch.randn(batch, keys, heads, size, device=device).transpose(1, 2) for _ in range(2))
        shape = f"{(batch, heads, queries, keys, size)}"
        yield shape, (query, key, value, None)
        yield f"{shape}, one mask", (query, key, value, torch.rand(1, 1, 1, keys, device=device) < 0.6)
        mask = torch.rand(batch, 1, 1, keys, device=device) < 0.6
        mask[0] = False
        outside = ~mask.transpose(-1, -2)  # batch 1 key 1
        yield f"{shape}, NaN", (query, *(item.masked_fill(outside, torch.nan) for item in (key, value)), mask)


def compare(case: Case) -> float:
    """Give the largest difference from attention written out in float64."""
    query, key, value, mask = case
    allowed = torch.ones(1, 1, 1, key.size(2), dtype=torch.bool, device=key.device) if mask is None else mask
    held_key, held_value = (item.double().masked_fill(~allowed.transpose(-1, -2), 0.0) for item in (key, value))
    scores = query.double() @ held_key.mT / query.size(-1) ** 0.5
    expected = normalize(scores, allowed.expand_as(scores), Softmax()) @ held_value
    received = few_queries.attend(query, key, value, mask)
    assert received.shape == expected.shape
    assert received.dtype == query.dtype
    return float((received.double() - expected).abs().max())


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the interpreter computes what is masked too
    for name, case in cases():
        difference = compare(case)
        assert difference < 2e-6, (name, difference)
        print(name, difference)
