"""Beam search, batched over sentences; sampling and greedy decoding run through the same loop.

All hypotheses of all sentences are rows of one batch, equally many for each sentence and side by side: of a beam that
is `width` wide, row r belongs to sentence r // width. A sentence that needs fewer fills its rows with dead hypotheses,
whose log-probability is −∞, so that no continuation of them is ever picked.

`BeamStep` is one step: all of it on the model's device, without a question to the host. Between steps the host reads
which hypotheses are alive, and leaves out what is done: after every step here, after several in `captured.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.history import Choice, History, Picks, Step
from regard.decoding.ranking import add_coverage, best, bound, coverage_penalty, power, score
from regard.decoding.rules import Rules, check_prefix
from regard.decoding.sampling import draw, uniform_numbers
from regard.decoding.search import Search, length_limits
from regard.decoding.shortlist import ShortlistedMemory
from regard.models.sequence.protocol import AnyModel, Stepped

#: Picks continuations, from what each hypothesis has, (sentences, width), and the log-probability of every word after
#: it, (sentences, width, vocabulary), to be added for ranking.
Choose = Callable[["Beam", Tensor, Tensor], Picks]


class Beam(NamedTuple):
    """The unfinished hypotheses of all sentences, in tensors on the model's device: what one step hands to the next."""

    step: int | Int[Tensor, ""]
    """How many tokens there are so far; a tensor where the device alone counts."""
    sentences: Int[Tensor, " sentences"]
    """Which sentences of the batch these are."""
    lengths: Int[Tensor, " sentences"]
    """Source tokens of each."""
    limits: Int[Tensor, " sentences"]
    """Tokens of an output at most."""
    open: Int[Tensor, " sentences"]
    """How many hypotheses each sentence may still keep."""
    best_scores: Float[Tensor, "sentences n_best"]
    """The scores of its best outputs so far."""
    total: Float[Tensor, "sentences width"]
    """The log-probability of each hypothesis; −∞ where it is dead."""
    pick: Int[Tensor, "sentences width"]
    """Which pick of the last step it was."""
    tokens: Int[Tensor, "rows 1"]
    """The last token of each: the input of the model's next step."""
    rows: Int[Tensor, " rows"] | None
    """The rows of the model's state that go on, in this order; None where all do, as they are."""
    generated: Int[Tensor, "rows generated"] | None
    """All tokens of each, where a rule needs them."""
    coverage: Float[Tensor, "rows source"] | None
    """How much each has attended to every source token, where that is penalized."""

    @property
    def width(self) -> int:
        """How many rows each sentence has."""
        return self.total.size(1)

    def select(self, stay: Int[Tensor, " staying"], order: Int[Tensor, "staying width"] | None = None) -> "Beam":
        """Go on with these sentences, and of each with these hypotheses, or all."""
        order = torch.arange(self.width, device=stay.device).expand(len(stay), -1) if order is None else order
        rows = (stay.unsqueeze(1) * self.width + order).flatten()
        return self._replace(
            sentences=self.sentences[stay],
            lengths=self.lengths[stay],
            limits=self.limits[stay],
            open=self.open[stay],
            best_scores=self.best_scores[stay],
            total=self.total[stay].gather(1, order),
            pick=self.pick[stay].gather(1, order),
            tokens=self.tokens[rows],
            rows=rows if self.rows is None else self.rows[rows],
            generated=None if self.generated is None else self.generated[rows],
            coverage=None if self.coverage is None else self.coverage[rows],
        )


def first_beam(
    search: Search, lengths: Int[Tensor, " batch"], limits: Int[Tensor, " batch"], *, start: int, history: bool = False
) -> Beam:
    """Give the beam before any token, with one hypothesis for each sentence."""
    batch, device = lengths.size(0), lengths.device
    rows = torch.arange(batch, device=device)
    return Beam(
        step=0,
        sentences=rows,
        lengths=lengths,
        limits=limits,
        open=torch.full_like(rows, search.beam if search.sampling is None else search.n_best),
        best_scores=torch.full((batch, search.n_best), -torch.inf, device=device),
        total=torch.zeros(batch, 1, device=device),
        pick=torch.zeros_like(rows).unsqueeze(1),
        tokens=torch.full((batch, 1), start, device=device),
        rows=None,
        generated=rows.new_zeros(batch, 0) if history else None,
        coverage=None,
    )


