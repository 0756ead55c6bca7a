"""A few queries over a short memory, in Triton: one program for each head reads its keys and values once."""

import triton
import triton.language as tl


@triton.jit
def few_queries_kernel(
    query, key, value, mask, table, context, scale, heads, queries, keys,
    query_batch, query_head, query_row, key_batch, key_head, key_row, value_batch, value_head, value_row,
    mask_batch, mask_key, table_batch, table_key,
    MASKED: tl.constexpr, TABLE: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Attend with every query of one head of one batch element; `context` lies as (batch, query, head, size).

    With a table, each key and its value are read from the batch element that it names.
    """
    element = (tl.program_id(0) // heads).to(tl.int64)
    head = tl.program_id(0) % heads
    row, unit = tl.arange(0, BLOCK), tl.arange(0, SIZE)
    allowed = row < keys
    if MASKED:
        allowed = allowed & (tl.load(mask + element * mask_batch + row * mask_key, mask=allowed, other=0) != 0)
    holder = tl.zeros([BLOCK], tl.int64) + element
    if TABLE:
        holder = tl.load(table + element * table_batch + row * table_key, mask=allowed, other=0).to(tl.int64)
    offsets = (holder * key_batch + head * key_head + row * key_row)[:, None] + unit[None, :]
    held_key = tl.load(key + offsets, mask=allowed[:, None], other=0.0).to(tl.float32)
    offsets = (holder * value_batch + head * value_head + row * value_row)[:, None] + unit[None, :]
    held_value = tl.load(value + offsets, mask=allowed[:, None], other=0.0).to(tl.float32)
    for number in range(0, queries):
        own = tl.load(query + element * query_batch + head * query_head + number * query_row + unit).to(tl.float32)
        scores = tl.where(allowed, tl.sum(held_key * own[None, :], axis=1) * scale, float("-inf"))
        # what may not be attended to is left out of every sum: a row without keys has a sum of zero
        shares = tl.where(allowed, tl.exp(scores - tl.max(scores, axis=0)), 0.0)
        total = tl.sum(shares, axis=0)
        mixed = tl.sum(shares[:, None] * held_value, axis=0) / tl.where(total == 0.0, 1.0, total)
        at = ((element * queries + number) * heads + head) * SIZE + unit
        tl.store(context + at, mixed.to(context.dtype.element_ty))
