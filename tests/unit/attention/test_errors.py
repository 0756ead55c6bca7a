"""Every message of the operator, word for word and number for number."""

import ast
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

import regard
from regard import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Concat,
    Cosine,
    Documents,
    Dot,
    Entmax,
    Gaussian,
    GaussianWindow,
    Location,
    Padding,
    RelativeBias,
    RelativeBuckets,
    Rotary,
    ScaledDot,
    ScoreMod,
    Shaw,
    Sink,
    Softcap,
    Softmax,
    Window,
    attention,
    explain_backend,
    from_torch_mha,
    lookup,
    merge,
)
from regard.attention import Mask, Normalizer, Position, Score, frequencies
from regard.attention.kernels.reference import Attended
from regard.attention.score_function import ChangedScore
from regard.errors import ArgumentError, ArgumentTypeError, BackendError, RegardError

pytestmark = pytest.mark.usefixtures("unchecked")

query, key, value = torch.zeros(2, 5, 4), torch.zeros(2, 7, 4), torch.zeros(2, 7, 3)
heads = torch.zeros(2, 6, 5, 4), torch.zeros(2, 3, 7, 4)
ones = torch.ones


def call(**arguments: Any) -> Callable[[], Any]:
    return lambda: attention(query, key, value, **arguments)


def ask(*tensors: Any, **arguments: Any) -> Callable[[], Any]:
    return lambda: attention(*tensors, **arguments)


def places(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.long)


