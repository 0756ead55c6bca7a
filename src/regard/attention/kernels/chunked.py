"""Scores a few query rows at a time, computed again in the backward pass.

A tanh layer per (query, key) pair would take T · S · hidden numbers; kept for the backward pass, that is what fills the
memory. Here only the scores, T · S, are kept. A plain function is never cut so: it may use where its queries stand.
`ScoreRows` wraps one that gets the indices of its rows.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention.inputs import Inputs
from regard.attention.kernels.chunked_additive import additive_scores
from regard.attention.score import Additive, Score, ScoreFunction
from regard.attention.score_function import ChangedScore, ScoreRows
from regard.attention.tensors import Keys, Queries, Scores, name_of
from regard.errors import ArgumentError, ArgumentTypeError

#: How many numbers one chunk may hold: what fits a core's cache, or fills an accelerator.
CHUNK_SIZE = {"cpu": 1 << 18, "other": 1 << 26}

#: How many chunks a compiled graph may hold.
MOST_COMPILED_CHUNKS = 16


def whole_scores(score: Score | ScoreFunction, query: Queries, key: Keys) -> Scores:
    """Score every pair at once."""
    scores = score.dense(query, key) if isinstance(score, Score) else score(query, key)
    if not isinstance(scores, Tensor) or not scores.dtype.is_floating_point:
        kind = scores.dtype if isinstance(scores, Tensor) else type(scores).__name__
        raise ArgumentTypeError(f"`score` must return a tensor of floating-point numbers; received {kind}.")
    pairs = (query.size(-2), key.size(-2))
    if tuple(scores.shape[-2:]) != pairs:
        raise ArgumentError(
            f"`score` must return one score per pair, (*batch, query, key) = (…, {pairs[0]}, {pairs[1]}); "
            f"received {tuple(scores.shape)}."
        )
    return scores


def refusal(inputs: Inputs) -> str | None:
    """Describe why this call cannot run here, or None if it can."""
    if isinstance(inputs.score, Score):
        return None
    return f"{name_of(inputs.score)} is a function of all queries; ScoreRows(function) may be given a few"


def chunk_rows(score: Score, query: Queries, key: Keys, lead: Sequence[int]) -> int:
    """Return how many query rows fit one chunk, over all the leading axes."""
    per_row = math.prod(lead) * key.size(-2) * score.hidden_size(query, key)
    limit = CHUNK_SIZE["cpu" if query.device.type == "cpu" else "other"]
    return max(1, limit // max(per_row, 1))


def chunked_scores(score: Score, query: Queries, key: Keys) -> Scores:
    """Score every pair, a few query rows at a time."""
    score, query, key = score.projected(query, key)
    rows = chunk_rows(score, query, key, torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]))
    if torch.compiler.is_compiling():  # each chunk is a part of the graph of its own
        rows = max(rows, -(-query.size(-2) // MOST_COMPILED_CHUNKS))
    if rows >= query.size(-2):
        return whole_scores(score, query, key)
    if type(score) is Additive and score.activation == "tanh" and not torch.compiler.is_compiling():
        return additive_scores(query, key, score.vector.to(query.dtype), rows)
    # A function may draw random numbers: computed again, it must draw the same.
    random = isinstance(score, (ScoreRows, ChangedScore))
    parts = [
        checkpoint(
            whole_scores,
            score.of_rows(first, min(rows, query.size(-2) - first)),
            query[..., first : first + rows, :],
            key,
            use_reentrant=False,
            preserve_rng_state=random,
        )
        for first in range(0, query.size(-2), rows)
    ]
    return torch.cat(parts, dim=-2)


def pays(inputs: Inputs) -> bool:
    """Return whether a pair holds more than its score, and there are more pairs than one chunk takes."""
    if not isinstance(inputs.score, Score) or inputs.score.hidden_size(inputs.query, inputs.key) == 1:
        return False
    return chunk_rows(inputs.score, inputs.query, inputs.key, inputs.shape[:-2]) < inputs.shape[-2]
