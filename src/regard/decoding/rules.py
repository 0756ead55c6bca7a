"""Rules of an output: its least length, no n-gram twice, and how it must begin."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.search import Search
from regard.errors import ArgumentError


class Rules:
    """Forbids words before the best are picked, by setting their log-probability to −∞; the others keep theirs.

    - `prefix`: for each sentence the tokens its output must begin with. Inside it no other rule holds.
    - Where the rules leave no word at all, the end token is allowed.
    """

    def __init__(self, search: Search, *, end: int, prefix: Sequence[Sequence[int]]) -> None:
        self.min_length, self.no_repeat_ngram, self.end = search.min_length, search.no_repeat_ngram, end
        self.prefix_lengths = torch.tensor([len(item) for item in prefix])
        self.longest = max((len(item) for item in prefix), default=0)
        rows = [[*item, *[end] * (self.longest - len(item))] for item in prefix]
        self.prefix = torch.tensor(rows, dtype=torch.long).view(len(prefix), self.longest)

    @property
    def need_history(self) -> bool:
        """Whether `apply` needs the tokens generated so far."""
        return self.no_repeat_ngram > 0

    def apply(
        self,
        log_probabilities: Float[Tensor, "sentences width vocabulary"],
        *,
        step: int,
        sentences: Int[Tensor, " sentences"],
        generated: Int[Tensor, "sentences width generated"] | None,
    ) -> Float[Tensor, "sentences width vocabulary"]:
        """Give the log-probabilities, −∞ for what may not follow `step` words; `sentences` are those of the rows."""
        allowed = log_probabilities
        if step < self.min_length:
            allowed = allowed.index_fill(-1, torch.tensor([self.end], device=allowed.device), -torch.inf)
        if generated is not None:
            allowed = forbid_repeats(allowed, generated, self.no_repeat_ngram)
        if allowed is not log_probabilities:
            allowed = self._or_end(allowed, log_probabilities)
        return self._begin(allowed, log_probabilities, step, sentences) if step < self.longest else allowed

    def _or_end(self, allowed: Tensor, log_probabilities: Tensor) -> Tensor:
        nothing = allowed.amax(-1) == -torch.inf
        if not nothing.any():
            return allowed
        only_end = torch.full_like(allowed, -torch.inf)
        only_end[..., self.end] = log_probabilities[..., self.end]
        return torch.where(nothing.unsqueeze(-1), only_end, allowed)

    def _begin(self, allowed: Tensor, log_probabilities: Tensor, step: int, sentences: Tensor) -> Tensor:
        """Leave nothing but the prefix's word to those sentences whose prefix goes on."""
        self._check_words(log_probabilities.size(-1))
        word = self.prefix[sentences, step].view(-1, 1, 1).expand(-1, allowed.size(1), 1).to(allowed.device)
        only = torch.full_like(allowed, -torch.inf).scatter(-1, word, log_probabilities.gather(-1, word))
        inside = (step < self.prefix_lengths[sentences]).view(-1, 1, 1).to(allowed.device)
        return torch.where(inside, only, allowed)

    def _check_words(self, words: int) -> None:
        low, high = int(self.prefix.min()), int(self.prefix.max())
        if low < 0 or high >= words:
            raise ArgumentError(
                f"`prefix` must hold tokens from 0 to {words - 1}; received numbers from {low} to {high}."
            )


def forbid_repeats(
    log_probabilities: Float[Tensor, "*rows vocabulary"], generated: Int[Tensor, "*rows generated"], size: int
) -> Float[Tensor, "*rows vocabulary"]:
    """Forbid each word that would complete a run of `size` words which is there already.

    >>> forbid_repeats(torch.zeros(4), torch.tensor([1, 2, 3, 1]), 2)
    tensor([0., 0., -inf, 0.])
    """
    if generated.size(-1) < size:
        return log_probabilities
    runs = generated.unfold(-1, size, 1)  # *rows runs size
    last = generated[..., generated.size(-1) - size + 1 :].unsqueeze(-2)
    again = (runs[..., :-1] == last).all(-1)
    ceiling = torch.where(again, -torch.inf, torch.inf).to(log_probabilities.dtype)
    return log_probabilities.scatter_reduce(-1, runs[..., -1], ceiling, "amin")


def check_prefix(
    prefix: Sequence[Sequence[int]] | None, *, batch: int, end: int, max_length: int | None
) -> Sequence[Sequence[int]]:
    """Give one prefix for each sentence, empty ones where there are none, or raise."""
    if prefix is None:
        return [[]] * batch
    if len(prefix) != batch:
        raise ArgumentError(
            f"`prefix` must have one list of tokens for each of the {batch} sentences; received {len(prefix)}. "
            "Give an empty list where there is none."
        )
    for number, tokens in enumerate(prefix):
        if end in tokens:
            raise ArgumentError(f"`prefix` must not hold the end token, {end}; received it in number {number}.")
        if max_length is not None and len(tokens) >= max_length:
            raise ArgumentError(
                f"`prefix` must be shorter than `max_length`, {max_length}; received {len(tokens)} tokens in number "
                f"{number}."
            )
    return prefix
