import re

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.layers.recurrent.readout import Readout

SIZES = {"state_size": 4, "embedding_size": 3, "context_size": 5}


def test_maxout_is_the_papers_deep_output():
    """Bahdanau et al., section A.2.2, one pair at a time."""
    readout = Readout("maxout", 7, **SIZES, hidden_size=6)
    s, e, c = torch.randn(4), torch.randn(3), torch.randn(5)
    U, V, C = readout.state.weight, readout.embedding.weight, readout.context.weight
    wide = U @ s + readout.state.bias + V @ e + C @ c
    t = torch.stack([torch.maximum(wide[2 * k], wide[2 * k + 1]) for k in range(6)])
    torch.testing.assert_close(readout(s, e, c), readout.output.weight @ t + readout.output.bias)


def test_linear_is_the_lectures():
    readout = Readout("linear", 7, **SIZES)
    h, e, c = torch.randn(4), torch.randn(3), torch.randn(5)
    expected = readout.state.weight @ h + readout.embedding.weight @ e + readout.context.weight @ c
    torch.testing.assert_close(readout(h, e, c), expected + readout.state.bias)


def test_state_looks_at_the_state_alone():
    readout = Readout("state", 7, state_size=4)
    s = torch.randn(2, 4)
    torch.testing.assert_close(readout(s), s @ readout.output.weight.mT + readout.output.bias)
    assert torch.equal(readout(s), readout(s, torch.randn(2, 3), torch.randn(2, 5)))
    assert list(readout.state_dict()) == ["output.weight", "output.bias"]


@pytest.mark.parametrize(
    ("kind", "embedding_size", "more"),
    [("maxout", 6, {"hidden_size": 6}), ("linear", 3, {}), ("state", 4, {})],
)
def test_tied_output_is_the_embedding(kind, embedding_size, more):
    table = nn.Embedding(7, embedding_size)
    sizes = {**SIZES, "embedding_size": embedding_size}
    readout = Readout(kind, 7, **sizes, **more, tied=table)
    assert readout.output.weight is table.weight
    s, e, c = torch.randn(2, 4), table(torch.tensor([1, 2])), torch.randn(2, 5)
    logits = readout(s, e, c)
    assert logits.shape == (2, 7)
    if kind == "linear":
        hidden = readout.state(s) + readout.embedding(e) + readout.context(c)
        torch.testing.assert_close(logits, hidden @ table.weight.mT + readout.output.bias)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Readout("maxuot", 7, state_size=4),
            '`kind` must be one of maxout, linear, state; received "maxuot". Did you mean maxout?',
        ),
        (lambda: Readout("state", 0, state_size=4), "`vocabulary_size` must be at least 1; received 0."),
        (lambda: Readout("maxout", 7, **SIZES), '`hidden_size` must be given for Readout("maxout"); received None.'),
        (
            lambda: Readout("linear", 7, state_size=4, embedding_size=3),
            '`context_size` must be given for Readout("linear"); received None.',
        ),
        (
            lambda: Readout("state", 7, state_size=4, tied=nn.Embedding(7, 3)),
            '`tied` must be an embedding of shape (vocabulary, width) = (7, 4) for "state"; received (7, 3).',
        ),
        (
            lambda: Readout("linear", 7, **SIZES)(torch.zeros(2, 4)),
            '`embedding` and `context` must be given for Readout("linear"); received None.',
        ),
        (
            lambda: Readout("linear", 7, **SIZES)(torch.zeros(2, 4), torch.zeros(2, 3)),
            '`context` must be given for Readout("linear"); received None.',
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
