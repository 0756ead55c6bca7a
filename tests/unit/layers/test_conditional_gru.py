import copy
import re

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.layers.recurrent.conditional_gru import ConditionalGRU


def parts(gru):
    """Take the fused matrices apart under the paper's names."""
    W_r, W_z, W = gru.input.weight.chunk(3)
    b_r, b_z, b = gru.input.bias.chunk(3)
    C_r, C_z, C = gru.context.weight.chunk(3)
    U_r, U_z = gru.gates.weight.chunk(2)
    return (W_r, U_r, C_r, b_r), (W_z, U_z, C_z, b_z), (W, gru.candidate.weight, C, b)


def bahdanau(gru, e, s, c):
    """Sections A.1.1 and A.2.2, line by line."""
    (W_r, U_r, C_r, b_r), (W_z, U_z, C_z, b_z), (W, U, C, b) = parts(gru)
    z = torch.sigmoid(W_z @ e + U_z @ s + C_z @ c + b_z)
    r = torch.sigmoid(W_r @ e + U_r @ s + C_r @ c + b_r)
    candidate = torch.tanh(W @ e + U @ (r * s) + C @ c + b)
    return (1 - z) * s + z * candidate


def lecture(gru, e, s, c):
    """The same with the gate that lectures and torch print: z keeps the old state."""
    (W_r, U_r, C_r, b_r), (W_z, U_z, C_z, b_z), (W, U, C, b) = parts(gru)
    z = torch.sigmoid(W_z @ e + U_z @ s + C_z @ c + b_z)
    r = torch.sigmoid(W_r @ e + U_r @ s + C_r @ c + b_r)
    candidate = torch.tanh(W @ e + U @ (r * s) + C @ c + b)
    return z * s + (1 - z) * candidate


@pytest.fixture
def gru():
    layer = ConditionalGRU(3, 4, 5).double()
    nn.init.normal_(layer.input.bias)
    return layer


@pytest.fixture
def inputs():
    return torch.randn(6, 3).double(), torch.randn(6, 4).double(), torch.randn(6, 5).double()


def test_it_is_the_papers_step(gru, inputs):
    expected = torch.stack([bahdanau(gru, *row) for row in zip(*inputs, strict=True)])
    torch.testing.assert_close(gru(*inputs), expected)


def test_the_lectures_gate_is_the_papers_with_its_signs_changed(gru, inputs):
    flipped = copy.deepcopy(gru)
    with torch.no_grad():
        rows = slice(gru.state_size, 2 * gru.state_size)  # reset, update, candidate
        for parameter in (flipped.input.weight, flipped.input.bias, flipped.context.weight, flipped.gates.weight):
            parameter[rows] *= -1
    expected = torch.stack([lecture(flipped, *row) for row in zip(*inputs, strict=True)])
    torch.testing.assert_close(gru(*inputs), expected)


def test_with_the_reset_open_and_the_update_flipped_it_is_torchs(gru, inputs):
    """Where nothing is reset, before or after the matrix product is the same."""
    with torch.no_grad():
        for linear in (gru.input, gru.context, gru.gates):
            linear.weight[:4] = 0
        gru.input.bias[:4] = 50
    (W_r, U_r, _, b_r), (W_z, U_z, C_z, b_z), (W, U, C, b) = parts(gru)
    peer = nn.GRUCell(3 + 5, 4).double()
    with torch.no_grad():
        peer.weight_ih.copy_(
            torch.cat([torch.cat([W_r, 0 * C], 1), torch.cat([-W_z, -C_z], 1), torch.cat([W, C], 1)]),
        )
        peer.weight_hh.copy_(torch.cat([U_r, -U_z, U]))
        peer.bias_ih.copy_(torch.cat([b_r, -b_z, b]))
        peer.bias_hh.zero_()
    embedding, state, context = inputs
    torch.testing.assert_close(gru(*inputs), peer(torch.cat([embedding, context], dim=-1), state))


def test_embeddings_can_be_projected_all_at_once(gru):
    embedding, context = torch.randn(2, 7, 3).double(), torch.randn(2, 7, 5).double()
    projected = gru.project(embedding)
    slow = fast = torch.zeros(2, 4).double()
    for t in range(7):
        slow = gru(embedding[:, t], slow, context[:, t])
        fast = gru.step(projected[:, t], fast, context[:, t])
    torch.testing.assert_close(fast, slow)


def test_recurrent_matrices_start_orthogonal():
    gru = ConditionalGRU(3, 4, 5)
    for matrix in (*gru.gates.weight.chunk(2), gru.candidate.weight):
        torch.testing.assert_close(matrix @ matrix.mT, torch.eye(4))
    assert (gru.input.bias == 0).all()
    names = ["input.weight", "input.bias", "context.weight", "gates.weight", "candidate.weight"]
    assert list(gru.state_dict()) == names


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ConditionalGRU(3, 0, 5), "`state_size` must be at least 1; received 0."),
        (
            lambda: ConditionalGRU(3, 4, 5)(torch.zeros(2, 2), torch.zeros(2, 4), torch.zeros(2, 5)),
            "`embedding` must be 3 wide; received 2.",
        ),
        (
            lambda: ConditionalGRU(3, 4, 5)(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 5)),
            "`state` must be 4 wide; received 3.",
        ),
        (
            lambda: ConditionalGRU(3, 4, 5)(torch.zeros(2, 3), torch.zeros(2, 4), torch.zeros(2, 4)),
            "`context` must be 5 wide; received 4.",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
