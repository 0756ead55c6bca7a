"""Search over a table of what follows what: against its definition, and its laws."""

import itertools
from dataclasses import replace

import pytest
import torch

from regard.decoding import Ensemble, Hypothesis, Sampling, Search, decode, force, greedy
from regard.errors import ArgumentError
from unit.decoding.table import END, LENGTHS, SOURCE, START, Naive, Table


def found(model: Table, search: Search, **more: object) -> list[list[Hypothesis]]:
    return decode(model, SOURCE, LENGTHS, search=search, start=START, end=END, **more)


def tokens_of(outputs: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[one.tokens for one in row] for row in outputs]


def settings(**changes: list[object]) -> list[Search]:
    """Every combination of these settings."""
    names = list(changes)
    return [Search(**dict(zip(names, values, strict=True))) for values in itertools.product(*changes.values())]


def same_as(outputs: list[list[Hypothesis]], model: Table, search: Search, how: str) -> None:
    for sentence, row in enumerate(outputs):
        expected = getattr(Naive(model, sentence, search), how)()
        assert [one.tokens for one in row] == [leaf.tokens for leaf in expected]
        assert [one.score for one in row] == pytest.approx([leaf.score for leaf in expected])


@pytest.mark.parametrize(
    "search",
    settings(
        beam=[200],
        n_best=[1, 9],
        length_penalty=[0.0, 0.6, 1.0],
        coverage_penalty=[0.0, 0.3],
        min_length=[0, 2],
        max_length=[4],
        no_repeat_ngram=[0],
    )
    + settings(beam=[200], n_best=[9], no_repeat_ngram=[1, 2], max_length=[4], min_length=[1]),
    ids=str,
)
def test_a_wide_beam_is_exhaustive_search(search: Search) -> None:
    model = Table(4)
    same_as(found(model, search), model, search, "exhaustive")


@pytest.mark.parametrize(
    "search",
    [
        *settings(
            beam=[1, 2, 5],
            length_penalty=[0.0, 1.0],
            coverage_penalty=[0.0, 0.2],
            min_length=[0, 3],
            max_length=[8],
            no_repeat_ngram=[0, 2],
        ),
        Search(beam=4, n_best=4, max_length=9),
        Search(beam=3, n_best=2, length_penalty=0.0),
    ],
    ids=str,
)
def test_a_narrow_beam_is_beam_search(search: Search) -> None:
    model = Table(6, sharpness=2.0)
    same_as(found(model, search), model, search, "beam")


def test_a_beam_of_one_is_greedy() -> None:
    model = Table(300)  # enough words for the search by chunks
    plain = greedy(model, SOURCE, LENGTHS, start=START, end=END, weights=True)
    for alone, (one,) in zip(plain, found(model, Search(beam=1), weights=True), strict=True):
        assert one.tokens == alone.tokens
        assert one.finished == alone.finished
        assert one.log_probabilities == pytest.approx(alone.log_probabilities)
        assert one.score == pytest.approx(alone.log_probability / len(alone.tokens))
        torch.testing.assert_close(one.weights, alone.weights)


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0])
def test_stopping_early_changes_nothing(penalty: float, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(beam=20, length_penalty=penalty, max_length=8)
    model, patient = Table(40, to_end=8.0), Table(40, to_end=8.0)
    outputs = found(model, search)
    monkeypatch.setattr("regard.decoding.beam.bound", lambda ahead, *_, **__: ahead + torch.inf)
    assert tokens_of(found(patient, search)) == tokens_of(outputs)
    assert sum(model.steps) < sum(patient.steps)


def test_no_more_steps_than_needed() -> None:
    """The first step has a row a sentence; sentences that are done leave; so do rows that no sentence needs."""
    model = Table(12, to_end=2.0)
    found(model, Search(beam=4, max_length=20))
    assert model.steps[:2] == [6, 4 * 6]
    assert model.steps[-1] < 4
    assert model.steps[1:] == sorted(model.steps[1:], reverse=True)
    assert model.weighed == 0


@pytest.mark.parametrize("beam", [1, 4])
def test_a_batch_is_its_sentences_one_at_a_time(beam: int) -> None:
    search = Search(beam=beam, n_best=beam, max_length=12, no_repeat_ngram=2, coverage_penalty=0.1)
    model, prefix = Table(7), [[], [3], [2, 2, 2], [], [4, 5], [6]]
    together = found(model, search, weights=True, prefix=prefix)
    for sentence, row in enumerate(together):
        one, length = slice(sentence, sentence + 1), int(LENGTHS[sentence])
        (alone,) = decode(
            model,
            SOURCE[one, :length],
            search=search,
            start=START,
            end=END,
            weights=True,
            prefix=[prefix[sentence]],
        )
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in row]
        for ours, theirs in zip(row, alone, strict=True):
            assert ours.score == pytest.approx(theirs.score)
            torch.testing.assert_close(ours.weights, theirs.weights)


