"""Greedy decoding: one hypothesis per sentence, extended by the likeliest token."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import length_limits
from regard.models.sequence.protocol import AnyModel

#: Chooses a token for each row, (rows,), from the log-probabilities of all, (rows, vocabulary).
Choose = Callable[[Tensor], Tensor]


def greedy(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    start: int,
    end: int,
    max_length: int | None = None,
    weights: bool = False,
) -> list[Hypothesis]:
    r"""Generate the likeliest token after those so far, until the end token.

    $$y_i = \arg\max_y p(y \mid y_{<i}, x)$$

    One hypothesis for each row of `source`, in order. Put the model into evaluation mode first: dropout would act.

    - `start`, `end`: the tokens that open and close an output.
    - `max_length`: tokens generated at most; by default twice as many as the source has, and twenty more.
    - `weights`: also give what each token attended to, per layer and head. The tokens are the same.
    """
    return follow(
        model,
        source,
        lengths,
        choose=_likeliest,
        start=start,
        end=end,
        max_length=max_length,
        weights=weights,
    )


def _likeliest(log_probabilities: Tensor) -> Tensor:
    return log_probabilities.argmax(-1)


@torch.no_grad()
def follow(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    choose: Choose,
    start: int,
    end: int,
    max_length: int | None = None,
    weights: bool = False,
) -> list[Hypothesis]:
    """Generate one token after the other, as `choose` decides, until `end` or until there are `max_length` of them.

    Sentences that have ended leave the batch. Without `max_length`, an output may have twice as many tokens as its
    source, and twenty more.
    """
    batch, longest = source.shape
    lengths = torch.full((batch,), longest, device=source.device) if lengths is None else lengths.to(source.device)
    limits = length_limits(lengths, max_length)
    if not batch:
        return []
    memory = model.encode(source, lengths)
    state = model.start(memory)
    paths = _Paths(lengths, end, limits)
    tokens = torch.full((batch, 1), start, device=source.device)
    while True:
        log_probabilities, state, step_weights = model.step(tokens, state, memory, weights=weights)
        chosen = choose(log_probabilities[:, -1])
        paths.extend(chosen, log_probabilities[:, -1], None if step_weights is None else step_weights[..., -1, :])
        if not len(paths.active):
            return paths.hypotheses()
        remaining = paths.drop_ended()
        if remaining is not None:
            remaining = remaining.to(source.device)
            memory, state, chosen = memory.select(remaining), state.select(remaining), chosen[remaining]
        tokens = chosen.unsqueeze(-1)


class _Paths:
    """The paths so far. Rows that have ended stay in the batch until there are enough of them to be worth a copy."""

    def __init__(self, lengths: Tensor, end: int, limits: Tensor) -> None:
        self.lengths, self.end, self.limits = lengths.tolist(), end, limits.tolist()
        self.rows = list(range(len(self.lengths)))  # the sentence of each row of the batch
        self.active = set(self.rows)
        self.tokens: list[list[int]] = [[] for _ in self.rows]
        self.log_probabilities: list[list[float]] = [[] for _ in self.rows]
        self.weights: list[list[Tensor]] = [[] for _ in self.rows]
        self.finished = [False] * len(self.rows)

    def extend(
        self,
        chosen: Int[Tensor, " rows"],
        log_probabilities: Float[Tensor, "rows vocabulary"],
        weights: Float[Tensor, "rows layers heads source"] | None,
    ) -> None:
        """Add a token to every path that is still active."""
        of_chosen = log_probabilities.gather(-1, chosen.unsqueeze(-1)).squeeze(-1).tolist()
        for row, (token, log_probability) in enumerate(zip(chosen.tolist(), of_chosen, strict=True)):
            sentence = self.rows[row]
            if sentence not in self.active:
                continue
            self.tokens[sentence].append(token)
            self.log_probabilities[sentence].append(log_probability)
            if weights is not None:
                self.weights[sentence].append(weights[row])
            self.finished[sentence] = token == self.end
            if token == self.end or len(self.tokens[sentence]) >= self.limits[sentence]:
                self.active.remove(sentence)

    def drop_ended(self) -> Tensor | None:
        """Give the rows of the batch that are still active, where an eighth or more are not; else None."""
        if 8 * (len(self.rows) - len(self.active)) < len(self.rows):
            return None
        rows = [row for row, sentence in enumerate(self.rows) if sentence in self.active]
        self.rows = [self.rows[row] for row in rows]
        return torch.tensor(rows)

    def hypotheses(self) -> list[Hypothesis]:
        """Give a hypothesis for each sentence, in the order of the batch."""
        return [
            Hypothesis(
                tokens=tuple(self.tokens[sentence]),
                log_probabilities=tuple(self.log_probabilities[sentence]),
                finished=self.finished[sentence],
                weights=self._weights(sentence),
            )
            for sentence in range(len(self.tokens))
        ]

    def _weights(self, sentence: int) -> Tensor | None:
        weights = self.weights[sentence]
        return torch.stack(weights, dim=-2)[..., : self.lengths[sentence]] if weights else None