def mine(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT


class NoMask(Mask):
    pass


class NoScore(Score):
    pass


PLAIN = ScaledDot()


@dataclass(frozen=True, eq=False)
class NoChange(ChangedScore):
    score: Score = PLAIN
    first: int = 0


class NoNormalizer(Normalizer):
    pass


CHECKED = jaxtyping.config.jaxtyping_disable
jaxtyping.config.update("jaxtyping_disable", True)  # while the wrong arguments below are made

#: What is done, what is raised, and what it says.
MESSAGES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    # the three tensors
    (ask([1.0], key), ArgumentTypeError, "`query` must be a tensor; received list."),
    (ask(query, None), ArgumentTypeError, "`key` must be a tensor; received NoneType."),
    (ask(query, key, 3), ArgumentTypeError, "`value` must be a tensor; received int."),
    (
        ask(torch.zeros(4), key),
        ArgumentError,
        "`query` must have at least two axes, (length, width); received shape (4,). One vector is a sequence of one: "
        "x[None, :].",
    ),
    (
        ask(query, places(2, 7, 4)),
        ArgumentTypeError,
        "`key` must hold floating-point numbers; received torch.int64.",
    ),
    (
        ask(query, key.double()),
        ArgumentTypeError,
        "`query`, `key` and `value` must have one dtype; received torch.float32, torch.float64 and torch.float64.",
    ),
    (
        ask(query, key.to("meta"), value),
        ArgumentError,
        "`query`, `key` and `value` must be on one device; received cpu, meta and cpu.",
    ),
    (
        ask(query, key, torch.zeros(2, 9, 4)),
        ArgumentError,
        "`key` and `value` must have the same length, one value per key; received 7 keys and 9 values.",
    ),
    (
        ask(query, torch.zeros(3, 7, 4)),
        ArgumentError,
        "the leading axes of `query`, `key` and `value` must agree or be 1; received shapes (2, 5, 4), (3, 7, 4), "
        "(3, 7, 4).",
    ),
    (
        ask(*heads),
        ArgumentError,
        "the leading axes of `query`, `key` and `value` must agree or be 1; received shapes (2, 6, 5, 4), "
        "(2, 3, 7, 4), (2, 3, 7, 4). To share 3 key-value heads among 6 query heads, pass grouped=True.",
    ),
    (
        ask(heads[1], heads[0], grouped=True),
        ArgumentError,
        "with grouped=True, the heads of `query` must be a multiple of those of `key`; received 3 and 6. Shapes are "
        "(batch, heads, length, width).",
    ),
    (
        ask(heads[0], heads[1], torch.zeros(2, 4, 7, 4), grouped=True),
        ArgumentError,
        "with grouped=True, the heads of `query` must be a multiple of those of `value`; received 6 and 4. Shapes are "
        "(batch, heads, length, width).",
    ),
    (
        ask(query[0], key[0], grouped=True),
        ArgumentError,
        "with grouped=True, the heads of `query` must be a multiple of those of `key`; received no and no. Shapes are "
        "(batch, heads, length, width).",
    ),
    # kinds of argument
    (
        call(score=Dot),
        ArgumentTypeError,
        "`score` must be a score such as ScaledDot() or a function; received the class Dot. Write Dot(…).",
    ),
    (
        call(score="dot"),
        ArgumentTypeError,
        "`score` must be a score such as ScaledDot() or a function; received str.",
    ),
    (
        call(normalize=Softmax),
        ArgumentTypeError,
        "`normalize` must be a normalizer such as Softmax() or a function; received the class Softmax. Write "
        "Softmax(…).",
    ),
    (
        call(position=Rotary),
        ArgumentTypeError,
        "`position` must be a position such as Rotary() or None; received the class Rotary. Write Rotary(…).",
    ),
    (
        call(position=places(5)),
        ArgumentTypeError,
        "`position` must be a position such as Rotary() or None; received Tensor.",
    ),
    (call(dropout=1.5), ArgumentError, "`dropout` must be a probability between 0 and 1; received 1.5."),
    (call(dropout=float("nan")), ArgumentError, "`dropout` must be a probability between 0 and 1; received nan."),
    # masks and biases
    (call(mask=Causal), ArgumentTypeError, "`mask` must be a mask; received the class Causal. Write Causal(…)."),
    (call(mask=[True]), ArgumentTypeError, "`mask` must be a boolean tensor or a mask; received list."),
    (lambda: Causal() & 3, ArgumentTypeError, "`mask` must be a boolean tensor or a mask; received int."),
    (
        call(mask=ones(5, 7)),
        ArgumentTypeError,
        "`mask` must be boolean, True where a query may attend; received torch.float32. Numbers to add to the scores "
        "go into `bias`; for a mask of ones and zeros write mask.bool().",
    ),
    (
        call(mask=places(5, 7)),
        ArgumentTypeError,
        "`mask` must be boolean, True where a query may attend; received torch.int64. Write mask.bool().",
    ),
    (
        call(mask=ones(2, 7, dtype=torch.bool)),
        ArgumentError,
        "`mask` must broadcast to (batch, query, key) = (2, 5, 7); received (2, 7). A padding mask needs a query axis: "
        "`mask[:, None, :]`.",
    ),
    (
        ask(heads[1], heads[1], mask=ones(2, 7, dtype=torch.bool)),
        ArgumentError,
        "`mask` must broadcast to (batch, heads, query, key) = (2, 3, 7, 7); received (2, 7). A padding mask needs a "
        "query axis: `mask[:, None, None, :]`.",
    ),
    (
        ask(heads[1], heads[1], mask=ones(2, 7, 7, dtype=torch.bool)),
        ArgumentError,
        "`mask` must broadcast to (batch, heads, query, key) = (2, 3, 7, 7); received (2, 7, 7). Give it 4 axes, of "
        "size one where it does not vary, or the last two alone.",
    ),
    (
        ask(query[0], key[0], mask=~(Causal() & ones(6, 7, dtype=torch.bool))),
        ArgumentError,
        "`mask` must broadcast to (query, key) = (5, 7); received (6, 7).",
    ),
    (
        ask(heads[1][None], heads[1][None], mask=Causal() | ones(7, dtype=torch.bool)),
        ArgumentError,
        "`mask` must broadcast to (*batch, query, key) = (1, 2, 3, 7, 7); received (7,).",
    ),
    (call(bias=1.0), ArgumentTypeError, "`bias` must be a tensor; received float."),
    (
        call(bias=ones(5, 7, dtype=torch.bool)),
        ArgumentTypeError,
        "`bias` must hold numbers to add to the scores; received torch.bool. True where a query may attend goes into "
        "`mask`.",
    ),
    (call(bias=places(5, 7)), ArgumentTypeError, "`bias` must hold floating-point numbers; received torch.int64."),
    (
        call(bias=ones(4, 5, 7)),
        ArgumentError,
        "`bias` must broadcast to (batch, query, key) = (2, 5, 7); received (4, 5, 7).",
    ),
    (
        lambda: Window(-1, 0),
        ArgumentError,
        "`left` of Window must be zero or more; received -1. None means no limit on that side.",
    ),
    (
        lambda: Window(0, -2),
        ArgumentError,
        "`right` of Window must be zero or more; received -2. None means no limit on that side.",
    ),
    (lambda: Causal(align="middle"), ArgumentError, '`align` must be "end" or "start"; received "middle".'),
    (
        lambda: Window(1, 1, align="left"),
        ArgumentError,
        '`align` must be "end" or "start"; received "left".',
    ),
    (lambda: Padding([3, 4]), ArgumentTypeError, "`lengths` must be a tensor of integers; received list."),
    (
        lambda: Padding(ones(2)),
        ArgumentTypeError,
        "`lengths` must be a tensor of integers; received torch.float32.",
    ),
    (
        call(mask=Padding(places(3))),
        ArgumentError,
        "`lengths` must speak of the batch on axis 0, 2; received shape (3,). Axis 0 of query and key is the batch.",
    ),
    (
        ask(query[0], key[0], mask=Padding(places(1))),
        ArgumentError,
        "`lengths` must speak of the batch on axis 0, no batch axis; received shape (1,). Axis 0 of query and key is "
        "the batch.",
    ),
    (
        call(mask=Padding(places(2, 3))),
        ArgumentError,
        "`lengths` must speak of the batch on axis 0, 2; received shape (2, 3). Axis 0 of query and key is the batch.",
    ),
    (lambda: Documents(ones(5)), ArgumentTypeError, "`ids` must be a tensor of integers; received torch.float32."),
    (
        lambda: Documents(places(5), ones(7, dtype=torch.bool)),
        ArgumentTypeError,
        "`key_ids` must be a tensor of integers; received torch.bool.",
    ),
    (
        call(mask=Documents(places(5))),
        ArgumentError,
        "`key_ids` of Documents must name 7 positions; received shape (5,). Where queries and keys differ in number, "
        "give `ids` for the queries and `key_ids` for the keys.",
    ),
    (
        call(mask=Documents(places(2, 6), places(7))),
        ArgumentError,
        "`ids` of Documents must name 5 positions; received shape (2, 6). Where queries and keys differ in number, "
        "give `ids` for the queries and `key_ids` for the keys.",
    ),
    (
        call(mask=Documents(places(3, 5), places(7))),
        ArgumentError,
        "`ids` must speak of the batch on axis 0, 2; received shape (3, 5). Axis 0 of query and key is the batch.",
    ),
    (
        call(mask=Causal(positions=places(6))),
        ArgumentError,
        "`positions` must name 5 positions; received shape (6,).",
    ),
    (
        call(mask=Window(1, 1, positions=places(3, 5))),
        ArgumentError,
        "`positions` must speak of the batch on axis 0, 2; received shape (3, 5). Axis 0 of query and key is the "
        "batch.",
    ),
    (
        call(mask=Causal(positions=torch.zeros(5))),
        ArgumentTypeError,
        "`positions` must be a tensor of integers; received torch.float32.",
    ),
    (from_torch_mha, ArgumentError, "`mask` or `key_padding_mask` must be given; received neither."),
    (
        lambda: from_torch_mha(ones(6, 5, 7, dtype=torch.bool)),
        ArgumentError,
        "`num_heads` must divide the first axis of a three-axis mask, 6; received None.",
    ),
    (
        lambda: from_torch_mha(ones(6, 5, 7, dtype=torch.bool), num_heads=4),
        ArgumentError,
        "`num_heads` must divide the first axis of a three-axis mask, 6; received 4.",
    ),
    (
        lambda: from_torch_mha(ones(6, 5, 7, dtype=torch.bool), num_heads=0),
        ArgumentError,
        "`num_heads` must divide the first axis of a three-axis mask, 6; received 0.",
    ),
    (
        lambda: from_torch_mha(ones(5, 7)),
        ArgumentTypeError,
        "`mask` must be boolean; received torch.float32. A float mask of nn.MultiheadAttention is added to the scores: "
        "pass it to `attention` as `bias`.",
    ),
    (
        lambda: from_torch_mha(key_padding_mask=ones(2, 7)),
        ArgumentTypeError,
        "`key_padding_mask` must be boolean; received torch.float32. A float mask of nn.MultiheadAttention is added to "
        "the scores: pass it to `attention` as `bias`.",
    ),
    # scores
    (
        ask(query, torch.zeros(2, 7, 6)),
        ArgumentError,
        "`query` and `key` must have the same width for ScaledDot; received 4 and 6. For unequal widths use "
        "Bilinear(matrix) or Concat(matrix, vector).",
    ),
    (
        call(score=Bilinear(ones(4, 5))),
        ArgumentError,
        "`matrix` must have shape (query width, key width) = (4, 4), or (heads, …) before it; received (4, 5).",
    ),
    (
        call(score=Bilinear(ones(1, 2, 4, 4))),
        ArgumentError,
        "`matrix` must have shape (query width, key width) = (4, 4), or (heads, …) before it; received (1, 2, 4, 4).",
    ),
    (call(score=Bilinear([[1.0]])), ArgumentTypeError, "`matrix` must be a tensor; received list."),
    (
        call(score=Bilinear(ones(3, 4, 4))),
        ArgumentError,
        "`matrix` speaks of 3 heads, so the third axis from the end of query and key must be 3; received 2. Shapes are "
        "(batch, heads, length, width).",
    ),
    (
        ask(query[0], key[0], score=Additive(ones(3, 4))),
        ArgumentError,
        "`vector` speaks of 3 heads, so the third axis from the end of query and key must be 3; received no such axis. "
        "Shapes are (batch, heads, length, width).",
    ),
    (
        call(score=Additive(ones(5))),
        ArgumentError,
        "`vector` must have shape (width,) = (4,), or (heads, …) before it; received (5,).",
    ),
    (
        lambda: Additive(ones(4), activation="tahn"),
        ArgumentError,
        '`activation` must be "tanh" or "identity"; received "tahn". Did you mean tanh?',
    ),
    (
        call(score=Concat(ones(6, 9), ones(6))),
        ArgumentError,
        "`matrix` must have shape (hidden, query width + key width) = (6, 8), or (heads, …) before it; received "
        "(6, 9).",
    ),
    (
        call(score=Concat(ones(6, 8), ones(5))),
        ArgumentError,
        "`vector` must have shape (hidden,) = (6,), or (heads, …) before it; received (5,).",
    ),
    (
        call(score=Concat(ones(8), ones(1))),
        ArgumentError,
        "`matrix` must have shape (hidden, query width + key width) = (1, 8), or (heads, …) before it; received (8,).",
    ),
    (
        call(score=Location(ones(3, 9))),
        ArgumentError,
        "`matrix` must have shape (query width, longest source) = (4, 9), or (heads, …) before it; received (3, 9).",
    ),
    (
        call(score=Location(ones(4, 6))),
        ArgumentError,
        "`key` must have at most 6 positions, the longest source of Location; received 7. Use a wider matrix or a "
        "shorter source.",
    ),
    (lambda: Gaussian(0.0), ArgumentError, "`bandwidth` must be positive; received 0.0."),
    (lambda: Cosine(-1), ArgumentError, "`temperature` must be positive; received -1."),
    (
        call(score=ScaledDot(ones(4))),
        ArgumentError,
        "`scale` must be a number or broadcast to (*batch, query, 1) = (2, 5, 1); received (4,). For a number per head "
        "write scale.view(-1, 1, 1).",
    ),
    (
        call(score=Gaussian(ones(2, 5, 7))),
        ArgumentError,
        "`bandwidth` must be a number or broadcast to (*batch, query, 1) = (2, 5, 1); received (2, 5, 7). For a number "
        "per head write bandwidth.view(-1, 1, 1).",
    ),
    (
        call(score=Cosine(ones(1, 2, 1, 1))),
        ArgumentError,
        "`temperature` must be a number or broadcast to (*batch, query, 1) = (2, 5, 1); received (1, 2, 1, 1). For a "
        "number per head write temperature.view(-1, 1, 1).",
    ),
    (
        call(score=lambda q, k: q),
        ArgumentError,
        "`score` must return one score per pair, (*batch, query, key) = (…, 5, 7); received (2, 5, 4).",
    ),
    (
        call(score=lambda q, k: ones(3, 5, 7)),
        ArgumentError,
        "`score` must return scores of shape (*batch, query, key) = (2, 5, 7); received (3, 5, 7).",
    ),
    # normalizers
    (
        lambda: Entmax(1.0),
        ArgumentError,
        "`alpha` of Entmax must be in (1, 2]; received 1.0. Alpha 1 is Softmax(), alpha 2 Sparsemax().",
    ),
    (
        lambda: Entmax(2.5),
        ArgumentError,
        "`alpha` of Entmax must be in (1, 2]; received 2.5. Alpha 1 is Softmax(), alpha 2 Sparsemax().",
    ),
    (
        call(normalize=lambda scores, mask: scores.sum(-1)),
        ArgumentError,
        "`normalize` must return weights of the scores' shape (2, 5, 7); received (2, 5).",
    ),
    # positions
    (
        ask(query[..., :3], key[..., :3], position=Rotary()),
        ArgumentError,
        "`query` must have an even number of features to rotate, at most its width 3; received 3. Choose an even "
        "width, "
        "or Rotary(size=…) to turn the first few.",
    ),
    (
        call(position=Rotary(size=6)),
        ArgumentError,
        "`query` must have an even number of features to rotate, at most its width 4; received 6. Choose an even "
        "width, "
        "or Rotary(size=…) to turn the first few.",
    ),
    (
        ask(query, torch.zeros(2, 7, 5), value, score=Bilinear(ones(4, 5)), position=Rotary()),
        ArgumentError,
        "`key` must have an even number of features to rotate, at most its width 5; received 5. Choose an even width, "
        "or Rotary(size=…) to turn the first few.",
    ),
    (
        lambda: Rotary(layout="interleaved"),
        ArgumentError,
        '`layout` of Rotary must be "pairs" or "halves"; received "interleaved". Choose one of pairs, halves.',
    ),
    (
        call(position=Rotary(query_positions=places(1))),
        ArgumentError,
        "`query_positions` must name 5 positions; received shape (1,).",
    ),
    (
        call(position=Rotary(key_positions=places(3, 7))),
        ArgumentError,
        "`key_positions` must speak of the batch on axis 0, 2; received shape (3, 7). Axis 0 of query and key is the "
        "batch.",
    ),
    (
        call(position=RelativeBias(table=ones(3), key_positions=torch.zeros(7))),
        ArgumentTypeError,
        "`key_positions` must be a tensor of integers; received torch.float32.",
    ),
    (lambda: Alibi.of_heads(0), ArgumentError, "`num_heads` must be at least 1; received 0."),
    (call(position=Alibi(slopes=[0.5])), ArgumentTypeError, "`slopes` must be a tensor; received list."),
    (
        call(position=Alibi(slopes=ones(2, 1))),
        ArgumentError,
        "`slopes` of Alibi must be one number or one per head; received shape (2, 1).",
    ),
    (
        call(position=Alibi.of_heads(3)),
        ArgumentError,
        "`slopes` speaks of 3 heads, so the third axis from the end of query and key must be 3; received 2. Shapes are "
        "(batch, heads, length, width).",
    ),
    (call(position=RelativeBias(table=[1.0])), ArgumentTypeError, "`table` must be a tensor; received list."),
    (
        call(position=RelativeBias(table=ones(4))),
        ArgumentError,
        "`table` of RelativeBias must have shape (2·reach + 1,) or (heads, 2·reach + 1); received (4,).",
    ),
    (
        call(position=RelativeBias(table=ones(3, 5))),
        ArgumentError,
        "`table` speaks of 3 heads, so the third axis from the end of query and key must be 3; received 2. Shapes are "
        "(batch, heads, length, width).",
    ),
    (
        call(position=Shaw(keys=ones(3, 4)), score=Gaussian()),
        ArgumentError,
        "`score` must be linear in the key for Shaw (Dot, ScaledDot or Bilinear); received Gaussian. RelativeBias goes "
        "with every score.",
    ),
    (
        call(position=Shaw(keys=ones(3, 4)), score=torch.add),
        ArgumentError,
        "`score` must be linear in the key for Shaw (Dot, ScaledDot or Bilinear); received add. RelativeBias goes with "
        "every score.",
    ),
    (
        call(position=Shaw(keys=ones(4, 4))),
        ArgumentError,
        "`keys` of Shaw must have shape (2·reach + 1, key width 4); received (4, 4).",
    ),
    (
        call(position=Shaw(keys=ones(3, 4), values=ones(3, 4))),
        ArgumentError,
        "`values` of Shaw must have shape (2·reach + 1, value width 3); received (3, 4).",
    ),
    (call(position=Shaw(keys=None)), ArgumentTypeError, "`keys` must be a tensor; received NoneType."),
    (
        lambda: GaussianWindow(center=ones(5), half_width=0),
        ArgumentError,
        "`half_width` must be positive; received 0.",
    ),
    (
        lambda: GaussianWindow(center=ones(5), half_width=1, query_positions=places(5)),
        ArgumentError,
        "`query_positions` of GaussianWindow must be None: `center` is where each query attends.",
    ),
    (
        call(position=GaussianWindow(center=ones(5), half_width=1)),
        ArgumentError,
        "`center` of GaussianWindow must broadcast to (*batch, query) = (2, 5); received (5,).",
    ),
    (
        call(position=GaussianWindow(center=3.0, half_width=1)),
        ArgumentTypeError,
        "`center` must be a tensor; received float.",
    ),
    # backends
    (
        call(backend="sdap"),
        ArgumentError,
        '`backend` must be None or one of reference, sdpa, flex, chunked, triton; received "sdap". Did you mean sdpa?',
    ),
    (
        call(backend=3),
        ArgumentError,
        '`backend` must be None or one of reference, sdpa, flex, chunked, triton; received "3". Choose one of '
        "reference, sdpa, flex, chunked, triton.",
    ),
    # the soft dictionary
    (lambda: lookup("c", ["a"], ["b"]), KeyError, "'c'"),
    (lambda: lookup(ones(1), torch.zeros(2, 1), ["b", "c"]), KeyError, "[1.0]"),
    (lambda: lookup("a", ["a"], []), ArgumentError, "`values` must have one entry per key, 1; received 0."),
    (lambda: lookup("a", [], []), ArgumentError, "`keys` must hold at least one key; received none."),
    (
        lambda: lookup(ones(2), torch.zeros(2, 3), ["b", "c"]),
        ArgumentTypeError,
        "`query` must be a vector like the rows of `keys`, (3,); received (2,).",
    ),
    (
        lambda: lookup("a", torch.zeros(2, 3), ["b", "c"]),
        ArgumentTypeError,
        "`query` must be a vector like the rows of `keys`, (3,); received str.",
    ),
    (
        lambda: lookup(3, ["a"], ["b"]),
        ArgumentTypeError,
        "`query` and `keys` must be strings, or a vector and a matrix; received int and keys of str.",
    ),
    (
        lambda: lookup("a", [1], ["b"]),
        ArgumentTypeError,
        "`query` and `keys` must be strings, or a vector and a matrix; received str and keys of int.",
    ),
]

