"""The settings of a search, as plain values, and `decode`, which runs it: greedy, beam search or sampling."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.errors import ArgumentError
from regard.models.sequence.protocol import AnyModel

WIDEST = 1_000
"""Hypotheses of a sentence, at most: each keeps a state of its own."""
MOST_DRAWN = 100_000
"""Outputs drawn for a sentence, at most."""
LONGEST = 1_000_000
"""Tokens of an output, at most."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Draw each token at random instead of searching for the likeliest output."""

    temperature: float = 1.0
    """Divides the log-probabilities: below one for likelier tokens, above for more surprise."""
    top_k: int = 0
    """Draw from so many of the likeliest tokens; 0 for all."""
    top_p: float = 1.0
    """Draw from the likeliest tokens that together have this probability, of those that `top_k` leaves."""
    seed: int = 0
    """Of the random numbers; each sentence has a stream of its own, made of the seed and its tokens."""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ArgumentError(f"`temperature` must be above 0; received {self.temperature}. For greedy, beam=1.")
        if self.top_k < 0:
            raise ArgumentError(f"`top_k` must be 0 for all tokens, or more; received {self.top_k}.")
        if not 0 < self.top_p <= 1:
            raise ArgumentError(f"`top_p` must be above 0 and at most 1; received {self.top_p}.")


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to find an output: by beam search, greedily with a beam of one, or by drawing at random."""

    beam: int = 5
    """Hypotheses kept for each sentence; 1 is greedy."""
    n_best: int = 1
    """Outputs given for each sentence, best first; at most `beam`. Fewer come where there are fewer."""
    length_penalty: float = 1.0
    """Exponent of the length that a log-probability is divided by; 0 for none."""
    coverage_penalty: float = 0.0
    """Weight of what the attention has left out (Wu et al. 2016, equation 14); 0 for models that do not attend."""
    min_length: int = 0
    """Tokens before the end token, at least, unless the rules leave nothing else."""
    max_length: int | None = None
    """Tokens at most, the end token included; None for twice the source and twenty more, besides a prefix."""
    no_repeat_ngram: int = 0
    """Generate no run of so many tokens twice; 0 to allow it."""
    sampling: Sampling | None = None
    """Draw at random; then `n_best` outputs are drawn and `beam` plays no part."""

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ArgumentError(f"`beam` must be at least 1; received {self.beam}.")
        if self.beam > WIDEST:
            raise ArgumentError(f"`beam` must be at most {WIDEST:,}; received {self.beam:,}.")
        if self.n_best > MOST_DRAWN:
            raise ArgumentError(f"`n_best` must be at most {MOST_DRAWN:,}; received {self.n_best:,}.")
        if self.max_length is not None and self.max_length > LONGEST:
            raise ArgumentError(f"`max_length` must be at most {LONGEST:,}; received {self.max_length:,}.")
        if self.sampling is not None and self.n_best < 1:
            raise ArgumentError(f"`n_best` must be at least 1; received {self.n_best}.")
        if self.sampling is None and not 1 <= self.n_best <= self.beam:
            raise ArgumentError(f"`n_best` must be from 1 to `beam`, {self.beam}; received {self.n_best}.")
        if self.length_penalty < 0:
            raise ArgumentError(f"`length_penalty` must be 0 or more; received {self.length_penalty}.")
        if self.coverage_penalty < 0:
            raise ArgumentError(f"`coverage_penalty` must be 0 or more; received {self.coverage_penalty}.")
        if self.min_length < 0:
            raise ArgumentError(f"`min_length` must be 0 or more; received {self.min_length}.")
        if self.max_length is not None and self.max_length < max(1, self.min_length + 1):
            raise ArgumentError(
                f"`max_length` must be above `min_length`, {self.min_length}; received {self.max_length}."
            )
        if self.no_repeat_ngram < 0:
            raise ArgumentError(
                f"`no_repeat_ngram` must be 0 to allow repetition, or more; received {self.no_repeat_ngram}."
            )


def decode(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    search: Search,
    start: int,
    end: int,
    weights: bool = False,
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Search with these settings, and give the `n_best` outputs of each row of `source`, in order, best first.

    There are fewer where search has fewer, but never none. Put the model into evaluation mode first: dropout would
    act.

    - `start`, `end`: the tokens that open and close an output.
    - `weights`: also give what each token attended to, per layer and head. The outputs are the same.
    - `prefix`: for each row the tokens that its outputs must begin with, without `start`; an empty list for none.
    """
    from regard.decoding.beam import beam_search  # which reads the settings above
    from regard.decoding.captured import Captured

    history = None
    if isinstance(model, Captured) and len(source) and model.serves(search, weights=weights, prefix=prefix):
        history = model.search(source, lengths, search=search, start=start, end=end)
    if history is None:
        history = beam_search(
            model, source, lengths, search=search, start=start, end=end, weights=weights, prefix=prefix
        )
    return history.hypotheses(search.n_best)


def length_limits(lengths: Int[Tensor, " batch"], max_length: int | None) -> Int[Tensor, " batch"]:
    """Give how many tokens each output may have: by default twice as many as its source, and twenty more."""
    if max_length is None:
        return 2 * lengths + 20
    if max_length < 1:
        raise ArgumentError(f"`max_length` must be at least 1; received {max_length}.")
    return torch.full_like(lengths, max_length)
