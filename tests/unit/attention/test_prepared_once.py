"""Weights beside a fused kernel use what was prepared for it: mask, finite check, rotation and bias are made once."""

from collections import Counter
from copy import deepcopy

import pytest
import torch

from regard import Alibi, Bilinear, Causal, Padding, RelativeBias, Rotary, ScaledDot, attention, explain_backend
from regard.attention import Mask, Position
from regard.attention.mask import And

LENGTHS = torch.tensor([20, 5])

CASES = {
    "padding": {"mask": Padding(LENGTHS)},
    "causal": {"mask": Causal()},
    "both": {"mask": Causal() & Padding(LENGTHS)},
    "causal with a bias": {"mask": Causal(), "bias": torch.zeros(20, 20)},
    "causal with a negative scale": {"mask": Causal(), "score": ScaledDot(-0.5)},
    "bilinear": {"mask": Causal(), "score": Bilinear(torch.eye(8))},
    "rotary": {"mask": Padding(LENGTHS), "position": Rotary()},
    "relative": {"mask": Padding(LENGTHS), "position": RelativeBias(table=torch.randn(2, 9))},
    "alibi": {"mask": Causal(), "position": Alibi(slopes=torch.tensor([0.5, 0.25]))},
}


@pytest.fixture
def calls(monkeypatch):
    """Count the calls that prepare something."""
    counted = Counter()

    def count(owner, name, title):
        original = getattr(owner, name)

        def counting(*arguments, **options):
            counted[title] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    for kind in (Causal, Padding, And):
        count(kind, "dense", f"{kind.__name__}.dense")
    for kind, name in ((Rotary, "rotate"), (RelativeBias, "bias"), (Alibi, "bias")):
        count(kind, name, f"{kind.__name__}.{name}")
    count(torch.linalg, "vector_norm", "norm")
    return counted


@pytest.mark.parametrize("result", ["return_weights", "return_log_normalizer"])
@pytest.mark.parametrize("name", CASES)
def test_each_part_is_prepared_once(name, result, calls):
    options = deepcopy(CASES[name])  # a copy keeps nothing of what was made of a mask before
    query, key, value = (torch.randn(2, 2, 20, 8) for _ in range(3))
    assert explain_backend(query, key, value, **options).chosen == "sdpa"
    calls.clear()
    attention(query, key, value, **options, **{result: True})
    # One norm each for query, key and value; the kernel's own causal path zeroes nothing.
    assert calls.pop("norm", 0) in ((3,) if result == "return_weights" else (0, 3))
    assert max(calls.values(), default=0) <= 1
    if result == "return_weights":
        parts = [part for part in (options.get("mask"), options.get("position")) if isinstance(part, (Mask, Position))]
        assert all(any(title.startswith(type(part).__name__) for title in calls) for part in parts)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_the_reference(name):
    query, key, value = (torch.randn(2, 2, 20, 8).double() for _ in range(3))
    options = {
        part: thing.double() if isinstance(thing, torch.Tensor) else thing for part, thing in CASES[name].items()
    }
    if name == "bilinear":
        options["score"] = Bilinear(torch.eye(8).double())
    expected = attention(query, key, value, **options, return_weights=True, backend="reference")
    result = attention(query, key, value, **options, return_weights=True)
    for mine, theirs in zip(result, expected, strict=True):
        torch.testing.assert_close(mine, theirs)