class BeamStep:
    """Takes one step of all hypotheses: predicts, picks continuations, and marks which are kept and complete."""

    def __init__(
        self, model: AnyModel, search: Search, rules: Rules, choose: Choose, *, end: int, weights: bool = False
    ) -> None:
        self.model, self.search, self.rules, self.choose, self.end = model, search, rules, choose, end
        self.weights = weights or search.coverage_penalty > 0

    def __call__(self, beam: Beam, state: Any, memory: Any) -> tuple[Beam, Any, Step]:
        """Give the beam and the model's state after the step, and its picks.

        State is per hypothesis and follows its row: a hypothesis with two continuations is copied, one without any is
        left out. Memory is per sentence: it changes only when sentences leave.
        """
        if beam.rows is not None:
            state = state.select(beam.rows)
        words, state, weights = self.predict(beam, state, memory)
        weights = None if weights is None else weights[..., -1, :]
        coverage = self._cover(beam, weights)
        covered = self._penalty(beam, coverage)
        choice = self.pick(beam, words, covered)
        if isinstance(memory, ShortlistedMemory):
            choice = choice._replace(token=memory.words[choice.token])
        step, total = self._extend(beam, choice, covered, weights)
        return self._advance(beam, step, total, coverage), state, step

    def predict(self, beam: Beam, state: Any, memory: Any) -> Stepped[Any]:
        """Give the log-probability of every word after each hypothesis, or what `pick` takes for it."""
        return self.model.step(beam.tokens, state, memory, weights=self.weights)

    def pick(
        self, beam: Beam, words: Float[Tensor, "rows new words"], covered: Float[Tensor, "sentences width"] | None
    ) -> Choice:
        """Pick the continuations, by what `predict` gave of all words and the coverage penalty of each hypothesis."""
        sentences, width = beam.total.shape
        # half precision cannot add up a sentence
        of_words = words[:, -1].to(torch.promote_types(words.dtype, torch.float32)).reshape(sentences, width, -1)
        generated = None if beam.generated is None else beam.generated.view(sentences, width, -1)
        allowed = self.rules.apply(of_words, step=beam.step, sentences=beam.sentences, generated=generated)
        # All continuations of a step are equally long. So ranking by (total + log p) / length^α + covered is ranking by
        # total + covered · length^α + log p, a sum with the log-probabilities as they came from the model.
        base = beam.total
        if covered is not None:
            base = base + covered * power(beam.step + 1, self.search.length_penalty)
        parent, token = self.choose(beam, base, allowed)
        return Choice(parent, token, allowed.flatten(1).gather(1, parent * allowed.size(-1) + token))

    def _cover(self, beam: Beam, weights: Tensor | None) -> Tensor | None:
        weight = self.search.coverage_penalty
        return add_coverage(beam.coverage, weights, weight=weight) if weight else None

    def _extend(
        self, beam: Beam, choice: Choice, covered: Tensor | None, weights: Tensor | None
    ) -> tuple[Step, Tensor]:
        """Mark which continuations are kept and complete; give them with their log-probabilities."""
        sentences, width = beam.total.shape
        length, penalty = beam.step + 1, self.search.length_penalty
        parent, token, of_token = choice
        total = beam.total.gather(1, parent) + of_token
        picks = torch.arange(parent.size(1), device=parent.device)
        kept = (picks < beam.open.unsqueeze(1)) & (total != -torch.inf)
        stuck = ~kept.any(1) & (beam.total != -torch.inf).any(1) & (beam.best_scores[:, 0] == -torch.inf)
        ends_here = stuck.unsqueeze(1) & (picks == 0)  # every word is impossible: the likeliest hypothesis is complete
        parent = torch.where(ends_here, beam.total.argmax(1, keepdim=True), parent)
        token, kept = token.masked_fill(ends_here, self.end), kept | ends_here
        over = (token == self.end) | (length >= beam.limits).unsqueeze(1)
        step = Step(
            sentences=beam.sentences,
            parent=beam.pick.gather(1, parent),
            row=torch.arange(sentences, device=parent.device).unsqueeze(1) * width + parent,
            token=token,
            log_probability=of_token,
            score=score(
                total, length, length_penalty=penalty, covered=None if covered is None else covered.gather(1, parent)
            ),
            kept=kept,
            ended=kept & over,
            weights=weights,
        )
        return step, total

    def _penalty(self, beam: Beam, coverage: Tensor | None) -> Tensor | None:
        """Give the coverage penalty of each hypothesis, this step's weights included, if there is one."""
        if coverage is None:
            return None
        lengths = beam.lengths.repeat_interleave(beam.width)
        return coverage_penalty(coverage, lengths, weight=self.search.coverage_penalty).view_as(beam.total)

    def _advance(self, beam: Beam, step: Step, total: Tensor, coverage: Tensor | None) -> Beam:
        """Go on with what was kept and is not complete.

        A complete hypothesis is in the history already. Here it is only marked dead, so that it cannot be continued.
        """
        active = step.kept & ~step.ended
        remaining, best_scores = beam.open, beam.best_scores
        if self.search.sampling is None:
            remaining = beam.open - step.ended.sum(1)
            complete = torch.where(step.ended, step.score, -torch.inf)
            scores, count = torch.cat([beam.best_scores, complete], dim=1), self.search.n_best
            best_scores = scores.amax(1, keepdim=True) if count == 1 else scores.topk(count).values
            live = torch.where(active, total, -torch.inf)
            active &= ~self._settled(live, best_scores, beam.limits).unsqueeze(1)
        sentences, picks = active.shape
        rows, tokens = step.row.flatten(), step.token.view(-1, 1)
        generated = beam.generated
        return beam._replace(
            step=beam.step + 1,
            open=remaining,
            best_scores=best_scores,
            total=torch.where(active, total, -torch.inf),
            pick=torch.arange(picks, device=rows.device).expand(sentences, -1),
            tokens=tokens,
            rows=None if beam.width == picks == 1 else rows,
            generated=None if generated is None else torch.cat([generated[rows], tokens], dim=1),
            coverage=None if coverage is None else coverage[rows],
        )

    def _settled(self, total: Tensor, best_scores: Tensor, limits: Tensor) -> Tensor:
        """Mark the sentences whose outputs can no longer change.

        `bound` of the likeliest unfinished hypothesis is an upper bound for all of the sentence: the others have a
        lower log-probability and the same limit. Once the worst of the `n_best` outputs reaches it, none can be
        overtaken. Dead hypotheses have −∞ and never hold a sentence back.
        """
        return best_scores[:, -1] >= bound(total.amax(1), limits, length_penalty=self.search.length_penalty)


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
    limits = output_limits(search, lengths, prefix)
    choose = _likeliest(pruned) if search.sampling is None else _drawn(search, source, lengths, limits)
    rules = Rules(search, end=end, prefix=prefix, device=source.device)
    take_step = BeamStep(model, search, rules, choose, end=end, weights=weights)
    beam = first_beam(search, lengths, limits, start=start, history=rules.need_history)
    memory = model.encode(source, lengths)
    state = model.start(memory)
    while True:
        beam, state, step = take_step(beam, state, memory)
        history.add(step if weights else step._replace(weights=None))
        narrowed = narrow(beam, may_reorder=search.sampling is None)  # a drawn output keeps its row, and its stream
        if narrowed is None:
            return history
        beam, stay = narrowed
        memory = memory if stay is None else memory.select(stay)


