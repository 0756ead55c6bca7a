"""The unfinished hypotheses of all sentences, side by side: what a step adds to them, and who goes on."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.best import Picks
from regard.decoding.history import Step
from regard.decoding.ranking import bound, coverage_penalty, score, seen
from regard.decoding.rules import Rules
from regard.decoding.search import Search

#: Picks continuations, from what each hypothesis has, (sentences, width), and the log-probability of every word after
#: it, (sentences, width, vocabulary), to be added for ranking.
Choose = Callable[["Frontier", Tensor, Tensor], Picks]


class Move(NamedTuple):
    """What the model is to hear next."""

    tokens: Int[Tensor, "rows 1"]
    rows: Int[Tensor, " rows"] | None
    """The rows of the state that go on, in this order; None where all do, as they are."""
    sentences: Int[Tensor, " sentences"] | None
    """The rows of the memory that go on; None where all do."""


class Frontier:
    """Hypotheses in rows of equally many for each sentence; some are dead, with a log-probability of −∞.

    What is small, a number for each hypothesis, lives on the CPU; the model's tensors stay where they are.
    """

    def __init__(
        self, search: Search, rules: Rules, choose: Choose, *, lengths: Int[Tensor, " batch"], limits: Tensor, end: int
    ) -> None:
        batch = lengths.size(0)
        self.search, self.rules, self.choose, self.end = search, rules, choose, end
        self.lengths, self.limits = lengths, limits
        self.device = lengths.device
        self.step = 0
        self.sentences = torch.arange(batch)
        self.rows = batch  # of the step last heard
        self.total = torch.zeros(batch, 1)  # log-probability of each hypothesis, (sentences, width)
        self.pick = torch.zeros(batch, 1, dtype=torch.long)  # which pick of the last step it was
        # how many hypotheses each sentence may still keep, and the scores of its best outputs so far
        self.places = torch.full((batch,), search.beam if search.sampling is None else search.n_best)
        self.reached = torch.full((batch, search.n_best), -torch.inf)
        self.said = torch.zeros(batch, 0, dtype=torch.long, device=self.device) if rules.need_history else None
        self.coverage: Tensor | None = None

    @property
    def width(self) -> int:
        """How many rows each sentence has."""
        return self.total.size(1)

    def extend(
        self,
        log_probabilities: Float[Tensor, "rows vocabulary"],
        looks: Float[Tensor, "rows layers heads source"] | None,
    ) -> Step:
        """Pick continuations, and say which are taken and which are complete."""
        sentences, length = len(self.sentences), self.step + 1
        # half precision cannot add up a sentence
        of_words = log_probabilities.to(torch.promote_types(log_probabilities.dtype, torch.float32))
        of_words = of_words.reshape(sentences, self.width, -1)
        output = None if self.said is None else self.said.view(sentences, self.width, -1)
        allowed = self.rules.apply(of_words, step=self.step, sentences=self.sentences, said=output)
        covered = self._cover(looks)
        base = self.total + covered * length**self.search.length_penalty
        parent, token = self.choose(self, base, allowed)
        of_token = allowed.flatten(1).gather(1, parent * allowed.size(-1) + token).cpu()
        parent, token = parent.cpu(), token.cpu()
        total = self.total.gather(1, parent) + of_token
        within = torch.arange(parent.size(1)) < self.places.unsqueeze(1)
        kept = within & (total != -torch.inf)
        stuck = ~kept.any(1) & (self.total != -torch.inf).any(1) & (self.reached[:, 0] == -torch.inf)
        if stuck.any():  # every word is impossible, and there must be an output: the likeliest ends here
            parent, token = parent.clone(), token.clone()
            parent[stuck, 0], token[stuck, 0], kept[stuck, 0] = self.total[stuck].argmax(1), self.end, True
        over = (token == self.end) | (length >= self.limits).unsqueeze(1)
        step = Step(
            sentences=self.sentences,
            parent=self.pick.gather(1, parent),
            row=torch.arange(sentences).unsqueeze(1) * self.width + parent,
            token=token,
            log_probability=of_token,
            score=score(total, length, length_penalty=self.search.length_penalty, covered=covered.gather(1, parent)),
            kept=kept,
            ended=kept & over,
            weights=looks,
        )
        self.total, self.step, self.rows = total, length, len(log_probabilities)
        return step

    def _cover(self, looks: Tensor | None) -> Tensor:
        """Say how much each hypothesis has left out of its source, this step's look included."""
        weight = self.search.coverage_penalty
        if not weight:
            return torch.zeros_like(self.total)
        self.coverage = seen(self.coverage, looks, weight=weight)
        lengths = self.lengths.repeat_interleave(self.width)
        return coverage_penalty(self.coverage, lengths, weight=weight).cpu().view_as(self.total)

    def advance(self, step: Step) -> Move | None:
        """Go on with what was kept and is not complete; None where nothing is left to do."""
        going = step.kept & ~step.ended
        self.total = self.total.masked_fill(~going, -torch.inf)
        going &= ~self._settled(step).unsqueeze(1)
        done = ~going.any(1)
        if done.all():
            return None
        # to copy the batch for a few sentences costs more than to take them along
        stay = (~done).nonzero().squeeze(1) if 8 * int(done.sum()) >= len(done) else torch.arange(len(done))
        order = self._order(going[stay])
        rows = step.row[stay].gather(1, order).flatten()
        tokens = step.token[stay].gather(1, order).view(-1, 1).to(self.device)
        self.total = self.total.masked_fill(~going, -torch.inf)[stay].gather(1, order)
        self.pick = order
        leaving = len(stay) < len(done)
        if leaving:
            self._leave(stay)
        same = not leaving and torch.equal(rows, torch.arange(self.rows))
        rows = rows.to(self.device)
        self._follow(None if same else rows, tokens)
        return Move(tokens, None if same else rows, stay.to(self.device) if leaving else None)

    def _settled(self, step: Step) -> Tensor:
        """Count what is complete, and say whose outputs can no longer change (see `bound`)."""
        if self.search.sampling is not None:
            return torch.zeros(len(self.sentences), dtype=torch.bool)
        if step.ended.any():
            self.places = self.places - step.ended.sum(1)
            scores = torch.cat([self.reached, step.score.masked_fill(~step.ended, -torch.inf)], dim=1)
            self.reached = scores.topk(self.search.n_best).values
        ahead = bound(self.total.amax(1), self.limits, length_penalty=self.search.length_penalty)
        return self.reached[:, -1] >= ahead

    def _order(self, going: Tensor) -> Tensor:
        """Choose which picks become rows: all, or those that go on where no sentence needs as many rows."""
        width = int(going.sum(1).max())
        if width == going.size(1) or self.search.sampling is not None:  # what is drawn keeps its place
            return torch.arange(going.size(1)).expand_as(going)
        return going.int().argsort(dim=1, descending=True, stable=True)[:, :width]

    def _leave(self, stay: Tensor) -> None:
        self.sentences, self.limits = self.sentences[stay], self.limits[stay]
        self.places, self.reached = self.places[stay], self.reached[stay]
        self.lengths = self.lengths[stay.to(self.device)]

    def _follow(self, rows: Tensor | None, tokens: Tensor) -> None:
        """Let what each row has said and seen go along with it."""
        if self.coverage is not None and rows is not None:
            self.coverage = self.coverage[rows]
        if self.said is not None:
            self.said = torch.cat([self.said if rows is None else self.said[rows], tokens], dim=1)
