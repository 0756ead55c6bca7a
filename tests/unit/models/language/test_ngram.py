"""Counting models: probabilities by hand, by a plain loop, and their sums."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError
from regard.models.language.bag import BagModel
from regard.models.language.ngram import NGramModel, kneser_ney_discounts


def test_a_small_example_by_hand():
    """1 2 1 2 1 3: bigrams 12 and 21 twice, 13 once, so Y = 1/5 is every discount; each word came after one other."""
    model = NGramModel.fit(np.array([1, 2, 1, 2, 1, 3]), vocabulary_size=4, order=2)
    found = model.step(torch.tensor([[1]]), model.start(1)).log_probabilities[0, 0].exp()
    left = (0.2 + 0.2) / 3 * (1 / 4)
    torch.testing.assert_close(found, torch.tensor([left, left, 1.8 / 3 + left, 0.8 / 3 + left]))


def plain(tokens, vocabulary, order):
    """The same model as tables of Python, for one context at a time."""
    longest = Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))
    tables = {order: longest}
    for length in range(order - 1, 0, -1):
        longer = {tuple(tokens[i : i + length + 1]) for i in range(len(tokens) - length)}
        tables[length] = Counter(gram[1:] for gram in longer)
    discounts = {length: kneser_ney_discounts(np.array(list(table.values()))) for length, table in tables.items()}

    def likely(word, context):
        if len(context) >= order:
            context = context[len(context) - order + 1 :]
        length = len(context) + 1
        below = likely(word, context[1:]) if context else 1 / vocabulary
        counts = {gram[-1]: count for gram, count in tables[length].items() if gram[:-1] == context}
        total = sum(counts.values())
        if not total:
            return below
        take = {one: discounts[length][min(count, 3)] for one, count in counts.items()}
        kept = counts.get(word, 0) - take.get(word, 0.0)
        return kept / total + sum(take.values()) / total * below

    return likely


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_it_is_what_a_plain_loop_computes(order):
    generator = np.random.default_rng(3)
    tokens = (generator.random(300) ** 2 * 9).astype(int)
    test = (generator.random(60) ** 2 * 10).astype(int)
    model, likely = NGramModel.fit(tokens, vocabulary_size=10, order=order), plain(tokens.tolist(), 10, order)
    wanted = [math.log(likely(int(word), tuple(test[:place].tolist()))) for place, word in enumerate(test)]
    np.testing.assert_allclose(model.log_probabilities(test), wanted, rtol=1e-9)
    state, said = model.start(1), []
    for word in test[:-1]:
        step = model.step(torch.tensor([[word]]), state)
        state = step.state
        said.append(step.log_probabilities[0, 0])
    together = model.step(torch.from_numpy(test[None, :-1]), model.start(1)).log_probabilities[0]
    torch.testing.assert_close(torch.stack(said), together)
    right = together.gather(1, torch.from_numpy(test[1:, None])).squeeze(1)
    np.testing.assert_allclose(right.numpy(), wanted[1:], rtol=1e-4)
    torch.testing.assert_close(together.exp().sum(-1), torch.ones(len(test) - 1))


def test_longer_memories_surprise_less():
    tokens = np.tile([1, 2, 3, 1, 3, 2], 50)
    found = [
        -NGramModel.fit(tokens, vocabulary_size=4, order=order).log_probabilities(tokens).mean() for order in (1, 2, 3)
    ]
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.1


def test_a_bag_counts_and_adds():
    model = BagModel.fit(np.array([1, 1, 2]), vocabulary_size=4, smoothing=0.5)
    wanted = torch.tensor([0.5, 2.5, 1.5, 0.5]) / 5
    found = model.step(torch.tensor([[3, 1]]), model.start(1)).log_probabilities.exp()
    torch.testing.assert_close(found, wanted.expand(1, 2, 4))


@pytest.mark.parametrize("made", [NGramModel.fit(np.array([1, 2, 1, 3]), vocabulary_size=4, order=3)])
def test_arrays_bring_it_back(made):
    again = NGramModel.from_arrays(made.arrays())
    test = np.array([3, 1, 2, 1])
    np.testing.assert_array_equal(again.log_probabilities(test), made.log_probabilities(test))


def test_counts_that_are_missing_leave_a_discount():
    found = {count: kneser_ney_discounts(np.full(5, count)).tolist() for count in (1, 5)}
    assert found == {1: [0.0, 1.0, 1.0, 1.0], 5: [0.0, 0.5, 0.5, 0.5]}


def test_errors():
    with pytest.raises(ArgumentError, match="`order` must be at least 1; received 0"):
        NGramModel.fit(np.array([1, 2]), vocabulary_size=3, order=0)
    with pytest.raises(ArgumentError, match="`tokens` must be at least `order`, 5; received 2"):
        NGramModel.fit(np.array([1, 2]), vocabulary_size=3, order=5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"1.keys": lambda one: one[:-1]},
            r"`counts` of the n-grams of length 1 must be int64 of shape \(3,\)",
        ),
        ({"1.keys": lambda one: one[::-1].copy()}, r"`keys` of the n-grams of length 1 must rise from 0 to below 5;"),
        (
            {"2.keys": lambda one: one + 1000},
            r"`keys` of the n-grams of length 2 must rise from 0 to below 20",
        ),
        ({"2.counts": lambda one: -one}, r"`counts` of the n-grams of length 2 must be finite and not below 0"),
        (
            {"2.totals": lambda one: one * np.nan},
            r"`totals` of the n-grams of length 2 must be finite and not below 0",
        ),
        (
            {"1.discounts": lambda one: one[:2]},
            r"`discounts` of the n-grams of length 1 must be float64 of shape",
        ),
        ({"1.counts": lambda one: one.astype(np.float64)}, r"must be int64 of shape \(4,\); received float64"),
    ],
)
def test_counts_that_cannot_have_been_counted_are_refused(changes, message):
    arrays = NGramModel.fit(np.array([1, 2, 1, 3, 4]), vocabulary_size=5, order=2).arrays()
    assert NGramModel.from_arrays(arrays).order == 2
    changed = {name: changes.get(name, lambda one: one)(array) for name, array in arrays.items()}
    with pytest.raises(ArgumentError, match=message):
        NGramModel.from_arrays(changed)
    with pytest.raises(ArgumentError, match="must hold n-grams of length 1; received none"):
        NGramModel.from_arrays({"vocabulary_size": arrays["vocabulary_size"]})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": np.array([1.0, 2.0])}, "`counts` must be whole numbers, none below 0, in a row; received others"),
        ({"counts": np.array([[1, 2]])}, "`counts` must be whole numbers, none below 0, in a row"),
        ({"counts": np.array([-1, 2])}, "`counts` must be whole numbers, none below 0, in a row"),
        ({"smoothing": np.array([np.nan])}, "`smoothing` must be a finite number above 0; received nan"),
        ({"smoothing": np.array([0.0])}, r"`smoothing` must be a finite number above 0; received 0\.0"),
    ],
)
def test_a_bag_that_cannot_have_been_counted_is_refused(changes, message):
    with pytest.raises(ArgumentError, match=message):
        BagModel.from_arrays({"counts": np.array([1, 2]), "smoothing": np.array([1.0])} | changes)