def output_limits(
    search: Search, lengths: Int[Tensor, " batch"], prefix: Sequence[Sequence[int]]
) -> Int[Tensor, " batch"]:
    """Give how many tokens each output may have; a prefix comes on top, unless `max_length` says."""
    limits = length_limits(lengths, search.max_length)
    if search.max_length is None:
        begun = torch.tensor([len(item) for item in prefix], device=lengths.device)
        limits = (limits + begun).clamp_min(search.min_length + 1)
    return limits


def narrow(beam: Beam, *, may_reorder: bool) -> tuple[Beam, Int[Tensor, " staying"] | None] | None:
    """Leave out what is done: give the beam and the sentences that stay, None for all; None where no sentence is left.

    Sentences that are done leave, but not one by one: copying the batch costs more than some dead rows. Hypotheses
    leave where no sentence needs as many rows.
    """
    active = beam.total != -torch.inf
    alive = active.sum(1)
    done = alive == 0
    leaving, width = int(done.sum()), int(alive.max())
    if not width:
        return None
    stay = (~done).nonzero().squeeze(1) if 8 * leaving >= len(done) and leaving else None
    order = None
    if may_reorder and width < active.size(1):
        # The sort is stable, so that the picks of a sentence stay best first. A sentence with fewer active picks than
        # the widest gets dead ones as well.
        order = active.int().argsort(dim=1, descending=True, stable=True)[:, :width]
    rows = beam.rows
    if stay is not None or order is not None:
        all_stay = torch.arange(len(done), device=done.device) if stay is None else stay
        beam = beam.select(all_stay, order if order is None else order[all_stay])
    elif rows is not None and torch.equal(rows, torch.arange(len(rows), device=rows.device)):
        beam = beam._replace(rows=None)  # all go on as they are
    return beam, stay


def _likeliest(pruned: int) -> Choose:
    def choose(beam: Beam, base: Tensor, log_probabilities: Tensor) -> Picks:
        return best(base.to(log_probabilities), log_probabilities, int(beam.open.max()) + pruned)

    return choose


def _drawn(search: Search, source: Tensor, lengths: Tensor, limits: Tensor) -> Choose:
    sampling = search.sampling
    assert sampling is not None
    sources = [row[:length] for row, length in zip(source.tolist(), lengths.tolist(), strict=True)]
    numbers = uniform_numbers(sources, limits.tolist(), count=search.n_best, seed=sampling.seed).to(source.device)

    def choose(beam: Beam, base: Tensor, log_probabilities: Tensor) -> Picks:
        return draw(log_probabilities, numbers[beam.sentences, :, beam.step], sampling)

    return choose
