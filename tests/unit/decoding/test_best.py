"""The best continuations, by chunks and without."""

import pytest
import torch

from regard.decoding.ranking import CHUNK, best


@pytest.mark.parametrize("words", [3, CHUNK - 1, CHUNK, 2 * CHUNK, 5 * CHUNK + 1, 9 * CHUNK + 77])
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("count", [1, 5, 30])
def test_it_is_the_plain_top(words: int, width: int, count: int) -> None:
    base = torch.randn(7, width).mul(3)
    base[3, 1:] = -torch.inf  # dead hypotheses
    log_probabilities = torch.randn(7, width, words).log_softmax(-1)
    log_probabilities[2, :, words // 2 :] = -torch.inf
    sums = base.unsqueeze(-1) + log_probabilities
    expected = sums.flatten(1).topk(min(count, width * words)).values
    parent, token = best(base, log_probabilities, count)
    assert (token < words).all()
    assert (parent < width).all()
    found = sums.flatten(1).gather(1, parent * words + token)
    torch.testing.assert_close(found, expected)
    live = (parent * words + token).masked_fill(found == -torch.inf, -1)
    for row in live.tolist():
        assert len(set(row) - {-1}) == len([one for one in row if one >= 0])


def test_what_fills_the_last_chunk_is_no_word():
    words = 5 * CHUNK + 1
    scores = torch.full((1, 1, words), -torch.inf)
    scores[..., -1] = -1.0
    found = best(torch.zeros(1, 1), scores, 5)
    assert found.token[0, 0] == words - 1
    assert len(set(found.token[0].tolist())) == 5
