"""Chapter 5: attention as soft look-up."""

import torch
from torch import Tensor

from regard.attention import Hard, ScaledDot, attention
from regard.course.exercise import Case, Exercise, Mistake


def softmax(scores: Tensor) -> Tensor:
    """Turn each row of scores into weights that are positive and sum to one.

    `α_j = exp(e_j) / Σ_l exp(e_l)` along the last axis, also where scores are in the thousands.
    """
    return torch.softmax(scores, dim=-1)


def _down(scores: Tensor) -> Tensor:
    return torch.softmax(scores, dim=0)


def _overflowing(scores: Tensor) -> Tensor:
    powers = scores.exp()
    return powers / powers.sum(-1, keepdim=True)


def _row_cases() -> list[Case]:
    rows = [torch.tensor([[0.0, 1.0]]), torch.tensor([[1.0, 2.0], [3.0, 3.0]]), torch.tensor([[1000.0, 1000.0, 0.0]])]
    return [{"scores": row} for row in (*rows, torch.randn(3, 4))]


def soft_lookup(query: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    """Retrieve a value from a soft dictionary.

    `query` is (size,), `keys` (n, size), `values` (n, value size). The score of a key is its dot product with the
    query, divided by `temperature`; give the mean of the values weighted by the softmax of the scores.
    """
    context: Tensor = attention(query[None], keys, values, score=ScaledDot(1 / temperature))
    return context[0]


def _cold(query: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    return torch.softmax(keys @ query * temperature, 0) @ values


def _hardest(query: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    context: Tensor = attention(query[None], keys, values, normalize=Hard())
    return context[0]


def _lookup_cases() -> list[Case]:
    plain = {"query": torch.tensor([1.0, 0.0]), "keys": torch.eye(2), "values": torch.tensor([[1.0], [0.0]])}
    drawn = [
        {"query": torch.randn(3), "keys": torch.randn(n, 3), "values": torch.randn(n, 2), "temperature": temperature}
        for n, temperature in ((3, 1.0), (4, 0.2), (5, 10.0))
    ]
    return [{**plain, "temperature": 0.5}, *drawn]


def weight_entropy(weights: Tensor) -> Tensor:
    """Give how spread out each row of weights is, in nats.

    `H = −Σ_j α_j log α_j` along the last axis, where a weight of zero adds nothing.
    """
    parts: Tensor = torch.special.entr(weights)
    return parts.sum(-1)


EXERCISES = (
    Exercise(
        number="5.1",
        title="A softmax that does not overflow",
        reference=softmax,
        cases=_row_cases,
        hints=(
            "Adding a number to all scores of a row changes nothing: it cancels.",
            "Subtract the largest score of each row, `scores.amax(-1, keepdim=True)`, before `exp`.",
        ),
        mistakes=(
            Mistake(answer=_overflowing, reason="exp(1000) is more than a float holds: infinity over infinity is NaN."),
            Mistake(answer=_down, reason="The sum runs down the columns; each row must sum to one."),
        ),
    ),
    Exercise(
        number="5.2",
        title="A soft dictionary",
        reference=soft_lookup,
        cases=_lookup_cases,
        hints=("`keys @ query` holds all the dot products.", "Divide, take the softmax, and multiply by the values."),
        mistakes=(
            Mistake(
                answer=_cold, reason="A high temperature must make the weights more alike: divide, do not multiply."
            ),
            Mistake(answer=_hardest, reason="That takes the value of the best key alone; mix all of them."),
        ),
    ),
    Exercise(
        number="5.3",
        title="The entropy of a row",
        reference=weight_entropy,
        cases=lambda: [
            {"weights": torch.tensor([[0.5, 0.5]])},
            {"weights": torch.tensor([[1.0, 0.0]])},
            {"weights": torch.softmax(torch.randn(3, 5), -1)},
        ],
        hints=(
            "0 · log 0 is NaN for a computer, and 0 for the entropy: `torch.xlogy`, or clamp before the logarithm.",
        ),
        mistakes=(
            Mistake(
                answer=lambda weights: -(weights * weights.log()).sum(-1),
                reason="0 · log 0 is NaN: weights of zero must add nothing.",
            ),
            Mistake(
                answer=lambda weights: -torch.xlogy(weights, weights).sum(-1) / torch.tensor(2.0).log(),
                reason="That is in bits; nats take the natural logarithm.",
            ),
        ),
    ),
)
