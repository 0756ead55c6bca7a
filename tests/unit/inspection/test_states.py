"""Hidden states: recorded as the layers give them, projected as plain algebra does, near as cosines say."""

import re

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection.readings.states import nearest_states, principal_components, record_states
from regard.layers import FeedForward, MultiHeadAttention, TransformerEncoderBlock


def test_the_plane_is_that_of_the_singular_vectors():
    states = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) * torch.tensor([5.0, 3, 1, 1, 1, 1])
    result = principal_components(states)
    centered = (states - states.mean(0)).numpy()
    _, sizes, vectors = np.linalg.svd(centered, full_matrices=False)
    np.testing.assert_allclose(np.abs(result.coordinates.numpy()), np.abs(centered @ vectors[:2].T), atol=1e-3)
    np.testing.assert_allclose(result.shares, sizes[:2] ** 2 / (sizes**2).sum(), rtol=1e-4)


def test_the_plane_is_the_same_every_time():
    states = torch.randn(10, 4)
    assert torch.equal(principal_components(states).coordinates, principal_components(states.clone()).coordinates)


def test_too_few_states_are_refused():
    message = "`states` must be (states, size), at least (2, 2); received (1, 4). Project more states."
    with pytest.raises(ArgumentError, match=re.escape(message)):
        principal_components(torch.zeros(1, 4))


def test_scale_does_not_matter_to_what_is_near():
    states, others = torch.randn(3, 5), torch.randn(20, 5)
    first, second = nearest_states(states, others, count=4), nearest_states(7 * states, others / 3, count=4)
    assert torch.equal(first.indices, second.indices)
    assert (first.similarities.diff(dim=-1) <= 0).all()


@pytest.mark.parametrize("count", [0, 4])
def test_more_neighbors_than_there_are_are_refused(count):
    with pytest.raises(ArgumentError, match=rf"`count` must be from 1 to 3, all others; received {count}\."):
        nearest_states(torch.ones(1, 2), torch.ones(3, 2), count=count)


def test_states_are_what_the_blocks_output():
    torch.manual_seed(0)
    parts = [(MultiHeadAttention(8, 2), FeedForward(8, 16)) for _ in range(2)]
    blocks = torch.nn.Sequential(*(TransformerEncoderBlock(*item) for item in parts)).eval()
    inputs = torch.randn(1, 5, 8)
    states = record_states(blocks, lambda: blocks(inputs), length=5)
    with torch.no_grad():
        middle = blocks[0](inputs)
    assert list(states) == ["0", "1"]
    torch.testing.assert_close(states["0"], middle[0])
    assert record_states(blocks, lambda: blocks(inputs), length=4) == {}
