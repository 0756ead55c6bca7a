"""How the kernels of `additive_triton` are launched: what is allocated, in which tiles, and in how many portions."""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

#: Bytes that weights and gradients of scores may take at once in the backward pass.
SCRATCH = 12 << 20
#: Rows that share a limit; see `additive_triton.BLOCK`.
BLOCK = 64
#: Hidden units, queries and keys that one warp of the backward pass takes at once.
UNITS, ROWS, LANES = 4, 8, 32
#: Programs of one warp that fill a device.
ENOUGH = 1024
#: Differences of position that allow every pair.
ANY = 1 << 30


class Tile(NamedTuple):
    """How many queries and keys a program takes at once, its warps of threads, and how their registers are used."""

    queries: int
    keys: int
    warps: int
    ahead: bool = False
    """Whether the next hidden units are read before these are used."""
    registers: int | None = None
    """The most that a thread takes, for more of them to run at once."""

    @property
    def options(self) -> dict[str, Any]:
        """Give them as a kernel takes them."""
        sizes = {"BLOCK_QUERY": self.queries, "BLOCK_KEY": self.keys, "AHEAD": self.ahead}
        return sizes | {"num_warps": self.warps, "maxnreg": self.registers}


#: The quickest of those tried on an H200; see benchmarks/additive-h200.md.
TILES = {"forward": Tile(32, 64, 4, ahead=True), "wide": Tile(32, 64, 8), "weights": Tile(64, 64, 8)}
#: Registers of a thread in the backward pass.
REGISTERS = 128


