"""Beam search, batched over sentences; sampling and greedy decoding run through the same loop.

All hypotheses of all sentences are rows of one batch, equally many for each sentence and side by side: of a beam that
is `width` wide, row r belongs to sentence r // width. A sentence that needs fewer fills its rows with dead hypotheses,
whose log-probability is −∞, so that no continuation of them is ever picked.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decoding.history import History, Picks, Step
from regard.decoding.ranking import add_coverage, best, bound, coverage_penalty, score
from regard.decoding.rules import Rules, check_prefix
from regard.decoding.sampling import draw, uniform_numbers
from regard.decoding.search import Search, length_limits
from regard.models.sequence.protocol import AnyModel

#: Picks continuations, from what each hypothesis has, (sentences, width), and the log-probability of every word after
#: it, (sentences, width, vocabulary), to be added for ranking.
Choose = Callable[["Beam", Tensor, Tensor], Picks]


@torch.no_grad()
def beam_search(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    search: Search,
    start: int,
    end: int,
    weights: bool = False,
    prefix: Sequence[Sequence[int]] | None = None,
    pruned: int = 0,
) -> History:
    """Search for the outputs of every row of `source`, and give all that was picked on the way.

    A step takes the likeliest continuations of a sentence's hypotheses, as many as its beam is wide. One that is
    complete leaves the beam, which is narrower by one from then on; so a beam of one is greedy. A sentence is done when
    its beam is empty, or when nothing in it can become better than its `n_best` outputs (see `bound`).

    Sampling is the same without ranking: every row draws its own continuation.

    - `pruned`: keep so many more picks a step in the history, to show what was considered and not taken.

    Reference: Graves (2012), algorithm 1, arXiv:1211.3711; Sutskever, Vinyals and Le (2014), section 3.2,
    arXiv:1409.3215 (a complete hypothesis leaves the beam).
    """
    batch, longest = source.shape
    lengths = torch.full((batch,), longest, device=source.device) if lengths is None else lengths.to(source.device)
    prefix = check_prefix(prefix, batch=batch, end=end, max_length=search.max_length)
    history = History(lengths.tolist(), end=end)
    if not batch:
        return history
    limits = length_limits(lengths, search.max_length).cpu()
    if search.max_length is None:
        limits = (limits + torch.tensor([len(item) for item in prefix])).clamp_min(search.min_length + 1)
    choose = _likeliest(pruned) if search.sampling is None else _drawn(search, source, lengths, limits)
    beam = Beam(search, Rules(search, end=end, prefix=prefix), choose, lengths=lengths, limits=limits, end=end)
    memory = model.encode(source, lengths)
    state = model.start(memory)
    tokens = torch.full((batch, 1), start, device=source.device)
    while True:
        needs_weights = weights or search.coverage_penalty > 0
        log_probabilities, state, step_weights = model.step(tokens, state, memory, weights=needs_weights)
        step = beam.extend(log_probabilities[:, -1], None if step_weights is None else step_weights[..., -1, :])
        history.add(step if weights else step._replace(weights=None))
        following = beam.advance(step)
        if following is None:
            return history
        # State is per hypothesis and follows its row: a hypothesis with two continuations is copied, one without any is
        # left out. Memory is per sentence: it changes only when sentences leave.
        tokens = following.tokens
        state = state if following.rows is None else state.select(following.rows)
        memory = memory if following.sentences is None else memory.select(following.sentences)


def _likeliest(pruned: int) -> Choose:
    def choose(beam: Beam, base: Tensor, log_probabilities: Tensor) -> Picks:
        return best(base.to(log_probabilities), log_probabilities, int(beam.open.max()) + pruned)

    return choose


def _drawn(search: Search, source: Tensor, lengths: Tensor, limits: Tensor) -> Choose:
    sampling = search.sampling
    assert sampling is not None
    sources = [row[:length] for row, length in zip(source.tolist(), lengths.tolist(), strict=True)]
    numbers = uniform_numbers(sources, limits.tolist(), count=search.n_best, seed=sampling.seed)

    def choose(beam: Beam, base: Tensor, log_probabilities: Tensor) -> Picks:
        now = numbers[beam.sentences, :, beam.step]
        return draw(log_probabilities, now.to(log_probabilities.device), sampling)

    return choose


class NextStep(NamedTuple):
    """The input of the model's next step."""

    tokens: Int[Tensor, "rows 1"]
    rows: Int[Tensor, " rows"] | None
    """The rows of the state that go on, in this order; None where all do, as they are."""
    sentences: Int[Tensor, " sentences"] | None
    """The rows of the memory that go on; None where all do."""


