"""Search that keeps one hypothesis for each sentence: greedy decoding."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.errors import ArgumentError
from regard.models.sequence.protocol import AnyModel

#: Chooses a token for each row from the log-probabilities of all.
Choose = Callable[[Tensor], Tensor]


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
    """Say a token after the other, as `choose` decides, until `end` or until there are `max_length` of them.

    Sentences that have ended leave the batch. Without `max_length`, an output may have twice as many tokens as its
    source, and twenty more.
    """
    batch, longest = source.shape
    lengths = torch.full((batch,), longest, device=source.device) if lengths is None else lengths.to(source.device)
    limits = limits_of(lengths, max_length)
    if not batch:
        return []
    memory = model.encode(source, lengths)
    state = model.start(memory)
    paths = _Paths(lengths, end, limits)
    tokens = torch.full((batch, 1), start, device=source.device)
    while True:
        log_probabilities, state, attended = model.step(tokens, state, memory, weights=weights)
        chosen = choose(log_probabilities[:, -1])
        paths.extend(chosen, log_probabilities[:, -1], None if attended is None else attended[..., -1, :])
        if not len(paths.going):
            return paths.ended()
        left = paths.left()
        if left is not None:
            left = left.to(source.device)
            memory, state, chosen = memory.select(left), state.select(left), chosen[left]
        tokens = chosen.unsqueeze(-1)


def limits_of(lengths: Int[Tensor, " batch"], max_length: int | None) -> Int[Tensor, " batch"]:
    """Say how many tokens each output may have: by default twice as many as its source, and twenty more."""
    if max_length is None:
        return 2 * lengths + 20
    if max_length < 1:
        raise ArgumentError(f"`max_length` must be at least 1; received {max_length}.")
    return torch.full_like(lengths, max_length)


class _Paths:
    """The paths so far. Rows that have ended stay in the batch until there are enough of them to be worth a copy."""

    def __init__(self, lengths: Tensor, end: int, limits: Tensor) -> None:
        self.lengths, self.end, self.limits = lengths.tolist(), end, limits.tolist()
        self.rows = list(range(len(self.lengths)))  # the sentence of each row of the batch
        self.going = set(self.rows)
        self.tokens: list[list[int]] = [[] for _ in self.rows]
        self.log_probabilities: list[list[float]] = [[] for _ in self.rows]
        self.looks: list[list[Tensor]] = [[] for _ in self.rows]
        self.finished = [False] * len(self.rows)

    def extend(
        self,
        chosen: Int[Tensor, " rows"],
        log_probabilities: Float[Tensor, "rows vocabulary"],
        looks: Float[Tensor, "rows layers heads source"] | None,
    ) -> None:
        """Add a token to every path that is still going."""
        of_chosen = log_probabilities.gather(-1, chosen.unsqueeze(-1)).squeeze(-1).tolist()
        for row, (token, log_probability) in enumerate(zip(chosen.tolist(), of_chosen, strict=True)):
            sentence = self.rows[row]
            if sentence not in self.going:
                continue
            self.tokens[sentence].append(token)
            self.log_probabilities[sentence].append(log_probability)
            if looks is not None:
                self.looks[sentence].append(looks[row])
            self.finished[sentence] = token == self.end
            if token == self.end or len(self.tokens[sentence]) >= self.limits[sentence]:
                self.going.remove(sentence)

    def left(self) -> Tensor | None:
        """Give the rows of the batch that are still going, where an eighth or more are not."""
        if 8 * (len(self.rows) - len(self.going)) < len(self.rows):
            return None
        rows = [row for row, sentence in enumerate(self.rows) if sentence in self.going]
        self.rows = [self.rows[row] for row in rows]
        return torch.tensor(rows)

    def ended(self) -> list[Hypothesis]:
        """Give a hypothesis for each sentence, in the order they came."""
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
        attended = self.looks[sentence]
        return torch.stack(attended, dim=-2)[..., : self.lengths[sentence]] if attended else None
