"""Search over every kind of model: one at a time or together, with weights or without."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from catalogue.models import MODELS, Row, example
from regard.decoding import Ensemble, Hypothesis, Sampling, Search, decode, force, greedy
from regard.models import Model

ALIKE = ("transformer-small", "transformer-base", "luong-concat", "luong-location")  # but for sizes or a score
KINDS = [row for row in MODELS if row.preset and row.name not in ALIKE]
KINDS += [row for row in MODELS if row.name in ("fixed initial stacked", "previous lstm", "transformer relative")]
kinds = pytest.mark.parametrize("row", KINDS, ids=lambda row: row.name)
SEARCH = Search(beam=3, n_best=2, max_length=4, min_length=1)


def found(
    model: Model | Ensemble, search: Search, source: Tensor, lengths: Tensor | None, *, weights: bool = False
) -> list[list[Hypothesis]]:
    return decode(model, source, lengths, search=search, start=2, end=3, weights=weights)


@kinds
def test_a_batch_is_its_sentences_one_at_a_time(row: Row) -> None:
    model, (source, lengths, _) = row.build(), example()
    together = found(model, SEARCH, source, lengths)
    for sentence in (0, 2, 3):
        one, length = slice(sentence, sentence + 1), int(lengths[sentence])
        (alone,) = found(model, SEARCH, source[one, :length], None)
        assert [output.tokens for output in alone] == [output.tokens for output in together[sentence]]
        assert [output.score for output in alone] == pytest.approx([output.score for output in together[sentence]])


@kinds
def test_weights_survive_the_beam(row: Row) -> None:
    """For every entry of the n-best list they are what the model looks at when it is made to say just that."""
    model, (source, lengths, _) = row.build(), example()
    plain, asked = found(model, SEARCH, source, lengths), found(model, SEARCH, source, lengths, weights=True)
    assert [[one.tokens for one in few] for few in plain] == [[one.tokens for one in few] for few in asked]
    outputs = [output for few in asked for output in few]
    rows = torch.arange(4).repeat_interleave(SEARCH.n_best)
    said = torch.tensor([[2, *one.tokens, *[0] * (4 - len(one.tokens))] for one in outputs])
    many = torch.tensor([len(one.tokens) for one in outputs])
    heard = force(model, source[rows], lengths[rows], said[:, :-1], said[:, 1:], many, weights=True)
    for sentence, output, forced in zip(rows.tolist(), outputs, heard, strict=True):
        assert output.log_probabilities == pytest.approx(forced.log_probabilities)
        if row.attends:
            assert output.weights.shape == (*row.looks, len(output.tokens), lengths[sentence])
            torch.testing.assert_close(output.weights, forced.weights)
        else:
            assert output.weights is None


@kinds
def test_a_beam_of_one_and_the_likeliest_draw_are_greedy(row: Row) -> None:
    model, (source, lengths, _) = row.build(), example()
    plain = [one.tokens for one in greedy(model, source, lengths, start=2, end=3, max_length=4)]
    drawn = Search(sampling=Sampling(top_k=1), max_length=4)
    for search in (Search(beam=1, max_length=4), drawn):
        assert [outputs[0].tokens for outputs in found(model, search, source, lengths)] == plain


def test_an_ensemble_of_different_kinds() -> None:
    rows = {row.name: row for row in MODELS}
    models = [rows[name].build() for name in ("bahdanau", "transformer-tiny", "fixed")]
    source, lengths, _ = example()
    outputs = found(Ensemble(models), SEARCH, source, lengths, weights=True)
    for sentence, (first, *_) in enumerate(outputs):
        said = torch.tensor([[2, *first.tokens]])
        one = slice(sentence, sentence + 1)
        each = [model(source[one], lengths[one], said[:, :-1]).softmax(-1) for model in models]
        expected = torch.stack(each).mean(0).log().gather(-1, said[:, 1:, None]).flatten()
        assert first.log_probabilities == pytest.approx(expected.tolist())
        assert first.weights.shape == (3, 1, len(first.tokens), lengths[sentence])


@pytest.mark.gpu
@kinds
def test_on_a_gpu_it_is_the_same(row: Row, cuda: torch.device) -> None:
    model, (source, lengths, _) = row.build(torch.float32), example()
    searches = [SEARCH, replace(SEARCH, no_repeat_ngram=2, coverage_penalty=0.1 if row.attends else 0.0)]
    for search in [*searches, Search(sampling=Sampling(top_p=0.9, temperature=2.0), max_length=4)]:
        expected = found(model.cpu(), search, source, lengths)
        outputs = found(model.to(cuda), search, source.to(cuda), lengths.to(cuda), weights=True)
        assert [[one.tokens for one in few] for few in outputs] == [[one.tokens for one in few] for few in expected]
