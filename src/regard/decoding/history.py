"""The record of a search: every step's picks with their back-pointers, followed when it is over."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis


class Picks(NamedTuple):
    """Continuations of each sentence's hypotheses, best first or in the order they were drawn."""

    parent: Int[Tensor, "sentences picks"]
    """Which hypothesis of the sentence is continued."""
    token: Int[Tensor, "sentences picks"]
    """By which word."""


class Step(NamedTuple):
    """The picks of one step, on the model's device; all but `weights` are small."""

    sentences: Int[Tensor, " sentences"]
    """Which sentences of the batch these are."""
    parent: Int[Tensor, "sentences picks"]
    """The pick of the step before that each one continues."""
    row: Int[Tensor, "sentences picks"]
    """The row of this step's `weights` that belongs to it: its parent's."""
    token: Int[Tensor, "sentences picks"]
    """The token it adds."""
    log_probability: Float[Tensor, "sentences picks"]
    """Of this token."""
    score: Float[Tensor, "sentences picks"]
    """Of the hypothesis so far."""
    kept: Bool[Tensor, "sentences picks"]
    """False where it was considered and not taken."""
    ended: Bool[Tensor, "sentences picks"]
    """True where the output is complete, by the end token or at the longest length."""
    weights: Float[Tensor, "rows layers heads source"] | None
    """What the tokens of this step attended to, if asked for."""


class _Leaf(NamedTuple):
    """The last token of a complete output."""

    sentence: int
    score: float
    step: int
    pick: int


class _Paths(NamedTuple):
    """The tokens up to each of some leaves, a row each; columns beyond a leaf's own step hold nothing of it."""

    tokens: Int[Tensor, "leaves steps"]
    log_probabilities: Float[Tensor, "leaves steps"]
    rows: Int[Tensor, "leaves steps"]


class History:
    """The steps of a search, for sentences of these lengths."""

    def __init__(self, lengths: list[int], *, end: int) -> None:
        self.lengths, self.end = lengths, end
        self.steps: list[Step] = []

    def add(self, step: Step) -> None:
        """Keep a step."""
        self.steps.append(step)

    def hypotheses(self, count: int) -> list[list[Hypothesis]]:
        """Give the `count` best complete outputs of each sentence, best first; fewer where there are fewer."""
        self.steps = [_on_cpu(step) for step in self.steps]
        result: list[list[Hypothesis]] = [[] for _ in self.lengths]
        leaves = self._leaves(count)
        if leaves:
            columns = zip(*(column.tolist() for column in self._follow(leaves)), strict=True)  # at once: rows are many
            for leaf, path in zip(leaves, columns, strict=True):
                result[leaf.sentence].append(self._hypothesis(leaf, *path))
        return result

    def _leaves(self, count: int) -> list[_Leaf]:
        """Give the best leaves of each sentence, sentence by sentence."""
        leaves: list[list[_Leaf]] = [[] for _ in self.lengths]
        for number, step in enumerate(self.steps):
            row, picks = step.ended.nonzero().unbind(1)
            ended = (step.sentences[row].tolist(), step.score[row, picks].tolist(), picks.tolist())
            for sentence, score, pick in zip(*ended, strict=True):
                leaves[sentence].append(_Leaf(sentence, score, number, pick))
        return [leaf for group in leaves for leaf in sorted(group, key=lambda leaf: -leaf.score)[:count]]

    def _follow(self, leaves: list[_Leaf]) -> _Paths:
        """Follow the back-pointers of all leaves at once, from the last step to the first."""
        sentence, last, pick = torch.tensor([[leaf.sentence, leaf.step, leaf.pick] for leaf in leaves]).unbind(1)
        columns: list[tuple[Tensor, Tensor, Tensor]] = []
        for number in range(int(last.max()), -1, -1):
            step = self.steps[number]
            index_of = torch.zeros(len(self.lengths), dtype=torch.long)
            index_of[step.sentences] = torch.arange(len(step.sentences))
            # a leaf of an earlier step has no pick here: whatever is read for it is cut off by its length
            at = index_of[sentence], torch.where(number <= last, pick, 0)
            columns.append((step.token[at], step.log_probability[at], step.row[at]))
            pick = torch.where(number <= last, step.parent[at], pick)
        return _Paths(*(torch.stack(column[::-1], dim=1) for column in zip(*columns, strict=True)))

    def _hypothesis(
        self, leaf: _Leaf, tokens: list[int], log_probabilities: list[float], rows: list[int]
    ) -> Hypothesis:
        length = leaf.step + 1
        return Hypothesis(
            tokens=tuple(tokens[:length]),
            log_probabilities=tuple(log_probabilities[:length]),
            finished=tokens[length - 1] == self.end,
            score=leaf.score,
            weights=self._weights(leaf, rows[:length]),
        )

    def _weights(self, leaf: _Leaf, rows: list[int]) -> Tensor | None:
        if self.steps[0].weights is None:
            return None
        picked = zip(self.steps[: len(rows)], rows, strict=True)
        weights = [step.weights[row] for step, row in picked if step.weights is not None]
        return torch.stack(weights, dim=-2)[..., : self.lengths[leaf.sentence]]


def _on_cpu(step: Step) -> Step:
    """Move what is small."""
    return Step._make(item if item is None or item is step.weights else item.cpu() for item in step)
