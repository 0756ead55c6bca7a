"""Outputs from back-pointers: all at once, beside a loop over one leaf at a time."""

import pytest
import torch
from torch import Tensor

from regard.decoding.history import History, Step

END = 3


def made_up(sentences: int, width: int, steps: int, *, weights: bool = False) -> History:
    """Make steps at random: sentences leave, outputs end at any step, and some scores are equal."""
    history = History([int(item) for item in torch.randint(1, 6, (sentences,))], end=END)
    numbers = torch.arange(sentences)
    for step in range(steps):
        if step % 3 == 2 and len(numbers) > 1:
            numbers = numbers[torch.rand(len(numbers)) < 0.7]
        shape = (len(numbers), width)
        kept = torch.rand(shape) < 0.9
        step_of = Step(
            sentences=numbers,
            parent=torch.randint(width, shape),
            row=torch.randint(len(numbers) * width, shape) if len(numbers) else torch.zeros(shape, dtype=torch.long),
            token=torch.randint(2, 9, shape),
            log_probability=-torch.rand(shape),
            score=-torch.randint(4, shape).float(),
            kept=kept,
            ended=kept & (torch.rand(shape) < 0.3),
            weights=torch.rand(len(numbers) * width, 2, 1, 5) if weights else None,
        )
        history.add(step_of)
    return history


Path = tuple[float, tuple[int, ...], tuple[float, ...], Tensor | None]


def follow(history: History, sentence: int, number: int, pick: int) -> Path:
    """Follow the back-pointers of one leaf."""
    score, tokens, of_tokens, weights = None, [], [], []
    for step in reversed(history.steps[: number + 1]):
        at = step.sentences.tolist().index(sentence), pick
        score = float(step.score[at]) if score is None else score
        tokens.append(int(step.token[at]))
        of_tokens.append(float(step.log_probability[at]))
        weights.append(None if step.weights is None else step.weights[step.row[at]])
        pick = int(step.parent[at])
    assert score is not None
    kept = [item for item in reversed(weights) if item is not None]
    joined = torch.stack(kept, dim=-2)[..., : history.lengths[sentence]] if kept else None
    return score, tuple(reversed(tokens)), tuple(reversed(of_tokens)), joined


def by_loops(history: History, count: int) -> list[list[Path]]:
    result: list[list[Path]] = [[] for _ in history.lengths]
    for number, step in enumerate(history.steps):
        for row, pick in step.ended.nonzero().tolist():
            sentence = int(step.sentences[row])
            result[sentence].append(follow(history, sentence, number, pick))
    return [sorted(few, key=lambda path: -path[0])[:count] for few in result]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(("sentences", "width", "steps"), [(1, 1, 1), (7, 1, 5), (9, 4, 8), (3, 5, 12)])
def test_it_is_what_a_loop_over_the_leaves_gives(
    sentences: int, width: int, steps: int, weights: bool, count: int
) -> None:
    history = made_up(sentences, width, steps, weights=weights)
    for few, expected in zip(history.hypotheses(count), by_loops(history, count), strict=True):
        assert [(one.score, one.tokens, one.log_probabilities) for one in few] == [path[:3] for path in expected]
        assert [one.finished for one in few] == [path[1][-1] == END for path in expected]
        for one, path in zip(few, expected, strict=True):
            assert (one.weights is None) == (path[3] is None)
            if one.weights is not None and path[3] is not None:
                assert torch.equal(one.weights, path[3])


def test_outputs_are_plain_numbers() -> None:
    history = made_up(5, 2, 4)
    outputs = [one for few in history.hypotheses(2) for one in few]
    assert outputs
    for one in outputs:
        assert type(one.tokens) is type(one.log_probabilities) is tuple
        assert {*map(type, one.tokens)} == {int}
        assert {*map(type, one.log_probabilities)} == {float}
        assert (type(one.score), type(one.finished)) == (float, bool)


def test_nothing_has_ended() -> None:
    history = made_up(4, 2, 1)
    history.steps[0].ended.zero_()
    assert history.hypotheses(1) == [[], [], [], []]
    assert History([3], end=END).hypotheses(1) == [[]]


def test_scores_that_are_no_numbers_come_last() -> None:
    history = made_up(1, 3, 1)
    history.steps[0].ended.fill_(True)
    history.steps[0].score.copy_(torch.tensor([[torch.nan, -5.0, -torch.inf]]))
    scores = [one.score for one in history.hypotheses(3)[0]]
    assert scores[:2] == [-5.0, -torch.inf]
    assert scores[2] != scores[2]