class Masking(NamedTuple):
    """Who may attend to what: query i to key j where the mask says so, low ≤ j − i ≤ high and j < length."""

    mask: Tensor | None = None
    lengths: Tensor | None = None
    low: int = -ANY
    high: int = ANY

    @property
    def leaves_out(self) -> bool:
        """Return whether whole tiles are left out."""
        return self.lengths is not None or self.low > -ANY or self.high < ANY

    def dense(self, elements: int, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "..."] | None:
        """Give all of it as one mask that broadcasts to (element, query, key)."""
        if not self.leaves_out:
            return self.mask
        key = torch.arange(keys, device=device)
        apart = key - torch.arange(queries, device=device)[:, None]
        allowed = ((apart >= self.low) & (apart <= self.high)).expand(elements, queries, keys)
        if self.lengths is not None:
            lengths = self.lengths.repeat_interleave(elements // self.lengths.numel())
            allowed = allowed & (key < lengths[:, None, None])
        return allowed if self.mask is None else allowed & self.mask


class Call(NamedTuple):
    """The operands of one call: (element, row, size), a vector for each head in turn, and who may attend."""

    query: Float[Tensor, "element query size"]
    key: Float[Tensor, "element key size"]
    vector: Float[Tensor, "heads size"]
    value: Float[Tensor, "element key width"]
    masking: Masking
    seed: Tensor | None
    """Where dropout draws from: one integer on the device."""
    dropout: float

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Give the numbers of queries, keys, hidden units, and these rounded up to a multiple of `UNITS`."""
        size = self.query.size(2)
        return self.query.size(1), self.key.size(1), size, -(-size // UNITS) * UNITS


class Prepared(NamedTuple):
    """What the kernels read beside the operands: exponentials, hidden units in front, vectors, and limits."""

    query: Float[Tensor, "element padded a_stride"]
    key: Float[Tensor, "element padded b_stride"]
    vectors: Float[Tensor, "heads padded_and_four"]
    limits: Float[Tensor, "element blocks"]


def prepare(call: Call) -> Prepared:
    """Take exp(2q) and exp(2k) in float32."""
    from regard.attention.kernels.additive_triton import prepare_kernel

    queries, keys, size, padded = call.sizes
    elements, heads = call.query.size(0), call.vector.size(0)
    blocks = -(-queries // BLOCK) - (-keys // BLOCK)
    like = {"dtype": torch.float32, "device": call.query.device}
    a = torch.empty(elements, padded, -(-queries // 16) * 16, **like)
    b = torch.empty(elements, padded, -(-keys // BLOCK) * BLOCK, **like)
    vectors, limits = torch.empty(heads, padded + 4, **like), torch.empty(elements, blocks, **like)
    masking = call.masking
    prepare_kernel[blocks, elements](
        call.query, call.key, call.vector, a, b, limits, vectors, _or(masking.lengths, limits),
        queries, keys, size, padded, heads, a.size(2), b.size(2), masking.low, masking.high, _per_length(call),
        HAS_LENGTHS=masking.lengths is not None, BLOCK_SIZE=64,
    )  # fmt: skip
    return Prepared(a, b, vectors, limits)


def forward(call: Call, *, weighted: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Give context, log normalizer and, if asked for, the weights before dropout, else an empty tensor."""
    from regard.attention.kernels.additive_triton import forward_kernel

    ready, width = prepare(call), call.value.size(2)
    elements, queries = call.query.shape[:2]
    context = call.value.new_empty(elements, queries, width)
    normalizer = ready.limits.new_empty(elements, queries)
    tile = TILES["wide" if width > 256 else "forward"]
    forward_kernel[-(-queries // tile.queries), elements](
        *_operands(call, ready), call.value, context, normalizer, *_numbers(call, ready), **_flags(call),
        BLOCK_WIDTH=max(16, _power_of_two(width)), **tile.options,
    )  # fmt: skip
    return context, normalizer, weigh(call, ready, normalizer) if weighted else normalizer.new_empty(0)


class Arrived(NamedTuple):
    """Gradients of context, of weights and, by rows, of log normalizers; None where there is none."""

    context: Tensor
    weights: Tensor | None = None
    rows: Tensor | None = None


def weigh(call: Call, ready: Prepared, normalizer: Tensor) -> Float[Tensor, "element query key"]:
    """Give the weights, before dropout, in float32."""
    shape = (*call.query.shape[:2], call.key.size(1))
    result, nothing = normalizer.new_empty(shape), Arrived(normalizer)
    _weigh(call, ready, (normalizer, normalizer), nothing, (result, result), (0, shape[1]), slopes=False)
    return result


def _weigh(
    call: Call,
    ready: Prepared,
    outputs: tuple[Tensor, Tensor],
    arrived: Arrived,
    results: tuple[Tensor, Tensor],
    rows: tuple[int, int],
    *,
    slopes: bool = True,
) -> None:
    """Write the weights of some queries, from the first on, and the gradients of their scores."""
    from regard.attention.kernels.additive_triton import weights_kernel

    tile, (elements, row_stride, key_stride) = TILES["weights"], results[0].shape
    weights_kernel[-(-row_stride // tile.queries), -(-key_stride // tile.keys), elements](
        *_operands(call, ready), call.value, *outputs, arrived.context, _or(arrived.weights, ready.limits),
        _or(arrived.rows, ready.limits), *results, *_numbers(call, ready), *rows, row_stride, key_stride, **_flags(call),
        SLOPES=slopes, BY_WEIGHT=arrived.weights is not None, BY_ROW=arrived.rows is not None,
        BLOCK_WIDTH=64, **tile.options,
    )  # fmt: skip


def dropped(call: Call) -> Float[Tensor, "element query key"]:
    """Give what dropout multiplies each weight by: 0 or 1 / (1 − dropout)."""
    from regard.attention.kernels.additive_triton import dropout_kernel

    (elements, queries), keys, seed = call.query.shape[:2], call.key.size(1), call.seed
    factors = torch.empty(elements, queries, keys, dtype=torch.float32, device=call.query.device)
    dropout_kernel[-(-queries // 32), -(-keys // 32), elements](
        seed, factors, queries, keys, float(call.dropout), BLOCK_QUERY=32, BLOCK_KEY=32
    )
    return factors


def backward(call: Call, outputs: tuple[Tensor, Tensor], arrived: Arrived) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give the gradients of query, key, vector and value, from context and log normalizer and what arrived at them."""
    from regard.attention.kernels.additive_triton import finish_kernel, gradients_kernel

    ready, masking, value = prepare(call), call.masking, call.value
    by_normalizer = arrived.rows
    if arrived.weights is not None:  # each row's sum of weights times their gradients
        product = (weigh(call, ready, outputs[1]) * arrived.weights).sum(-1)
        arrived = arrived._replace(rows=-product if arrived.rows is None else arrived.rows - product)
    (elements, queries, size), (_, padded, b_stride) = call.query.shape, ready.key.shape
    keys, heads = call.key.size(1), call.vector.size(0)
    step = _portion(call, b_stride)
    row_splits, key_splits = _splits(elements * padded // UNITS, step, keys)
    zero = masking.leaves_out
    sums = torch.zeros if zero else torch.empty
    like = {"dtype": torch.float32, "device": value.device}
    by_key = sums(row_splits, elements, padded, b_stride, **like)
    by_vector = sums(row_splits * key_splits, elements, padded, **like)
    row_stride = -(-step // 16) * 16
    by_query = torch.empty(key_splits, elements, padded, row_stride, **like)
    shares, slopes = (value.new_empty(elements, row_stride, b_stride) for _ in ("weights", "slopes"))
    results = torch.empty_like(call.query), torch.empty_like(call.key), torch.empty_like(call.vector)
    by_value: Tensor | None = None
    for start in range(0, queries, step):
        rows, last = min(step, queries - start), start + step >= queries
        _weigh(call, ready, outputs, arrived, (shares, slopes), (start, rows))
        part = shares[:, :rows, :keys].mT @ arrived.context[:, start : start + rows]
        by_value = part if by_value is None else by_value + part
        gradients_kernel[padded // UNITS, row_splits * key_splits, elements](
            ready.query, ready.key, call.query, call.key, ready.limits, _or(masking.lengths, ready.limits),
            slopes, by_query, by_key, by_vector, *_numbers(call, ready)[:6], _per_length(call),
            masking.low, masking.high, start, rows, row_stride, _share(rows, row_splits, ROWS),
            _share(keys, key_splits, BLOCK), key_splits, int(start == 0 and not zero),
            HAS_LENGTHS=masking.lengths is not None, FAST=value.is_cuda,
            ROWS=ROWS, LANES=LANES, UNITS=UNITS, num_warps=1, maxnreg=REGISTERS,
        )  # fmt: skip
        finish_kernel[-(-rows // BLOCK) + (-(-keys // BLOCK) if last else 0), elements](
            by_query, by_key, by_vector, ready.vectors, *results,
            queries, keys, size, padded, heads, row_stride, b_stride, start, rows, key_splits, row_splits, int(last),
            BLOCK_SIZE=64,
        )  # fmt: skip
    assert by_value is not None
    if by_normalizer is not None:  # then the slopes of a row do not sum to zero, and the 1 of the tanh counts
        whole = by_normalizer.masked_fill(outputs[1] == -torch.inf, 0.0).sum(-1)
        results[2].add_(whole.view(-1, heads).sum(0)[:, None])
    return *results, by_value


def _portion(call: Call, b_stride: int) -> int:
    """Return how many queries the backward pass takes at once: all, or equal portions within `SCRATCH`."""
    queries = call.query.size(1)
    needed = 2 * call.value.element_size() * call.query.size(0) * b_stride * queries
    blocks = -(-queries // BLOCK)
    return min(queries, -(-blocks // min(blocks, max(1, -(-needed // SCRATCH)))) * BLOCK)


def _splits(programs: int, rows: int, keys: int) -> tuple[int, int]:
    """Return into how many parts queries and keys are split, so that there are programs enough."""
    row_splits = min(2, -(-rows // ROWS)) if programs < ENOUGH else 1
    wanted = ENOUGH // max(1, programs * row_splits)
    return row_splits, max(1, min(wanted, keys // (4 * BLOCK), 4))


def _share(count: int, splits: int, step: int) -> int:
    return -(-count // (splits * step)) * step


def _or(tensor: Tensor | None, other: Tensor) -> Tensor:
    return other if tensor is None else tensor


def _per_length(call: Call) -> int:
    lengths = call.masking.lengths
    return 1 if lengths is None else call.query.size(0) // lengths.numel()


def _operands(call: Call, ready: Prepared) -> tuple[Tensor, ...]:
    """Give the tensors that both score kernels start with."""
    mask, lengths = call.masking.mask, call.masking.lengths
    mask = ready.limits if mask is None else mask.view(torch.uint8)
    others = ready.vectors, ready.limits, _or(lengths, ready.limits), mask, _or(call.seed, ready.limits)
    return ready.query, ready.key, call.query, call.key, *others


def _numbers(call: Call, ready: Prepared) -> tuple[Any, ...]:
    """Give the sizes and strides that both score kernels take."""
    mask = call.masking.mask
    strides = (0, 0, 0) if mask is None else mask.stride()
    return (
        *call.sizes, ready.query.size(2), ready.key.size(2), call.value.size(2), call.vector.size(0),
        _per_length(call), call.masking.low, call.masking.high, *strides, float(call.dropout),
    )  # fmt: skip


def _flags(call: Call) -> dict[str, bool]:
    return {
        "HAS_LENGTHS": call.masking.lengths is not None,
        "HAS_MASK": call.masking.mask is not None,
        "HAS_DROPOUT": call.dropout > 0,
        "FAST": call.value.is_cuda,
    }


def _power_of_two(number: int) -> int:
    return 1 << max(0, math.ceil(math.log2(number)))