class Beam:
    """The unfinished hypotheses of all sentences: `extend` picks their continuations, `advance` moves on to them.

    What is small, a number for each hypothesis, lives on the CPU; the model's tensors stay where they are.
    """

    def __init__(
        self,
        search: Search,
        rules: Rules,
        choose: Choose,
        *,
        lengths: Int[Tensor, " batch"],
        limits: Int[Tensor, " batch"],
        end: int,
    ) -> None:
        batch = lengths.size(0)
        self.search, self.rules, self.choose, self.end = search, rules, choose, end
        self.lengths, self.limits = lengths, limits
        self.device = lengths.device
        self.step = 0
        self.sentences = torch.arange(batch)
        self.rows = batch  # of the last step
        self.total = torch.zeros(batch, 1)  # log-probability of each hypothesis, (sentences, width)
        self.pick = torch.zeros(batch, 1, dtype=torch.long)  # which pick of the last step it was
        # how many hypotheses each sentence may still keep, and the scores of its best outputs so far
        self.open = torch.full((batch,), search.beam if search.sampling is None else search.n_best)
        self.best_scores = torch.full((batch, search.n_best), -torch.inf)
        self.generated = torch.zeros(batch, 0, dtype=torch.long, device=self.device) if rules.need_history else None
        self.coverage: Tensor | None = None

    @property
    def width(self) -> int:
        """How many rows each sentence has."""
        return self.total.size(1)

    def extend(
        self,
        log_probabilities: Float[Tensor, "rows vocabulary"],
        weights: Float[Tensor, "rows layers heads source"] | None,
    ) -> Step:
        """Pick continuations, and mark which are kept and which are complete."""
        sentences, length = len(self.sentences), self.step + 1
        # half precision cannot add up a sentence
        of_words = log_probabilities.to(torch.promote_types(log_probabilities.dtype, torch.float32))
        of_words = of_words.reshape(sentences, self.width, -1)
        generated = None if self.generated is None else self.generated.view(sentences, self.width, -1)
        allowed = self.rules.apply(of_words, step=self.step, sentences=self.sentences, generated=generated)
        covered = self._cover(weights)
        # All continuations of a step are equally long. So ranking by (total + log p) / length^α + covered is ranking by
        # total + covered · length^α + log p, a sum with the log-probabilities as they came from the model.
        base = self.total + covered * length**self.search.length_penalty
        parent, token = self.choose(self, base, allowed)
        of_token = allowed.flatten(1).gather(1, parent * allowed.size(-1) + token).cpu()
        parent, token = parent.cpu(), token.cpu()
        total = self.total.gather(1, parent) + of_token
        within = torch.arange(parent.size(1)) < self.open.unsqueeze(1)
        kept = within & (total != -torch.inf)
        stuck = ~kept.any(1) & (self.total != -torch.inf).any(1) & (self.best_scores[:, 0] == -torch.inf)
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
            weights=weights,
        )
        self.total, self.step, self.rows = total, length, len(log_probabilities)
        return step

    def _cover(self, weights: Tensor | None) -> Tensor:
        """Give the coverage penalty of each hypothesis, this step's weights included."""
        weight = self.search.coverage_penalty
        if not weight:
            return torch.zeros_like(self.total)
        self.coverage = add_coverage(self.coverage, weights, weight=weight)
        lengths = self.lengths.repeat_interleave(self.width)
        return coverage_penalty(self.coverage, lengths, weight=weight).cpu().view_as(self.total)

    def advance(self, step: Step) -> NextStep | None:
        """Go on with what was kept and is not complete; None where no sentence is left."""
        # A complete hypothesis is in the history already. Here it is only marked dead, so that it cannot be continued.
        active = step.kept & ~step.ended
        self.total = self.total.masked_fill(~active, -torch.inf)
        active &= ~self._settled(step).unsqueeze(1)
        done = ~active.any(1)
        if done.all():
            return None
        # Sentences that are done leave the batch, but not one by one: copying the batch costs more than some dead rows.
        stay = (~done).nonzero().squeeze(1) if 8 * int(done.sum()) >= len(done) else torch.arange(len(done))
        order = self._order(active[stay])
        rows = step.row[stay].gather(1, order).flatten()
        tokens = step.token[stay].gather(1, order).view(-1, 1).to(self.device)
        self.total = self.total.masked_fill(~active, -torch.inf)[stay].gather(1, order)
        self.pick = order
        leaving = len(stay) < len(done)
        if leaving:
            self._leave(stay)
        same = not leaving and torch.equal(rows, torch.arange(self.rows))
        rows = rows.to(self.device)
        self._reorder(None if same else rows, tokens)
        return NextStep(tokens, None if same else rows, stay.to(self.device) if leaving else None)

    def _settled(self, step: Step) -> Bool[Tensor, " sentences"]:
        """Count what is complete, and mark the sentences whose outputs can no longer change.

        `bound` of the likeliest unfinished hypothesis is an upper bound for all of the sentence: the others have a
        lower log-probability and the same limit. Once the worst of the `n_best` outputs reaches it, none can be
        overtaken. Dead hypotheses have −∞ and never hold a sentence back.
        """
        if self.search.sampling is not None:
            return torch.zeros(len(self.sentences), dtype=torch.bool)
        if step.ended.any():
            self.open = self.open - step.ended.sum(1)
            scores = torch.cat([self.best_scores, step.score.masked_fill(~step.ended, -torch.inf)], dim=1)
            self.best_scores = scores.topk(self.search.n_best).values
        ahead = bound(self.total.amax(1), self.limits, length_penalty=self.search.length_penalty)
        return self.best_scores[:, -1] >= ahead

    def _order(self, active: Bool[Tensor, "sentences picks"]) -> Int[Tensor, "sentences width"]:
        """Choose which picks become rows: all, or the active ones where no sentence needs as many rows.

        The sort is stable, so that the picks of a sentence stay best first. A sentence with fewer active picks than
        the widest gets dead ones as well.
        """
        width = int(active.sum(1).max())
        if width == active.size(1) or self.search.sampling is not None:  # a drawn output keeps its row, and its stream
            return torch.arange(active.size(1)).expand_as(active)
        return active.int().argsort(dim=1, descending=True, stable=True)[:, :width]

    def _leave(self, stay: Tensor) -> None:
        """Forget the sentences that are done."""
        self.sentences, self.limits = self.sentences[stay], self.limits[stay]
        self.open, self.best_scores = self.open[stay], self.best_scores[stay]
        self.lengths = self.lengths[stay.to(self.device)]

    def _reorder(self, rows: Tensor | None, tokens: Tensor) -> None:
        """Take along what belongs to each row: its coverage, and its tokens with the new one."""
        if self.coverage is not None and rows is not None:
            self.coverage = self.coverage[rows]
        if self.generated is not None:
            self.generated = torch.cat([self.generated if rows is None else self.generated[rows], tokens], dim=1)