MESSAGES += [
    # names and habits of other libraries
    (
        call(is_causal=True),
        ArgumentTypeError,
        "`attention` has no argument `is_causal`. Write mask=Causal(), which aligns the ends where lengths differ; as "
        'torch does: Causal(align="start").',
    ),
    (
        call(attn_mask=ones(5, 7).bool()),
        ArgumentTypeError,
        "`attention` has no argument `attn_mask`. Write mask=… for booleans, True where a query may attend, or bias=… "
        "for numbers added to the scores.",
    ),
    (
        call(scale=2.0),
        ArgumentTypeError,
        "`attention` has no argument `scale`. Write score=ScaledDot(scale).",
    ),
    (
        call(enable_gqa=True),
        ArgumentTypeError,
        "`attention` has no argument `enable_gqa`. Write grouped=True.",
    ),
    (call(masks=None), ArgumentTypeError, "`attention` has no argument `masks`. Did you mean mask?"),
    (
        lambda: explain_backend(query, key, dropout_p=0.1),
        ArgumentTypeError,
        "`attention` has no argument `dropout_p`. Write dropout=….",
    ),
    (
        call(normalize=torch.nn.functional.softmax),
        ArgumentTypeError,
        "`normalize` must be a normalizer such as Softmax(), or a function (scores, mask) -> weights; received torch's "
        "softmax, which takes no mask. Write normalize=lambda scores, mask: softmax(scores, …).",
    ),
    (
        call(normalize=torch.softmax),
        ArgumentTypeError,
        "`normalize` must be a normalizer such as Softmax(), or a function (scores, mask) -> weights; received torch's "
        "softmax, which takes no mask. Write normalize=lambda scores, mask: softmax(scores, …).",
    ),
    (
        call(normalize=torch.nn.Softmax(-1)),
        ArgumentTypeError,
        "`normalize` must be a normalizer such as Softmax(), or a function (scores, mask) -> weights; received torch's "
        "Softmax, which takes no mask. Write normalize=lambda scores, mask: Softmax(scores, …).",
    ),
    (
        lambda: Causal() and Padding(torch.tensor([2, 3])),
        ArgumentTypeError,
        "a mask must be joined by & (both allow), | (either allows) and ~ (not); received Causal(align='end', "
        "positions=None) where Python wants true or false, as `and`, `or`, `not` and `if` do. Write mask & other, or "
        "mask is not None.",
    ),
    # devices
    (
        call(mask=ones(5, 7, device="meta").bool()),
        ArgumentError,
        "`mask` must be on the device of `query`, cpu; received meta. Write mask.to(query.device).",
    ),
    (
        call(mask=Causal() & ~(Padding(torch.tensor(3)) | ones(5, 7, device="meta").bool())),
        ArgumentError,
        "`mask` must be on the device of `query`, cpu; received meta. Write mask.to(query.device).",
    ),
    (
        call(bias=ones(5, 7, device="meta")),
        ArgumentError,
        "`bias` must be on the device of `query`, cpu; received meta. Write bias.to(query.device).",
    ),
    (
        call(score=Bilinear(ones(4, 4, device="meta"))),
        ArgumentError,
        "`matrix` must be on the device of `query`, cpu; received meta. Write matrix.to(query.device).",
    ),
    (
        call(score=ScaledDot(ones((), device="meta"))),
        ArgumentError,
        "`scale` must be on the device of `query`, cpu; received meta. Write scale.to(query.device).",
    ),
    # kinds of numbers
    (
        ask(query.to(torch.float8_e4m3fn), key.to(torch.float8_e4m3fn)),
        ArgumentTypeError,
        "`query` must be float32, bfloat16, float16 or float64; received torch.float8_e4m3fn. Convert it first: "
        "query.to(torch.bfloat16).",
    ),
    (
        ask(query.to_sparse(), key),
        ArgumentTypeError,
        "`query` must be a dense tensor; received one of layout torch.sparse_coo. Write query.to_dense().",
    ),
    (
        ask(torch.nested.nested_tensor([query[0], query[1]], layout=torch.jagged), key),
        ArgumentTypeError,
        "`query` must be a dense tensor; received a nested one. Pack its rows: query.values()[None] with "
        "mask=Documents.of_lengths(lengths), or pad them and write mask=Padding(lengths).",
    ),
    (
        call(score=Additive(places(4))),
        ArgumentTypeError,
        "`vector` must hold floating-point numbers; received torch.int64.",
    ),
    (
        call(score=Gaussian(torch.tensor(2))),
        ArgumentTypeError,
        "`bandwidth` must hold floating-point numbers; received torch.int64.",
    ),
    (
        call(bias=places(5, 7)),
        ArgumentTypeError,
        "`bias` must hold floating-point numbers; received torch.int64.",
    ),
    (lambda: ScaledDot(True), ArgumentTypeError, "`scale` must be a number; received True."),
    (lambda: ScaledDot("2"), ArgumentTypeError, "`scale` must be a number; received '2'."),
    (lambda: ScaledDot(float("inf")), ArgumentError, "`scale` must be a finite number; received inf."),
    (lambda: ScaledDot(float("nan")), ArgumentError, "`scale` must be a finite number; received nan."),
    (lambda: Rotary(base=0.0), ArgumentError, "`base` must be positive; received 0.0."),
    (lambda: Rotary(size=2.0), ArgumentTypeError, "`size` must be a whole number; received 2.0."),
    (lambda: Window(1.5, 0), ArgumentTypeError, "`left` must be a whole number; received 1.5."),
    (lambda: Window(True, 0), ArgumentTypeError, "`left` must be a whole number; received True."),
    (lambda: Alibi.of_heads(2.0), ArgumentTypeError, "`num_heads` must be a whole number; received 2.0."),
    (lambda: Documents.of_lengths([3, -1]), ArgumentError, "`lengths` must be zero or more; received [3, -1]."),
    (call(dropout=True), ArgumentError, "`dropout` must be a probability between 0 and 1; received True."),
    (call(dropout="0.1"), ArgumentError, "`dropout` must be a probability between 0 and 1; received '0.1'."),
    (call(dropout=0.1, generator=3), ArgumentTypeError, "`generator` must be a torch.Generator or None; received int."),
    (call(grouped=2), ArgumentTypeError, "`grouped` must be True or False; received 2."),
    (call(return_weights="no"), ArgumentTypeError, "`return_weights` must be True or False; received 'no'."),
    # what functions give back
    (
        call(score=lambda q, k: (q @ k.mT) > 0),
        ArgumentTypeError,
        "`score` must return a tensor of floating-point numbers; received torch.bool.",
    ),
    (
        call(normalize=lambda scores, mask: None),
        ArgumentTypeError,
        "`normalize` must return a tensor of floating-point numbers; received NoneType.",
    ),
    (
        lambda: ScoreMod(ScaledDot()),
        ArgumentTypeError,
        "`function` must be a function (score, batch, head, query, key) -> score; received ScaledDot.",
    ),
    (
        lambda: Softcap(2.0, mine),
        ArgumentTypeError,
        "`score` must be a score such as ScaledDot(); received function. A function of query and key goes into "
        "ScoreRows(function).",
    ),
    # classes of one's own that lack what counts
    (
        call(mask=NoMask()),
        ArgumentTypeError,
        "NoMask must define `dense(shape, device)`; received a class that does not.",
    ),
    (
        call(score=NoScore()),
        ArgumentTypeError,
        "NoScore must define `dense(query, key)`; received a class that does not.",
    ),
    (
        call(score=NoChange()),
        ArgumentTypeError,
        "NoChange must define `modify(score, batch, head, query, key)`; received a class that does not.",
    ),
    (
        call(normalize=NoNormalizer()),
        ArgumentTypeError,
        "NoNormalizer must define `__call__(scores, mask)`; received a class that does not.",
    ),
    # frequencies and buckets
    (
        lambda: frequencies.rotary_frequencies(3),
        ArgumentError,
        "`size` must be an even number of features, two or more; received 3.",
    ),
    (
        lambda: frequencies.llama3_frequencies(4, low_factor=4.0),
        ArgumentError,
        "`high_factor` must be above `low_factor`, 4.0; received 4.0.",
    ),
    (
        call(position=Rotary(frequencies=ones(3))),
        ArgumentError,
        "`frequencies` must hold one number for each of the 2 pairs of features of `query`; received shape (3,).",
    ),
    (
        call(position=RelativeBuckets(table=ones(8), max_distance=4)),
        ArgumentError,
        "`max_distance` must be above the 4 distances that have buckets of their own, at least one; received 4 for a "
        "table of 8 buckets.",
    ),
    (
        call(position=RelativeBuckets(table=ones(2, 2, 8))),
        ArgumentError,
        "`table` must have an axis of distances, and before it one of heads or none; received (2, 2, 8).",
    ),
    # sinks, log normalizers
    (
        call(normalize=Sink(ones(2, 2))),
        ArgumentError,
        "`score` of Sink must be one number or one per head; received shape (2, 2).",
    ),
    (
        call(normalize=Entmax(), return_log_normalizer=True),
        ArgumentError,
        "`normalize` must be Softmax() for return_log_normalizer=True; received Entmax, whose weights are no "
        "exponentials divided by their sum.",
    ),
    (
        lambda: merge([]),
        ArgumentError,
        "`parts` must be results of attention(…, return_log_normalizer=True), one at least; received 0, 0 of them "
        "without a log normalizer, which only Softmax() has.",
    ),
    (
        lambda: merge([Attended(value, query, None)]),
        ArgumentError,
        "`parts` must be results of attention(…, return_log_normalizer=True), one at least; received 1, 1 of them "
        "without a log normalizer, which only Softmax() has.",
    ),
]

