"""The kernel for few queries in Triton's interpreter, in a process of its own: Triton asks for it when imported.

TRITON_INTERPRET=1 python few_queries_interpreted.py
"""

import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from regard.attention.kernels import few_queries
from regard.attention.normalize import Softmax, normalize

Case = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]


def cases(device: str = "cpu") -> Iterator[tuple[str, Case]]:
    """Give one query and several, odd lengths, masks of each sentence and of all, empty rows, NaN, tables of rows."""
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
        yield shape, (query, key, value, None, None)
        one_mask = torch.rand(1, 1, 1, keys, device=device) < 0.6
        yield f"{shape}, one mask", (query, key, value, one_mask, None)
        mask = torch.rand(batch, 1, 1, keys, device=device) < 0.6
        mask[0] = False
        outside = ~mask.transpose(-1, -2)  # batch 1 key 1
        yield f"{shape}, NaN", (query, *(item.masked_fill(outside, torch.nan) for item in (key, value)), mask, None)
        table = torch.randint(batch, (batch, keys), device=device)
        yield f"{shape}, a table", (query, key, value, None, table)
        yield f"{shape}, a table of int32", (query, key, value, None, table.int())
        spread = torch.full((batch, 2 * keys), -1, device=device)[:, ::2].copy_(table)
        yield f"{shape}, a table with strides", (query, key, value, None, spread)
        nowhere = table.masked_fill(~one_mask[0, 0], 2**40)  # what is masked is read neither here nor there
        yield f"{shape}, a table and a mask", (query, key, value, one_mask, nowhere)
        fewer = torch.randint(batch, (1, keys), device=device)
        yield f"{shape}, fewer rows than there are keys of", (query[:1], key, value, None, fewer)


def gathered(held: Tensor, table: Tensor | None) -> Tensor:
    """Look up each position by a loop."""
    if table is None:
        return held
    rows = [[held[min(row, len(held) - 1), :, key] for key, row in enumerate(line)] for line in table.tolist()]
    return torch.stack([torch.stack(line, dim=1) for line in rows])


def compare(case: Case) -> float:
    """Give the largest difference from attention written out in float64."""
    query, key, value, mask, table = case
    allowed = torch.ones(1, 1, 1, key.size(2), dtype=torch.bool, device=key.device) if mask is None else mask
    held_key, held_value = (gathered(item, table).double() for item in (key, value))
    held_key, held_value = (item.masked_fill(~allowed.transpose(-1, -2), 0.0) for item in (held_key, held_value))
    scores = query.double() @ held_key.mT / query.size(-1) ** 0.5
    expected = normalize(scores, allowed.expand_as(scores), Softmax()) @ held_value
    received = few_queries.attend(query, key, value, mask, table)
    assert received.shape == expected.shape
    assert received.dtype == query.dtype
    return float((received.double() - expected).abs().max())


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the interpreter computes what is masked too
    for name, case in cases():
        difference = compare(case)
        assert difference < 2e-6, (name, difference)
        print(name, difference)