def test_n_best_are_sorted_and_distinct() -> None:
    for row in found(Table(9), Search(beam=8, n_best=8, max_length=10)):
        assert len(row) == 8
        assert len({one.tokens for one in row}) == 8
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)
        assert all(one.finished == (one.tokens[-1] == END) for one in row)


def test_fewer_where_there_are_fewer() -> None:
    outputs = found(Table(2), Search(beam=5, n_best=5, max_length=2))
    assert {frozenset(one.tokens for one in row) for row in outputs} == {frozenset({(1,), (0, 1), (0, 0)})}


def test_weights_of_every_entry_are_those_of_its_tokens() -> None:
    model, search = Table(9), Search(beam=5, n_best=5, max_length=7, length_penalty=0.5)
    plain, asked = found(model, search), found(model, search, weights=True)
    assert tokens_of(plain) == tokens_of(asked)
    assert all(one.weights is None for row in plain for one in row)
    for sentence, row in enumerate(asked):
        one = slice(sentence, sentence + 1)
        for output in row:
            said = torch.tensor([[START, *output.tokens]])
            target_lengths = torch.tensor([len(output.tokens)])
            (heard,) = force(model, SOURCE[one], LENGTHS[one], said[:, :-1], said[:, 1:], target_lengths, weights=True)
            assert output.log_probabilities == pytest.approx(heard.log_probabilities)
            torch.testing.assert_close(output.weights, heard.weights)
            assert output.weights.shape == (3, 2, len(output.tokens), LENGTHS[sentence])


def test_coverage_holds_no_weights_that_nobody_asked_for() -> None:
    model = Table(6)
    outputs = found(model, Search(coverage_penalty=0.5, max_length=5))
    assert model.weighed == len(model.steps)
    assert all(one.weights is None for row in outputs for one in row)


def test_a_prefix_is_honored_and_counted() -> None:
    prefix = [[4, 4, 4], [], [2], [3, 2], [5, 4, 3, 2], []]
    for search in (Search(beam=3, n_best=3), Search(beam=4, no_repeat_ngram=1, min_length=2, max_length=6)):
        for row, begin in zip(found(Table(6), search, prefix=prefix), prefix, strict=True):
            for output in row:
                assert list(output.tokens[: len(begin)]) == begin
                assert len(output.log_probabilities) == len(output.tokens)


def test_without_a_longest_length_a_prefix_adds_to_it() -> None:
    model = Table(3)
    model.log_probabilities[:, END] = -torch.inf
    (row,) = decode(model, SOURCE[:1], LENGTHS[:1], search=Search(), start=START, end=END, prefix=[[2] * 40])
    assert len(row[0].tokens) == 40 + 2 * 5 + 20
    assert not row[0].finished


def test_lengths_are_honored() -> None:
    for row in found(Table(5), Search(beam=4, n_best=4, min_length=4, max_length=6)):
        assert all(5 <= len(one.tokens) <= 6 for one in row)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_of_words_comes_twice(size: int) -> None:
    for row in found(Table(5, sharpness=0.1), Search(beam=3, n_best=3, no_repeat_ngram=size, max_length=20)):
        for output in row:
            runs = [output.tokens[place : place + size] for place in range(len(output.tokens) - size + 1)]
            assert len(set(runs)) == len(runs)


def test_where_nothing_is_allowed_the_output_ends() -> None:
    """Four words, none of them twice, and at least nine: after the fourth nothing is left to say."""
    for row in found(Table(5), Search(beam=2, no_repeat_ngram=1, min_length=9, max_length=20)):
        assert len(row[0].tokens) == 5
        assert row[0].tokens[-1] == END


