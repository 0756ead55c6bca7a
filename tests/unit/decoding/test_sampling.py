"""Sampling: from the right distribution, and the same whatever the batch."""

import math

import pytest
import torch
from torch import Tensor

from regard.decoding import Hypothesis, Sampling, Search, decode, greedy
from regard.decoding.sampling import draw, uniform_numbers
from unit.decoding.table import END, LENGTHS, SOURCE, START, Table

PROBABILITIES = torch.tensor([0.05, 0.4, 0.15, 0.3, 0.1])


def sampled(
    model: Table, sampling: Sampling, source: Tensor = SOURCE, lengths: Tensor | None = LENGTHS, n_best: int = 1
) -> list[list[Hypothesis]]:
    search = Search(sampling=sampling, n_best=n_best, max_length=9)
    return decode(model, source, lengths, search=search, start=START, end=END, weights=True)


def shares(sampling: Sampling, draws: int = 40_000) -> Tensor:
    """Draw often from the five words, and count."""
    numbers = torch.rand(1, draws, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    picks = draw(PROBABILITIES.log().view(1, 1, 5), numbers, sampling)
    assert (picks.parent == 0).all()
    return torch.bincount(picks.token.flatten(), minlength=5) / draws


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), PROBABILITIES),
        (Sampling(temperature=0.5), PROBABILITIES**2 / (PROBABILITIES**2).sum()),
        (Sampling(temperature=2.0), PROBABILITIES.sqrt() / PROBABILITIES.sqrt().sum()),
        (Sampling(top_k=2), torch.tensor([0, 4, 0, 3, 0]) / 7),
        (Sampling(top_k=50), PROBABILITIES),
        (Sampling(top_p=0.6), torch.tensor([0, 4, 0, 3, 0]) / 7),
        (Sampling(top_p=0.75), torch.tensor([0.0, 8, 3, 6, 0]) / 17),
        (Sampling(top_p=0.01), torch.tensor([0.0, 1, 0, 0, 0])),
        (Sampling(top_k=3, top_p=0.5), torch.tensor([0, 4, 0, 3, 0]) / 7),
    ],
    ids=str,
)
def test_words_come_as_often_as_they_should(sampling: Sampling, expected: Tensor) -> None:
    torch.testing.assert_close(shares(sampling), expected.float(), rtol=0, atol=0.01)
    assert (shares(sampling)[expected == 0] == 0).all()


def test_no_number_leads_to_a_word_that_cannot_come() -> None:
    log_probabilities = torch.tensor([-torch.inf, math.log(0.5), -torch.inf, math.log(0.5), -torch.inf])
    numbers = torch.tensor([[0.0, 0.25, 0.5, 1 - 2**-32]], dtype=torch.float64)
    for sampling in (Sampling(), Sampling(top_k=4), Sampling(top_p=0.99)):
        assert draw(log_probabilities.view(1, 1, 5), numbers, sampling).token.tolist() == [[1, 1, 3, 3]]


def test_outputs_come_as_often_as_they_should() -> None:
    """Among many outputs drawn for one sentence, the first words are as frequent as they are likely."""
    model = Table(4)
    memory = model.encode(SOURCE[:1], LENGTHS[:1])
    expected, _, _ = model.step(torch.tensor([[START]]), model.start(memory), memory)
    (outputs,) = sampled(model, Sampling(seed=3), SOURCE[:1], LENGTHS[:1], n_best=4000)
    first = torch.bincount(torch.tensor([one.tokens[0] for one in outputs]), minlength=4) / 4000
    torch.testing.assert_close(first.double(), expected[0, 0].exp(), rtol=0, atol=0.03)


def test_the_same_seed_gives_the_same_whatever_the_batch() -> None:
    model, sampling = Table(20), Sampling(seed=11, temperature=1.5)
    together = sampled(model, sampling, n_best=3)
    backwards = sampled(model, sampling, SOURCE.flip(0), LENGTHS.flip(0), n_best=3)[::-1]
    for sentence, row in enumerate(together):
        length = int(LENGTHS[sentence])
        (alone,) = sampled(model, sampling, SOURCE[sentence : sentence + 1, :length], None, n_best=3)
        for outputs in (backwards[sentence], alone):
            assert [one.tokens for one in outputs] == [one.tokens for one in row]
    other = sampled(model, Sampling(seed=12, temperature=1.5), n_best=3)
    assert [one.tokens for row in other for one in row] != [one.tokens for row in together for one in row]


def test_several_outputs_differ_and_the_best_comes_first() -> None:
    for row in sampled(Table(30), Sampling(seed=5), n_best=6):
        assert len({one.tokens for one in row}) > 3
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)


def test_log_probabilities_and_weights_are_the_models_own() -> None:
    model = Table(12)
    for sentence, row in enumerate(sampled(model, Sampling(temperature=0.3, top_p=0.9), n_best=2)):
        memory = model.encode(SOURCE[sentence : sentence + 1], LENGTHS[sentence : sentence + 1])
        for output in row:
            said = torch.tensor([[START, *output.tokens]])
            heard, _, looks = model.step(said[:, :-1], model.start(memory), memory, weights=True)
            expected = heard[0].gather(-1, said[0, 1:, None]).flatten()
            assert output.log_probabilities == pytest.approx(expected.tolist())
            torch.testing.assert_close(output.weights, looks[0, ..., : LENGTHS[sentence]])


def test_from_the_likeliest_word_alone_it_is_greedy() -> None:
    model = Table(15)
    plain = greedy(model, SOURCE, LENGTHS, start=START, end=END, max_length=9)
    for sampling in (Sampling(top_k=1), Sampling(top_p=1e-6), Sampling(temperature=1e-4)):
        assert [row[0].tokens for row in sampled(model, sampling)] == [one.tokens for one in plain]


def test_rules_hold_for_sampling() -> None:
    search = Search(sampling=Sampling(), n_best=8, min_length=3, max_length=7, no_repeat_ngram=1)
    outputs = decode(Table(9), SOURCE, LENGTHS, search=search, start=START, end=END, prefix=[[4]] * 6)
    for output in (one for row in outputs for one in row):
        assert output.tokens[0] == 4
        assert 4 <= len(output.tokens) <= 7
        assert len(set(output.tokens)) == len(output.tokens)


def test_streams_are_uniform_and_as_long_as_asked() -> None:
    numbers = uniform_numbers([[1, 2], [1, 2], [3]], [1000, 1000, 10], count=2, seed=0)
    assert numbers.shape == (3, 2, 1000)
    assert torch.equal(numbers[0], numbers[1])  # the same sentence
    assert not torch.equal(numbers[0, 0], numbers[0, 1])  # another output of it
    assert (numbers[2, :, 10:] == 0).all()
    assert numbers[0].mean().item() == pytest.approx(0.5, abs=0.03)
    assert 0 <= numbers.min() <= numbers.max() < 1