jaxtyping.config.update("jaxtyping_disable", CHECKED)


def refused(backend: str, reason: str) -> str:
    return (
        f'`backend` must be able to compute this call; received "{backend}", but {reason}. Leave it None to have one '
        "chosen, or see explain_backend(…)."
    )


def tempered(scores: Tensor, mask: Tensor | None) -> Tensor:
    return (scores / 2).softmax(-1)


class Near(Position):
    def mask(self, shape: Any, device: Any) -> Tensor:
        return self.offsets(shape, device).abs() <= 1


half = query.half(), key.half()
REFUSALS: list[tuple[Callable[[], Any], str, str]] = [
    (
        call(normalize=Entmax(), backend="sdpa"),
        "sdpa",
        "the fused kernel normalizes by Softmax or Sink only, not Entmax",
    ),
    (
        call(normalize=tempered, backend="sdpa"),
        "sdpa",
        "the fused kernel normalizes by Softmax or Sink only, not tempered",
    ),
    (
        call(normalize=Sink(ones(())), score=Gaussian(), backend="sdpa"),
        "sdpa",
        "the inner product of Gaussian leaves out a constant per row, which Sink does not ignore",
    ),
    (call(normalize=Sink(ones(())), backend="flex"), "flex", "FlexAttention normalizes by Softmax only, not Sink"),
    (
        call(score=mine, backend="chunked"),
        "chunked",
        "mine is a function of all queries; ScoreRows(function) may be given a few",
    ),
    (
        call(position=Alibi(slopes=ones((), requires_grad=True)), backend="flex"),
        "flex",
        "the slopes of Alibi want a gradient, which FlexAttention would not give them here",
    ),
    (
        call(position=Near(), backend="flex"),
        "flex",
        "Near narrows the mask by numbers, not by a rule on indices",
    ),
    (
        call(score=mine, backend="sdpa"),
        "sdpa",
        "the score is a function (mine), whose inner-product form is unknown",
    ),
    (call(score=Additive(ones(4)), backend="sdpa"), "sdpa", "Additive is not an inner product"),
    (call(score=Location(ones(4, 9)), backend="flex"), "flex", "Location is not an inner product"),
    (ask(*half, score=Gaussian(), backend="sdpa"), "sdpa", "the products inside Gaussian may overflow float16"),
    (
        call(dropout=0.1, generator=torch.Generator(), backend="sdpa"),
        "sdpa",
        "the fused kernel takes no generator for its dropout",
    ),
    (
        call(position=Shaw(keys=ones(3, 4), values=ones(3, 3)), backend="sdpa"),
        "sdpa",
        "Shaw works on the weights, which the fused kernel does not give",
    ),
    (
        call(position=GaussianWindow(center=ones(2, 5), half_width=2.0), backend="sdpa"),
        "sdpa",
        "GaussianWindow works on the weights, which the fused kernel does not give",
    ),
    (call(dropout=0.1, backend="flex"), "flex", "FlexAttention has no dropout"),
    (ask(query.double(), key.double(), backend="flex"), "flex", "FlexAttention has no kernel for float64"),
    (
        call(bias=ones(5, 7), backend="flex"),
        "flex",
        "a bias tensor is read whole, which FlexAttention exists to avoid",
    ),
    (
        call(position=RelativeBias(table=ones(3)), backend="flex"),
        "flex",
        "RelativeBias is a dense bias, which FlexAttention exists to avoid",
    ),
    (
        call(position=Alibi(slopes=ones(()), query_positions=places(5)), backend="flex"),
        "flex",
        "Alibi is a dense bias, which FlexAttention exists to avoid",
    ),
    (
        ask(query[:, :0], key, backend="flex"),
        "flex",
        "it takes at most batch and heads before the two lengths, none of them empty, not (2, 0, 7)",
    ),
    (
        call(backend="flex"),
        "flex",
        "outside CUDA FlexAttention cannot train and torch cannot compile every mask",
    ),
    (call(backend="triton"), "triton", "ScaledDot is not the tanh layer that the kernel computes"),
]


