"""The settings say what they need."""

import pytest

from regard.decoding import Sampling, Search
from regard.errors import ArgumentError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, r"`temperature` must be above 0; received 0\.0\. For greedy, beam=1\."),
        ({"temperature": float("nan")}, r"`temperature` must be above 0; received nan\."),
        ({"top_k": -1}, r"`top_k` must be 0 for all tokens, or more; received -1\."),
        ({"top_p": 0.0}, r"`top_p` must be above 0 and at most 1; received 0\.0\."),
        ({"top_p": 1.1}, r"`top_p` must be above 0 and at most 1; received 1\.1\."),
    ],
    ids=str,
)
def test_bad_sampling(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Sampling(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, r"`beam` must be at least 1; received 0\."),
        ({"beam": 3, "n_best": 4}, r"`n_best` must be from 1 to `beam`, 3; received 4\."),
        ({"n_best": 0}, r"`n_best` must be from 1 to `beam`, 5; received 0\."),
        ({"n_best": 0, "sampling": Sampling()}, r"`n_best` must be at least 1; received 0\."),
        ({"length_penalty": -0.1}, r"`length_penalty` must be 0 or more; received -0\.1\."),
        ({"coverage_penalty": -0.1}, r"`coverage_penalty` must be 0 or more; received -0\.1\."),
        ({"min_length": -1}, r"`min_length` must be 0 or more; received -1\."),
        ({"max_length": 0}, r"`max_length` must be above `min_length`, 0; received 0\."),
        ({"min_length": 4, "max_length": 4}, r"`max_length` must be above `min_length`, 4; received 4\."),
        ({"no_repeat_ngram": -1}, r"`no_repeat_ngram` must be 0 to allow repetition, or more; received -1\."),
    ],
    ids=str,
)
def test_bad_search(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Search(**settings)


def test_outputs_that_are_drawn_may_be_more_than_the_beam() -> None:
    assert Search(beam=1, n_best=20, sampling=Sampling()).n_best == 20