def test_half_precision_is_added_up_in_full() -> None:
    model = Table(300)
    model.log_probabilities = model.log_probabilities.bfloat16()
    outputs = found(model, Search(beam=3, max_length=60, min_length=50))
    model.log_probabilities = model.log_probabilities.float()
    assert tokens_of(found(model, Search(beam=3, max_length=60, min_length=50))) == tokens_of(outputs)


def test_nothing_in_nothing_out() -> None:
    assert decode(Table(), SOURCE[:0], LENGTHS[:0], search=Search(), start=START, end=END) == []


def test_an_ensemble_of_one_model_with_itself_is_the_model() -> None:
    model, search = Table(8), Search(beam=4, n_best=4, max_length=8, coverage_penalty=0.1)
    alone = found(model, search, weights=True)
    both = decode(Ensemble([model, model]), SOURCE, LENGTHS, search=search, start=START, end=END, weights=True)
    assert tokens_of(both) == tokens_of(alone)
    assert both[0][0].score == pytest.approx(alone[0][0].score)
    torch.testing.assert_close(both[0][0].weights, torch.cat([alone[0][0].weights] * 2))


def test_an_ensemble_averages_probabilities() -> None:
    first, second = Table(6, seed=1), Table(6, seed=2, heads=1)
    both = Ensemble([first, second])
    memory = both.encode(SOURCE, LENGTHS)
    assert (memory.rows, memory.select(torch.tensor([2, 0])).rows) == (6, 2)
    tokens = torch.full((6, 1), START)
    said, state, looks = both.step(tokens, both.start(memory), memory, weights=True)
    apart = [
        model.step(tokens, model.start(part), part, weights=True)
        for model, part in zip((first, second), memory.parts, strict=True)
    ]
    torch.testing.assert_close(said.exp(), (apart[0][0].exp() + apart[1][0].exp()) / 2)
    assert state.rows == 6
    torch.testing.assert_close(looks, torch.cat([apart[0][2].mean(2, keepdim=True), apart[1][2]], dim=1))
    assert both.step(tokens, both.start(memory), memory)[2] is None


def test_bad_ensembles() -> None:
    with pytest.raises(ArgumentError, match=r"`models` must hold at least one model; received none\."):
        Ensemble([])
    with pytest.raises(ArgumentError, match=r"`models` must share one vocabulary; received models of 5 and 6 words\."):
        decode(Ensemble([Table(5), Table(6)]), SOURCE, LENGTHS, search=Search(), start=START, end=END)


def test_coverage_needs_attention() -> None:
    with pytest.raises(
        ArgumentError, match=r"`coverage_penalty` must be 0 for a model without attention; received 0\.2\. Nothing says"
    ):
        found(Table(heads=0), Search(coverage_penalty=0.2))


def test_bad_prefixes() -> None:
    search, none = Search(max_length=3), [[]] * 5
    with pytest.raises(
        ArgumentError, match=r"`prefix` must have one list of tokens for each of the 6 sentences; received 5\. Give an"
    ):
        found(Table(), search, prefix=none)
    with pytest.raises(ArgumentError, match=r"`prefix` must not hold the end token, 1; received it in number 5\."):
        found(Table(), search, prefix=[*none, [2, 1]])
    with pytest.raises(
        ArgumentError, match=r"`prefix` must be shorter than `max_length`, 3; received 3 tokens in number 5\."
    ):
        found(Table(), search, prefix=[*none, [2, 2, 2]])
    with pytest.raises(ArgumentError, match=r"`prefix` must hold tokens from 0 to 4; received numbers from 1 to 5\."):
        found(Table(), replace(search, max_length=9), prefix=[*none, [5, 2]])


@pytest.mark.parametrize("sampling", [None, Sampling()])
@pytest.mark.parametrize("number", [-torch.inf, torch.nan])
def test_there_is_an_output_even_where_every_word_is_impossible(number, sampling):
    model = Table(5)
    model.log_probabilities[:] = number
    search = Search(beam=3, n_best=2, max_length=4, sampling=sampling)
    found = decode(model, SOURCE, LENGTHS, search=search, start=START, end=END)
    assert all(found)
    if number == -torch.inf:
        assert {one.tokens for outputs in found for one in outputs} == {(END,)}
        assert {one.log_probability for outputs in found for one in outputs} == {-torch.inf}
