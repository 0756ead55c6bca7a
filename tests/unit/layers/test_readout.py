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
    U, V, C = readout.features.join.weight.split([4, 3, 5], dim=1)
    wide = U @ s + readout.features.join.bias + V @ e + C @ c
    t = torch.stack([torch.maximum(wide[2 * k], wide[2 * k + 1]) for k in range(6)])
    torch.testing.assert_close(readout(s, e, c), readout.output.weight @ t + readout.output.bias)


def test_linear_is_the_lectures():
    readout = Readout("linear", 7, **SIZES)
    h, e, c = torch.randn(4), torch.randn(3), torch.randn(5)
    of_state, of_embedding, of_context = readout.output.weight.split([4, 3, 5], dim=1)
    expected = of_state @ h + of_embedding @ e + of_context @ c
    torch.testing.assert_close(readout(h, e, c), expected + readout.output.bias)


def test_state_reads_the_state_alone():
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
        hidden = readout.project(torch.cat([s, e, c], dim=-1))
        torch.testing.assert_close(logits, hidden @ table.weight.mT + readout.output.bias)


@pytest.mark.parametrize(("kind", "tied"), [("maxout", False), ("linear", False), ("linear", True), ("state", False)])
def test_state_dicts_with_three_matrices_are_read(kind, tied):
    """Earlier versions had U, V and C apart, and W_yh, W_ye, W_yc of "linear" without an output matrix."""
    readout = nn.Sequential(Readout(kind, 7, **SIZES, hidden_size=6, tied=nn.Embedding(7, 3) if tied else None))
    wide = 12 if kind == "maxout" else 3 if tied else 7
    old = (
        {}
        if kind == "linear" and not tied
        else {f"0.output.{key}": x for key, x in readout[0].output.state_dict().items()}
    )
    matrices = {name: torch.randn(wide, size) for name, size in (("state", 4), ("embedding", 3), ("context", 5))}
    bias = torch.randn(wide)
    if kind != "state":
        old |= {f"0.{name}.weight": matrix for name, matrix in matrices.items()} | {"0.state.bias": bias}
    readout.load_state_dict(old)
    inputs = {"state": torch.randn(2, 4), "embedding": torch.randn(2, 3), "context": torch.randn(2, 5)}
    hidden = sum(inputs[name] @ matrix.mT for name, matrix in matrices.items()) + bias
    if kind == "maxout":
        hidden = hidden.unflatten(-1, (-1, 2)).amax(-1)
    output = readout[0].output
    expected = hidden if kind == "linear" and not tied else output(inputs["state"] if kind == "state" else hidden)
    torch.testing.assert_close(readout[0](*inputs.values()), expected)


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
            '`embedding` must be given for the features "linear"; received None.',
        ),
        (
            lambda: Readout("linear", 7, **SIZES)(torch.zeros(2, 4), torch.zeros(2, 3)),
            '`context` must be given for the features "linear"; received None.',
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
