"""A model that is nothing but the protocol, and searches over it that are nothing but their definition."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding import Search

START, END = 0, 1
ROWS = 997


class Numbers(NamedTuple):
    """Some numbers a row."""

    numbers: Tensor

    @property
    def rows(self) -> int:
        return self.numbers.size(0)

    def select(self, rows: Tensor) -> "Numbers":
        return Numbers(self.numbers[rows])


class Table:
    """Reads what comes next and where to look from a random table: another row for each source and all said so far."""

    def __init__(
        self, words: int = 5, *, seed: int = 0, heads: int = 2, sharpness: float = 1.0, to_end: float = 0.0
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        scores = sharpness * torch.randn(ROWS, words, generator=generator, dtype=torch.float64)
        scores[:, END] += to_end
        self.log_probabilities = scores.log_softmax(-1)
        self.looks = 2 * torch.randn(ROWS, 3, heads, 20, generator=generator, dtype=torch.float64)
        self.steps: list[int] = []
        self.weighed = 0

    def encode(self, source: Tensor, lengths: Tensor | None = None) -> Numbers:
        assert lengths is not None
        inside = torch.arange(source.size(1)) < lengths[:, None]
        key = ((source + 1) * inside * torch.tensor([3**place for place in range(source.size(1))])).sum(1)
        return Numbers(torch.stack([key, lengths, torch.full_like(lengths, source.size(1))], dim=1))

    def start(self, memory: Numbers, *, capacity: int | None = None) -> Numbers:
        return Numbers(torch.zeros(memory.rows, dtype=torch.long))

    def step(
        self, tokens: Tensor, state: Numbers, memory: Numbers, *, weights: bool = False
    ) -> tuple[Tensor, Numbers, Tensor | None]:
        self.steps.append(state.rows)
        self.weighed += weights
        key, length, width = memory.numbers.repeat_interleave(state.rows // memory.rows, dim=0).unbind(1)
        code, found = state.numbers, []
        for token in tokens.unbind(1):
            code = (code * 31 + token + 1) % 1_000_003
            found.append((code + key) % ROWS)
        rows = torch.stack(found, dim=1)
        looks = None
        if weights and self.looks.size(2):
            size = int(width[0])
            outside = torch.arange(size) >= length[:, None, None, None, None]
            looks = (
                self.looks[rows][..., :size].masked_fill(outside, -torch.inf).softmax(-1)
            )  # rows new layers heads source
            looks = looks.permute(0, 2, 3, 1, 4)
        return self.log_probabilities[rows], Numbers(code), looks


SOURCE = torch.tensor(
    [[3, 1, 4, 1, 5], [2, 7, 1, 8, 0], [3, 3, 0, 0, 0], [9, 1, 6, 0, 0], [5, 0, 0, 0, 0], [3, 3, 3, 1, 2]]
)
LENGTHS = torch.tensor([5, 4, 2, 3, 1, 5])


class Leaf(NamedTuple):
    """A complete output by definition."""

    tokens: tuple[int, ...]
    score: float


class Naive:
    """All about one sentence, a hypothesis at a time, as the papers say it."""

    def __init__(self, model: Table, sentence: int, search: Search) -> None:
        self.model, self.search = model, search
        self.length = int(LENGTHS[sentence])
        self.source, self.lengths = SOURCE[sentence : sentence + 1], LENGTHS[sentence : sentence + 1]
        self.heard: dict[tuple[int, ...], tuple[list[float], list[float]]] = {}
        self.limit = search.max_length or 2 * self.length + 20

    def hear(self, tokens: tuple[int, ...]) -> tuple[list[float], list[float]]:
        """Give the log-probability of each word after these, and where the last layer looks, in the mean."""
        if tokens not in self.heard:
            memory = self.model.encode(self.source, self.lengths)
            said = torch.tensor([[START, *tokens]])
            found, _, looks = self.model.step(said, self.model.start(memory), memory, weights=True)
            self.heard[tokens] = found[0, -1].tolist(), looks[0, -1, :, -1, : self.length].mean(0).tolist()
        return self.heard[tokens]

    def score(self, tokens: tuple[int, ...]) -> float:
        total, coverage = 0.0, [0.0] * self.length
        for step, token in enumerate(tokens):
            log_probabilities, looks = self.hear(tokens[:step])
            total += log_probabilities[token]
            coverage = [before + now for before, now in zip(coverage, looks, strict=True)]
        left_out = sum(math.log(min(1.0, place)) for place in coverage)
        return total / len(tokens) ** self.search.length_penalty + self.search.coverage_penalty * left_out

    def continuations(self, tokens: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for word in range(self.model.log_probabilities.size(1)):
            if word == END and len(tokens) < self.search.min_length:
                continue
            longer, size = (*tokens, word), self.search.no_repeat_ngram
            runs = [longer[place : place + size] for place in range(len(longer) - size + 1)]
            if size and runs and runs[-1] in runs[:-1]:
                continue
            yield longer

    def complete(self, tokens: tuple[int, ...]) -> bool:
        return tokens[-1:] == (END,) or len(tokens) == self.limit

    def exhaustive(self) -> list[Leaf]:
        """Every output there is, best first."""
        waiting: list[tuple[int, ...]] = [()]
        found = []
        while waiting:
            for longer in self.continuations(waiting.pop()):
                if self.complete(longer):
                    found.append(Leaf(longer, self.score(longer)))
                else:
                    waiting.append(longer)
        return sorted(found, key=lambda leaf: -leaf.score)[: self.search.n_best]

    def beam(self) -> list[Leaf]:
        """Beam search until the beam is empty, without stopping early."""
        going: list[tuple[int, ...]] = [()]
        found: list[Leaf] = []
        while going:
            longer = [Leaf(one, self.score(one)) for tokens in going for one in self.continuations(tokens)]
            longer = sorted(longer, key=lambda leaf: -leaf.score)[: self.search.beam - len(found)]
            found += [leaf for leaf in longer if self.complete(leaf.tokens)]
            going = [leaf.tokens for leaf in longer if not self.complete(leaf.tokens)]
        return sorted(found, key=lambda leaf: -leaf.score)[: self.search.n_best]
