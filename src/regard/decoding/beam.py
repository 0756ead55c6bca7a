"""The one search, batched over sentences: hypotheses grow by a word a step, the best go on or all that were drawn."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.decoding.best import Picks, best
from regard.decoding.frontier import Choose, Frontier
from regard.decoding.history import History
from regard.decoding.one_path import limits_of
from regard.decoding.rules import Rules, check_prefix
from regard.decoding.sampling import draw, uniform_numbers
from regard.decoding.search import Search
from regard.models.sequence.protocol import AnyModel


@torch.no_grad()
def explore(
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

    A step takes the likeliest continuations of a sentence's hypotheses, as many as its beam has places. One that is
    complete leaves the beam, which has one place less from then on; so a beam of one is greedy. A sentence is done when
    its beam is empty, or when nothing in it can become better than its `n_best` outputs (see `bound`).

    Sampling is the same without ranking: every place draws its own continuation.

    - `pruned`: keep so many more picks a step in the history, for those who want to see what was not taken.

    Reference: Graves (2012), algorithm 1, arXiv:1211.3711; Sutskever, Vinyals and Le (2014), section 3.2,
    arXiv:1409.3215 (a complete hypothesis leaves the beam).
    """
    batch, longest = source.shape
    lengths = torch.full((batch,), longest, device=source.device) if lengths is None else lengths.to(source.device)
    prefix = check_prefix(prefix, batch=batch, end=end, max_length=search.max_length)
    history = History(lengths.tolist(), end=end)
    if not batch:
        return history
    limits = limits_of(lengths, search.max_length).cpu()
    if search.max_length is None:
        limits = (limits + torch.tensor([len(item) for item in prefix])).clamp_min(search.min_length + 1)
    choose = _likeliest(pruned) if search.sampling is None else _drawn(search, source, lengths, limits)
    frontier = Frontier(search, Rules(search, end=end, prefix=prefix), choose, lengths=lengths, limits=limits, end=end)
    memory = model.encode(source, lengths)
    state = model.start(memory)
    tokens = torch.full((batch, 1), start, device=source.device)
    while True:
        looking = weights or search.coverage_penalty > 0
        log_probabilities, state, attended = model.step(tokens, state, memory, weights=looking)
        step = frontier.extend(log_probabilities[:, -1], None if attended is None else attended[..., -1, :])
        history.add(step if weights else step._replace(weights=None))
        move = frontier.advance(step)
        if move is None:
            return history
        tokens = move.tokens
        state = state if move.rows is None else state.select(move.rows)
        memory = memory if move.sentences is None else memory.select(move.sentences)


def _likeliest(pruned: int) -> Choose:
    def choose(frontier: Frontier, base: Tensor, log_probabilities: Tensor) -> Picks:
        return best(base.to(log_probabilities), log_probabilities, int(frontier.places.max()) + pruned)

    return choose


def _drawn(search: Search, source: Tensor, lengths: Tensor, limits: Tensor) -> Choose:
    sampling = search.sampling
    assert sampling is not None
    sources = [row[:length] for row, length in zip(source.tolist(), lengths.tolist(), strict=True)]
    numbers = uniform_numbers(sources, limits.tolist(), count=search.n_best, seed=sampling.seed)

    def choose(frontier: Frontier, base: Tensor, log_probabilities: Tensor) -> Picks:
        now = numbers[frontier.sentences, :, frontier.step]
        return draw(log_probabilities, now.to(log_probabilities.device), sampling)

    return choose
