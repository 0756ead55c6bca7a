"""Greedy decoding over a model that is nothing but the protocol: a table of what follows what."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from regard.decoding import Hypothesis, follow, greedy
from regard.errors import ArgumentError

START, END, WORDS = 0, 1, 7


class Numbers(NamedTuple):
    """One number a row."""

    numbers: Tensor

    @property
    def rows(self) -> int:
        return self.numbers.size(0)

    def select(self, rows: Tensor) -> "Numbers":
        return Numbers(self.numbers[rows])


class Counter:
    """Says the word of its source as often as the source is long, then ends; looks at each place in turn."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def encode(self, source: Tensor, lengths: Tensor | None = None) -> Numbers:
        assert lengths is not None
        return Numbers(torch.stack([source[:, 0], lengths, torch.full_like(lengths, source.size(1))], dim=1))

    def start(self, memory: Numbers, *, capacity: int | None = None) -> Numbers:
        return Numbers(torch.zeros(memory.rows, dtype=torch.long))

    def step(
        self, tokens: Tensor, state: Numbers, memory: Numbers, *, weights: bool = False
    ) -> tuple[Tensor, Numbers, Tensor | None]:
        self.steps.append(state.rows)
        word, length, width = memory.numbers.unbind(1)
        said = state.numbers
        next_word = torch.where(said < length, word, END)
        scores = torch.zeros(state.rows, WORDS).scatter(1, next_word[:, None], 2.0)
        looks = torch.eye(int(width[0]))[said.clamp_max(int(width[0]) - 1)][:, None, None, None] if weights else None
        return scores.log_softmax(-1)[:, None], Numbers(said + 1), looks


SOURCE = torch.tensor([[3, 0, 0, 0], [4, 0, 0, 0], [5, 0, 0, 0], [6, 0, 0, 0]])
LENGTHS = torch.tensor([2, 4, 1, 3])


def test_one_output_for_each_source_in_order() -> None:
    outputs = greedy(Counter(), SOURCE, LENGTHS, start=START, end=END)
    assert [one.tokens for one in outputs] == [(3, 3, 1), (4, 4, 4, 4, 1), (5, 1), (6, 6, 6, 1)]
    assert all(one.finished for one in outputs)
    each = 2 - torch.tensor([2.0, 0, 0, 0, 0, 0, 0]).logsumexp(0).item()
    assert outputs[0].log_probabilities == pytest.approx((each, each, each))
    assert outputs[0].log_probability == pytest.approx(3 * each)
    assert outputs[0].weights is None


def test_weights_are_cut_to_the_source_and_change_nothing() -> None:
    outputs = greedy(Counter(), SOURCE, LENGTHS, start=START, end=END, weights=True)
    assert [one.tokens for one in outputs] == [
        one.tokens for one in greedy(Counter(), SOURCE, LENGTHS, start=START, end=END)
    ]
    assert outputs[1].weights.shape == (1, 1, 5, 4)
    torch.testing.assert_close(outputs[0].weights[0, 0], torch.eye(4)[:3, :2])


def test_finished_sentences_leave_the_batch() -> None:
    model = Counter()
    greedy(model, SOURCE, LENGTHS, start=START, end=END)
    assert model.steps == [4, 4, 3, 2, 1]


def test_a_single_one_of_many_may_wait_for_company() -> None:
    """To copy the batch for one sentence of twenty would cost more than to take it along."""
    model, source = Counter(), SOURCE[:1].expand(20, 4)
    greedy(model, source, torch.tensor([1, *[3] * 19]), start=START, end=END)
    assert model.steps == [20, 20, 20, 20]


def test_an_output_ends_at_its_longest_length() -> None:
    outputs = greedy(Counter(), SOURCE, LENGTHS, start=START, end=END, max_length=3)
    assert [one.tokens for one in outputs] == [(3, 3, 1), (4, 4, 4), (5, 1), (6, 6, 6)]
    assert [one.finished for one in outputs] == [True, False, True, False]


def test_without_a_limit_it_is_twice_the_source_and_twenty() -> None:
    def never_end(log_probabilities: Tensor) -> Tensor:
        return torch.full((log_probabilities.size(0),), 5)

    outputs = follow(Counter(), SOURCE, LENGTHS, choose=never_end, start=START, end=END)
    assert [len(one.tokens) for one in outputs] == [24, 28, 22, 26]


def test_nothing_in_nothing_out() -> None:
    assert greedy(Counter(), SOURCE[:0], LENGTHS[:0], start=START, end=END) == []


def test_lengths_may_be_left_out() -> None:
    outputs = greedy(Counter(), SOURCE[:1, :2], start=START, end=END)
    assert outputs[0].tokens == (3, 3, 1)


def test_no_graph_is_kept() -> None:
    output = greedy(Counter(), SOURCE, LENGTHS, start=START, end=END, weights=True)[0]
    assert isinstance(output, Hypothesis)
    assert not output.weights.requires_grad


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"`max_length` must be at least 1; received 0\."):
        greedy(Counter(), SOURCE, LENGTHS, start=START, end=END, max_length=0)
