"""The soft dictionary: attention as a look-up of a key that need not be there exactly."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.attention.operator import attention
from regard.attention.score import Score
from regard.attention.similarity import Cosine, Gaussian
from regard.errors import ArgumentError, ArgumentTypeError

Keys = Sequence[str] | Tensor


class LookupResult(NamedTuple):
    """What an approximate look-up gives."""

    value: Any
    """The mixture of the values, or, for values that cannot be mixed, that of the heaviest key."""
    weights: Tensor
    """How much each key counted; they sum to one."""


def lookup(
    query: str | Tensor,
    keys: Keys,
    values: Sequence[Any] | Tensor,
    *,
    exact: bool = True,
    score: Score | None = None,
) -> Any:
    """Look up a key in a table: exactly, as a dictionary does, or approximately, as attention does.

    Keys are strings or the rows of a tensor. `exact=True` gives the value whose key equals `query`, or raises
    `KeyError`. `exact=False` compares the query with every key by `score` and gives `LookupResult(value, weights)`: for
    a tensor of values their mixture, for others the value of the heaviest key. Strings are compared by their letters,
    pairs and triples of letters (cosine); vectors by nearness (Gaussian).

    >>> names = ["Anna", "Bruno", "Clara", "David"]
    >>> roles = ["lecturer", "student", "assistant", "student"]
    >>> lookup("Clara", names, roles)
    'assistant'
    >>> lookup("Klara", names, roles)
    Traceback (most recent call last):
    KeyError: 'Klara'
    >>> found = lookup("Klara", names, roles, exact=False)
    >>> found.value
    'assistant'
    >>> found.weights
    tensor([0.0..., 0.0..., 0.9..., 0.0...])
    """
    _check_table(query, keys, values)
    if exact:
        return values[_find(query, keys)]
    if isinstance(keys, Tensor):
        assert isinstance(query, Tensor)
        query_vector, key_vectors, score = query, keys, score or Gaussian()
    else:
        assert isinstance(query, str)
        query_vector, *rows = _letters([query, *keys])
        key_vectors, score = torch.stack(rows), score or Cosine(temperature=0.1)
    table = values if isinstance(values, Tensor) else torch.zeros(len(values), 1, device=key_vectors.device)
    dtype = torch.promote_types(key_vectors.dtype, table.dtype)
    table_rows = table.reshape(len(table), -1)
    query_row, key_rows, value_rows = (row.to(dtype) for row in (query_vector[None], key_vectors, table_rows))
    context, weights, _ = attention(query_row, key_rows, value_rows, score=score, return_weights=True)
    value = context[0].reshape(table.shape[1:]) if isinstance(values, Tensor) else values[int(weights[0].argmax())]
    return LookupResult(value, weights[0])


def _find(query: str | Tensor, keys: Keys) -> int:
    for index, key in enumerate(keys):
        if torch.equal(query, key) if isinstance(query, Tensor) and isinstance(key, Tensor) else query == key:
            return index
    raise KeyError(query if isinstance(query, str) else query.tolist())


def _letters(words: Sequence[str]) -> list[Tensor]:
    """Count the letters, pairs and triples of letters in each word, its ends marked, whatever the case."""
    marked = [f"^{word.casefold()}$" for word in words]
    pieces = [[word[i : i + n] for n in (1, 2, 3) for i in range(len(word) - n + 1)] for word in marked]
    index = {piece: i for i, piece in enumerate(dict.fromkeys(piece for parts in pieces for piece in parts))}
    counts = torch.zeros(len(words), len(index))
    for row, parts in zip(counts, pieces, strict=True):
        for piece in parts:
            row[index[piece]] += 1
    return list(counts)


def _check_table(query: str | Tensor, keys: Keys, values: Sequence[Any] | Tensor) -> None:
    if len(keys) != len(values):
        raise ArgumentError(f"`values` must have one entry per key, {len(keys)}; received {len(values)}.")
    if not len(keys):
        raise ArgumentError("`keys` must hold at least one key; received none.")
    if isinstance(keys, Tensor):
        width = tuple(keys.shape[1:])
        if not isinstance(query, Tensor) or keys.ndim != 2 or tuple(query.shape) != width:
            result = tuple(query.shape) if isinstance(query, Tensor) else type(query).__name__
            raise ArgumentTypeError(f"`query` must be a vector like the rows of `keys`, {width}; received {result}.")
    elif not isinstance(query, str) or not all(isinstance(key, str) for key in keys):
        raise ArgumentTypeError(
            f"`query` and `keys` must be strings, or a vector and a matrix; received {type(query).__name__} and keys "
            f"of {type(keys[0]).__name__}."
        )
