import math

import pytest

from regard.config.train import Constant, Cosine, InverseSquareRoot, Linear, Plateau
from regard.training.schedule import count_plateaus, has_stalled, learning_rate


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (Constant(rate=2.0, warm_up=10), {1: 0.2, 5: 1.0, 10: 2.0, 100: 2.0}),
        (InverseSquareRoot(rate=2.0, warm_up=10), {5: 1.0, 10: 2.0, 40: 1.0, 90: 2 / 3}),
        (InverseSquareRoot(rate=2.0), {1: 2.0, 4: 1.0, 100: 0.2}),
        (Linear(rate=2.0, warm_up=10, final=0.1), {5: 1.0, 10: 2.0, 55: 1.1, 100: 0.2, 200: 0.2}),
        (Cosine(rate=2.0, warm_up=10), {5: 1.0, 10: 2.0, 55: 1.0, 100: 0.0}),
    ],
)
def test_rates_by_hand(schedule, rates):
    for step, rate in rates.items():
        assert math.isclose(learning_rate(schedule, step, steps=100), rate, abs_tol=1e-12)


def test_a_plateau_halves_the_rate():
    schedule = Plateau(rate=1.0, patience=2)
    for scores, rate in [([], 1.0), ([1, 2, 2], 1.0), ([1, 2, 2, 1], 0.5), ([1, 2, 2, 1, 3, 3, 3], 0.25)]:
        assert learning_rate(schedule, 5, steps=9, validations=scores) == rate


def test_plateaus_and_stalls():
    assert count_plateaus([3, 2, 1, 0], 1) == 3
    assert not has_stalled([1, 1, 1], 0)
    assert has_stalled([1, 1], 1)
    assert not has_stalled([1], 1)


def test_the_warm_up_counts_updates_not_time():
    """A run limited by time is soon further than its updates; its rate still rises by one update at a time."""
    schedule = Linear(rate=2.0, warm_up=10)
    assert learning_rate(schedule, 6.0, steps=100, updates=3) == pytest.approx(0.6)
    assert learning_rate(schedule, 55.0, steps=100, updates=10) == pytest.approx(1.0)
    assert learning_rate(schedule, 5.0, steps=100, updates=10) == 2.0


def test_the_warm_up_ends_after_a_quarter_of_the_time():
    """Where a run makes fewer updates than that, it would never come near its rate."""
    schedule = Constant(rate=2.0, warm_up=1000)
    assert learning_rate(schedule, 200.0, steps=2000, updates=3) == pytest.approx(0.8)
    assert learning_rate(schedule, 500.0, steps=2000, updates=8) == 2.0
    assert learning_rate(schedule, 500.0, steps=500) == pytest.approx(1.0), "a limit in steps keeps its warm-up"
