"""The record of a search: every step's picks with their back-pointers, followed when it is over."""

from collections.abc import Iterator
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


class Choice(NamedTuple):
    """Continuations with what they add to the log-probability."""

    parent: Int[Tensor, "sentences picks"]
    """Which hypothesis of the sentence is continued."""
    token: Int[Tensor, "sentences picks"]
    """By which word."""
    log_probability: Float[Tensor, "sentences picks"]
    """Of this word."""


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


class _Leaves(NamedTuple):
    """The last tokens of complete outputs, sentence by sentence, best first."""

    sentence: Int[Tensor, " leaves"]
    score: Float[Tensor, " leaves"]
    step: Int[Tensor, " leaves"]
    pick: Int[Tensor, " leaves"]


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
        if not any(bool(step.ended.any()) for step in self.steps):
            return result
        leaves = self._leaves(count)
        paths = self._follow(leaves)
        finished = paths.tokens.gather(1, leaves.step.unsqueeze(1)).squeeze(1) == self.end
        # plain numbers are made of whole tensors at once, and rows cut out of them: there are many
        tokens, of_tokens = (tuple(item.flatten().tolist()) for item in (paths.tokens, paths.log_probabilities))
        begin = torch.arange(len(leaves.step)) * paths.tokens.size(1)
        columns = leaves.sentence, begin, begin + leaves.step + 1, leaves.score, finished
        weights = self._weights(leaves, paths)
        for sentence, first, last, score, done in zip(*(item.tolist() for item in columns), strict=True):
            hypothesis = Hypothesis(
                tokens=tokens[first:last],
                log_probabilities=of_tokens[first:last],
                finished=done,
                score=score,
                weights=next(weights, None),
            )
            result[sentence].append(hypothesis)
        return result

    def _leaves(self, count: int) -> _Leaves:
        """Give the best leaves of each sentence; of equal scores, those of the first step come first."""
        parts = []
        for number, step in enumerate(self.steps):
            row, pick = step.ended.nonzero().unbind(1)
            parts.append((step.sentences[row], step.score[row, pick], torch.full_like(row, number), pick))
        every = _Leaves(*map(torch.cat, zip(*parts, strict=True)))
        order = (-every.score).argsort(stable=True)
        order = order[every.sentence[order].argsort(stable=True)]
        sentence = every.sentence[order]
        rank = torch.arange(len(order)) - torch.searchsorted(sentence, sentence)
        chosen = order[rank < count]
        return _Leaves(*(column[chosen] for column in every))

    def _follow(self, leaves: _Leaves) -> _Paths:
        """Follow the back-pointers of all leaves at once, from the last step to the first."""
        columns: list[tuple[Tensor, Tensor, Tensor]] = []
        pick, sentences, index = leaves.pick, None, leaves.sentence
        for number in range(int(leaves.step.max()), -1, -1):
            step, here = self.steps[number], number <= leaves.step
            if step.sentences is not sentences:
                sentences = step.sentences
                index_of = torch.zeros(len(self.lengths), dtype=torch.long)
                index_of[sentences] = torch.arange(len(sentences))
                index = index_of[leaves.sentence]
            # a leaf of an earlier step has no pick here: whatever is read for it is cut off by its length
            at = index, torch.where(here, pick, 0)
            columns.append((step.token[at], step.log_probability[at], step.row[at]))
            pick = torch.where(here, step.parent[at], pick)
        return _Paths(*(torch.stack(column[::-1], dim=1) for column in zip(*columns, strict=True)))

    def _weights(self, leaves: _Leaves, paths: _Paths) -> Iterator[Tensor]:
        """Give the weights of each leaf, in their order, if they were kept."""
        if self.steps[0].weights is None:
            return
        last = zip(leaves.sentence.tolist(), leaves.step.tolist(), paths.rows.tolist(), strict=True)
        for sentence, number, rows in last:
            picked = zip(self.steps[: number + 1], rows, strict=False)
            weights = [step.weights[row] for step, row in picked if step.weights is not None]
            yield torch.stack(weights, dim=-2)[..., : self.lengths[sentence]]


def _on_cpu(step: Step) -> Step:
    """Move what is small."""
    return Step._make(item if item is None or item is step.weights else item.cpu() for item in step)
