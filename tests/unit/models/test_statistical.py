"""The statistical translator: its equation by plain loops, the decoder protocol, and its folder."""

import numpy as np
import pytest
import torch

from regard.config.model import StatisticalSpec
from regard.data.text.special import END, START
from regard.decoding.search import Search, decode
from regard.errors import ArgumentError, DataError
from regard.models.folder import load_model, save_model
from regard.models.statistical.counts import count_translator
from regard.models.statistical.translator import FLOOR, STEPS, StatisticalModel

SOURCES = [[4, 5, 6], [4, 7], [5, 6, 7], [6, 4]] * 3
TARGETS = [[9, 8, 7, 6], [9, 5], [7, 8, 5], [8, 9]] * 3
SIZES = {"source_vocabulary": 8, "target_vocabulary": 10}
SPEC = StatisticalSpec(order=2, reach=2)


@pytest.fixture(scope="module")
def model():
    return count_translator(SPEC, SOURCES, TARGETS, **SIZES, end=END).eval()


def table(model, source):
    """Look every entry up by itself."""
    found = np.zeros((len(source), 10))
    for place, word in enumerate(source):
        for entry in range(int(model.starts[word]), int(model.starts[word + 1])):
            found[place, int(model.words[entry])] = float(model.probabilities[entry])
    return found


def another(model, word, covered):
    covered = min(covered, STEPS - 1)
    low = min(int(covered), STEPS - 2)
    near, far = model.fertility[word, low].item(), model.fertility[word, low + 1].item()
    return near + (far - near) * (covered - low)


def naive(model, source, target):
    """Give the log-probabilities by the equations of the docstring, a word at a time."""
    translations, reach = table(model, source), SPEC.reach
    distance = model.jumps.numpy()
    gamma, covered, rows = None, np.zeros(len(source)), []
    history = [END, *target]
    for step in range(len(target) + 1):
        expected = np.zeros(len(source))
        for place in range(len(source)):
            if gamma is None:
                moves = [distance[np.clip(other + 1, -reach, reach) + reach] for other in range(len(source))]
                expected[place] = moves[place] / sum(moves)
            else:
                for before in range(len(source)):
                    moves = [distance[np.clip(other - before, -reach, reach) + reach] for other in range(len(source))]
                    expected[place] += gamma[before] * moves[place] / sum(moves)
            expected[place] *= another(model, source[place], covered[place])
        expected /= expected.sum()
        translated = np.log(np.maximum(expected @ translations, FLOOR))
        left = sum(np.log(1 - another(model, source[place], covered[place])) for place in range(len(source) - 1))
        spoken = model.language.step(torch.tensor([history[: step + 1]]), model.language.start(1))
        scores = (1 - SPEC.language_weight) * translated
        scores = scores + SPEC.language_weight * spoken.log_probabilities[0, -1].double().numpy()
        scores[END] += SPEC.coverage_weight * left
        rows.append(scores - np.log(np.exp(scores).sum()))
        if step < len(target):
            gamma = expected * translations[:, target[step]]
            gamma = gamma / gamma.sum() if gamma.sum() > 0 else expected
            covered = covered + gamma
    return np.array(rows)


@pytest.mark.parametrize("target", [[9, 8, 7, 6], [5, 5, 5, 5, 5], [4, 9]])
def test_it_is_the_product_of_its_equation(model, target):
    source = [4, 5, 6, END]
    memory = model.encode(torch.tensor([source]))
    found = model.step(torch.tensor([[START, *target]]), model.start(memory), memory).log_probabilities[0]
    assert found.double().numpy() == pytest.approx(naive(model, source, target), abs=1e-4)


def test_one_token_at_a_time_and_all_at_once_agree(model):
    memory, tokens = (
        model.encode(torch.tensor([[4, 5, 6, END], [6, 4, 4, END]])),
        torch.tensor([[START, 9, 8], [START, 8, 4]]),
    )
    whole = model.step(tokens, model.start(memory), memory).log_probabilities
    state, parts = model.start(memory), []
    for number in range(3):
        step = model.step(tokens[:, number : number + 1], state, memory)
        state = step.state
        parts.append(step.log_probabilities)
    assert torch.allclose(torch.cat(parts, dim=1), whole, atol=1e-6)
    assert torch.allclose(whole.exp().sum(-1), torch.ones(2, 3), atol=1e-5)


def test_padding_and_other_hypotheses_change_nothing(model):
    alone = model.encode(torch.tensor([[4, 7, END]]))
    padded = model.encode(torch.tensor([[4, 5, 6, END], [4, 7, END, 0]]), torch.tensor([4, 3]))
    tokens = torch.tensor([[START, 9, 5]])
    expected = model.step(tokens, model.start(alone), alone).log_probabilities[0]
    states = model.start(padded).select(torch.tensor([0, 0, 1, 1]))
    both = model.step(torch.tensor([[START, 9, 5]] * 4), states, padded).log_probabilities
    assert torch.allclose(both[2], expected, atol=1e-5)
    assert torch.equal(both[2], both[3])


def test_search_finds_the_translations_it_counted(model):
    source = torch.tensor([[4, 7, END], [6, 4, END]])
    found = decode(model, source, torch.tensor([3, 3]), search=Search(beam=3), start=START, end=END)
    assert [list(one[0].tokens[:-1]) for one in found] == [[9, 5], [8, 9]]


def test_no_pairs_are_an_error():
    with pytest.raises(ArgumentError, match="`sources` must hold at least one sentence; received none"):
        count_translator(SPEC, [], [], **SIZES, end=END)


def test_a_folder_gives_the_same_model_again(tmp_path, model):
    save_model(model, SPEC, tmp_path, **SIZES)
    loaded = load_model(tmp_path)
    assert loaded.config.model == SPEC
    assert isinstance(loaded.model, StatisticalModel)
    for name, array in model.arrays().items():
        assert np.array_equal(loaded.model.arrays()[name], array), name
    save_model(model, SPEC, tmp_path, source_vocabulary=8, target_vocabulary=11)
    with pytest.raises(DataError, match=r"must be of the 8 source and 11 target tokens .*; received 8 and 10"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": np.array([1, 2])}, "`fertility` must be float32 of shape"),
        ({"words": np.array([0.5])}, "`words` must be int64 of shape"),
        ({"probabilities": np.array([-1.0], dtype=np.float32)}, "`probabilities` must be float32 of shape"),
        ({"jumps": np.array([1, np.nan, 1], dtype=np.float32)}, "`jumps` must be finite and not below 0"),
        ({"end": np.array([10])}, "`words` and `end` must be below the 10 target tokens"),
        ({"weights": np.array([1.0, 0.5])}, "the first of `weights` must be below 1"),
    ],
)
def test_arrays_that_were_never_counted_are_refused(model, change, message):
    with pytest.raises(ArgumentError, match=message):
        StatisticalModel.from_arrays(model.arrays() | change)


def test_positions_in_arrays_must_rise(model):
    arrays = model.arrays()
    starts = arrays["starts"].copy()
    starts[1] = 99
    with pytest.raises(ArgumentError, match="`starts` must rise from 0 to"):
        StatisticalModel.from_arrays(arrays | {"starts": starts})
