"""The soft dictionary."""

import pytest
import torch

from regard import Dot, lookup
from regard.attention import LookupResult

NAMES = ["Anna", "Bruno", "Clara", "David"]
ROLES = ["lecturer", "student", "assistant", "student"]


def test_exact_is_a_dictionary() -> None:
    assert [lookup(name, NAMES, ROLES) for name in NAMES] == ROLES
    for missing in ("Klara", "clara", "", "Clara "):
        with pytest.raises(KeyError):
            lookup(missing, NAMES, ROLES)


def test_the_first_of_equal_keys_is_found() -> None:
    assert lookup("a", ["a", "a"], [1, 2]) == 1


@pytest.mark.parametrize(("query", "role"), [("Klara", "assistant"), ("Ana", "lecturer"), ("DAVID", "student")])
def test_near_names_are_found(query: str, role: str) -> None:
    found = lookup(query, NAMES, ROLES, exact=False)
    assert isinstance(found, LookupResult)
    assert found.value == role
    assert found.weights.shape == (4,)
    torch.testing.assert_close(found.weights.sum(), torch.tensor(1.0))


def test_a_name_like_no_other_is_any_of_them() -> None:
    weights = lookup("xyz", NAMES, ROLES, exact=False).weights
    assert weights.max() < 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
def test_numbers_are_mixed(dtype: torch.dtype) -> None:
    ages = torch.tensor([40, 20, 30, 25]).to(dtype)
    found = lookup("Clara", NAMES, ages, exact=False)
    assert found.value.shape == ()
    torch.testing.assert_close(found.value, (found.weights * ages).sum())
    assert 29 < found.value < 31
    assert lookup("Anna", NAMES, ages) == 40


def test_vectors_are_mixed_in_any_shape() -> None:
    table = torch.randn(4, 2, 3)
    found = lookup("Clara", NAMES, table, exact=False)
    torch.testing.assert_close(found.value, torch.einsum("k,kab->ab", found.weights, table))


def test_vectors_are_keys_by_nearness() -> None:
    keys = torch.tensor([[0.0, 0.0], [5.0, 5.0]])
    assert lookup(torch.tensor([5.0, 5.0]), keys, ["near", "far"]) == "far"
    with pytest.raises(KeyError):
        lookup(torch.tensor([5.0, 5.1]), keys, ["near", "far"])
    found = lookup(torch.tensor([4.0, 4.5]), keys, ["near", "far"], exact=False)
    assert found.value == "far"
    assert found.weights[1] > 0.99
    by_dot = lookup(torch.tensor([-1.0, -1.0]), keys, ["near", "far"], exact=False, score=Dot())
    assert by_dot.value == "near"


def test_vectors_of_any_precision() -> None:
    keys, values = torch.randn(5, 3, dtype=torch.float64), torch.randn(5)
    found = lookup(keys[2], keys, values, exact=False)
    assert found.weights.argmax() == 2
    torch.testing.assert_close(found.value, (found.weights * values).sum())