@pytest.mark.parametrize(("act", "kind", "message"), MESSAGES, ids=[message[:60] for _, _, message in MESSAGES])
def test_a_mistake_is_named(act: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind
    assert str(caught.value) == message
    assert isinstance(caught.value, (ValueError, TypeError, KeyError))
    assert isinstance(caught.value, (RegardError, KeyError))


@pytest.mark.parametrize(("act", "backend", "reason"), REFUSALS, ids=[reason[:60] for _, _, reason in REFUSALS])
def test_a_backend_says_why_it_refuses(act: Callable[[], Any], backend: str, reason: str) -> None:
    with pytest.raises(BackendError) as caught:
        act()
    assert str(caught.value) == refused(backend, reason)


def test_every_message_is_among_them() -> None:
    """Each `raise` of the operator's source is reached by one of the mistakes above."""
    home = Path(regard.__file__).parent / "attention"
    reached = set()
    for act in (act for act, *_ in [*MESSAGES, *REFUSALS]):
        try:
            act()
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            reached.add((Path(frame.filename), frame.lineno))
    unreached = []
    for path in sorted(home.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise):
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if not any((path, line) in reached for line in lines):
                    unreached.append(f"{path.name}:{node.lineno}")
    assert not unreached


def test_every_reason_to_refuse_is_among_them() -> None:
    """Each reason the backends' `refusal` can return is matched above, but for what only compiling brings about."""
    known = " ".join(reason for _, _, reason in REFUSALS)
    only_compiling = "it finds the mask's blocks outside the compiled region"
    home = Path(regard.__file__).parent / "attention" / "kernels"
    for path in (home / "sdpa.py", home / "flex.py", home / "chunked.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and function.name == "refusal":
                for node in ast.walk(function):
                    if isinstance(node, ast.Return) and isinstance(node.value, (ast.Constant, ast.JoinedStr)):
                        parts = [node.value] if isinstance(node.value, ast.Constant) else node.value.values
                        texts = [part.value for part in parts if isinstance(part, ast.Constant) and part.value]
                        assert all(text in known or text.startswith(only_compiling) for text in texts), texts


def test_explain_backend_lists_every_reason() -> None:
    report = explain_backend(query, key, score=Additive(ones(4)))
    assert report.chosen == "reference"
    assert str(report) == (
        "reference  chosen\n"
        "sdpa       refused: Additive is not an inner product\n"
        "flex       refused: Additive is not an inner product\n"
        "chunked    possible\n"
        "triton     refused: it runs on CUDA alone"
    )
    assert list(report.refusals) == ["reference", "sdpa", "flex", "chunked", "triton"]


def test_what_explain_backend_says_is_what_attention_does() -> None:
    for arguments in ({}, {"score": Additive(ones(4))}, {"normalize": Entmax()}, {"dropout": 0.1}):
        report = explain_backend(query, key, value, **arguments)
        assert report.refusals[report.chosen] is None
        for backend, reason in report.refusals.items():
            if reason is None:
                attention(query, key, value, backend=backend, **arguments)
            else:
                with pytest.raises(BackendError) as caught:
                    attention(query, key, value, backend=backend, **arguments)
                assert str(caught.value) == refused(backend, reason)


def test_mistakes_are_found_before_the_backend_matters() -> None:
    for backend in ("reference", "sdpa", "chunked", "flex", "triton", None):
        with pytest.raises(ArgumentError, match="received 7 keys and 9 values"):
            attention(query, key, torch.zeros(2, 9, 4), backend=backend)
