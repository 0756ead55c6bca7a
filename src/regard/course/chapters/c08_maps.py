"""Chapter 8: what maps show, and what they do not."""

from typing import Any

import torch
from torch import Tensor

from regard.course.exercise import Case, Exercise, Mistake
from regard.inspection.readings.distance import total_variation
from regard.inspection.readings.rank import kendall_tau


def prediction_change(before: Tensor, after: Tensor) -> Tensor:
    """Measure how far two predictions are apart, by the total variation distance.

    `½ Σ_w |p_w − p′_w|` along the last axis: 0 where they agree, 1 where they share no word. Both hold probabilities.
    """
    return total_variation(before.log(), after.log())


def _probability_cases() -> list[Case]:
    cases = [{"before": torch.tensor([1.0, 0.0]), "after": torch.tensor([0.0, 1.0])}]
    shapes = ((2,), (3,), (2, 4))
    return cases + [
        {"before": torch.softmax(torch.randn(shape), -1), "after": torch.softmax(torch.randn(shape), -1)}
        for shape in shapes
    ]


def agreement(one: Tensor, other: Tensor) -> float:
    """Measure by how much two readings put the words in the same order: Kendall's τ, for readings without ties.

    Of all pairs of words, the share that both readings order alike minus the share that they order differently. Both
    are (words,).
    """
    return kendall_tau(one, other)


def _share_alike(one: Tensor, other: Tensor) -> float:
    pairs = [(i, j) for i in range(len(one)) for j in range(i)]
    return sum(bool((one[i] > one[j]) == (other[i] > other[j])) for i, j in pairs) / len(pairs)


def _rank_cases() -> list[Case]:
    return [
        {"one": torch.tensor([0.1, 0.9]), "other": torch.tensor([0.2, 0.3])},
        {"one": torch.tensor([0.1, 0.9]), "other": torch.tensor([0.3, 0.2])},
        *({"one": torch.rand(n), "other": torch.rand(n)} for n in (3, 5, 8)),
    ]


def other_weights(weights: Tensor, values: Tensor) -> Tensor:
    """Find other weights that change nothing: the same context from quite different attention.

    `weights` is (n,), all above 0.05, and sums to one; `values` is (n, size) with n ≥ size + 2. Give weights that are
    not negative, sum to one, and give the same context `weights @ values`, but at a total variation distance of at
    least 0.02 from the old ones.
    """
    constraints = torch.cat([values, torch.ones(len(values), 1)], dim=1).T.double()
    direction: Tensor = torch.linalg.svd(constraints).Vh[-1]  # a change of weights that changes neither context nor sum
    steps = torch.where(direction.abs() > 1e-9, -weights.double() / direction, torch.inf)
    return (weights + steps[steps > 0].min() * direction).float()


def _accept_weights(received: Any, case: Case) -> str | None:
    weights, values = case["weights"], case["values"]
    if received.shape != weights.shape:
        return f"The shape must be {tuple(weights.shape)}; it is {tuple(received.shape)}."
    if (received < -1e-5).any():
        return "No weight may be negative."
    if abs(float(received.sum()) - 1) > 1e-4:
        return f"The weights must sum to one; they sum to {float(received.sum()):.4f}."
    if not torch.allclose(received @ values, weights @ values, atol=1e-3):
        return "The context must stay the same; it does not."
    distance = float((received - weights).abs().sum() / 2)
    return None if distance >= 0.02 else f"The distance must be at least 0.02; it is {distance:.4f}."


def _other_cases() -> list[Case]:
    cases = []
    for count, size in ((3, 1), (4, 1), (4, 2), (6, 3)):
        weights = 0.06 + torch.rand(count)
        cases.append({"weights": weights / weights.sum(), "values": torch.randn(count, size)})
    return cases


EXERCISES = (
    Exercise(
        number="8.1",
        title="How far a prediction moved",
        reference=prediction_change,
        cases=_probability_cases,
        hints=("Without the half, two predictions that share nothing would be 2 apart.",),
        mistakes=(
            Mistake(
                answer=lambda before, after: (before - after).abs().sum(-1),
                reason="The half is left out: what one word loses, another gains, and it counts twice.",
            ),
            Mistake(
                answer=lambda before, after: (before - after).square().sum(-1).sqrt(),
                reason="That is the Euclidean distance.",
            ),
        ),
    ),
    Exercise(
        number="8.2",
        title="Do two readings agree?",
        reference=agreement,
        cases=_rank_cases,
        hints=("Two words are ordered alike where the product of the two differences is positive.",),
        mistakes=(
            Mistake(
                answer=_share_alike,
                reason="That is the share of pairs ordered alike; subtract the share of the others.",
            ),
        ),
    ),
    Exercise(
        number="8.3",
        title="Other weights, same context",
        reference=other_weights,
        cases=_other_cases,
        accept=_accept_weights,
        hints=(
            "A change d of the weights changes nothing where d @ values = 0 and d sums to 0: n unknowns, size + 1 "
            "equations.",
            "The last row of `torch.linalg.svd(constraints).Vh` solves them; go along it until a weight would be "
            "negative.",
        ),
        mistakes=(
            Mistake(
                answer=lambda weights, values: weights,
                reason="These are the old weights.",
            ),
            Mistake(
                answer=lambda weights, values: torch.full_like(weights, 1 / len(weights)),
                reason="Uniform weights give the mean of the values, which is another context.",
            ),
        ),
    ),
)
