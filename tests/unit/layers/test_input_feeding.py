import re

import pytest
import torch
from torch import nn

from regard import Padding
from regard.errors import ArgumentError
from regard.layers.mechanisms.additive import AdditiveAttention
from regard.layers.mechanisms.local import LocalAttention
from regard.layers.mechanisms.luong import LuongAttention
from regard.layers.recurrent.input_feeding import InputFeedingCell

PEERS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def decode(step, embeddings, state, memory):
    vectors, weights = [], []
    for embedding in embeddings.unbind(1):
        state, vector, row = step(embedding, state, memory, return_weights=True)
        vectors.append(vector)
        weights.append(row)
    return torch.stack(vectors, dim=1), torch.stack(weights, dim=1), state


@pytest.mark.parametrize("cell", list(PEERS))
@pytest.mark.parametrize("num_layers", [1, 2])
def test_it_is_the_papers_loop(cell, num_layers):
    """Luong et al., section 3.3 and equation 5, with torch's stacked network for the recurrence."""
    step = InputFeedingCell(
        LuongAttention(4, 4, score="dot"), cell, embedding_size=3, state_size=4, num_layers=num_layers
    )
    embeddings, source = torch.randn(2, 5, 3), torch.randn(2, 6, 4)
    memory = step.attention.remember(source, mask=Padding(torch.tensor([6, 4])))
    vectors, weights, state = decode(step, embeddings, step.start(2), memory)

    peer = PEERS[cell](3 + 4, 4, num_layers=num_layers, batch_first=True)
    for layer, module in enumerate(step.cells):
        for name, parameter in module.named_parameters():
            getattr(peer, f"{name}_l{layer}").data.copy_(parameter.data)
    hidden, fed = None, torch.zeros(2, 4)
    for t in range(5):
        top, hidden = peer(torch.cat([embeddings[:, t], fed], dim=-1).unsqueeze(1), hidden)
        for b, length in enumerate([6, 4]):
            alpha = (source[b, :length] @ top[b, 0]).softmax(0)
            context = alpha @ source[b, :length]
            fed[b] = torch.tanh(step.attention.output.weight @ torch.cat([context, top[b, 0]])).detach()
            torch.testing.assert_close(weights[b, t, :length], alpha)
            assert (weights[b, t, length:] == 0).all()
        torch.testing.assert_close(vectors[:, t], fed)
    final = hidden[0] if cell == "lstm" else hidden
    torch.testing.assert_close(state.state, final.transpose(0, 1))


def test_any_attention_fits_with_a_join_of_its_own():
    step = InputFeedingCell(AdditiveAttention(4, 6, 5), "gru", embedding_size=3, state_size=4, context_size=6)
    memory = step.attention.remember(torch.randn(2, 7, 6))
    state, vector, weights = step(torch.randn(2, 3), step.start(2), memory, return_weights=True)
    context = (weights.unsqueeze(1) @ memory.value).squeeze(1)
    torch.testing.assert_close(vector, torch.tanh(step.join(torch.cat([context, state.state[:, 0]], dim=-1))))
    without = step(torch.zeros(2, 3), step.start(2), memory)
    assert without.weights is None
    assert without.state.cell is None


def test_what_is_fed_matters():
    step = InputFeedingCell(LuongAttention(4, 4), "lstm", embedding_size=3, state_size=4)
    memory, state = step.attention.remember(torch.randn(2, 7, 4)), step.start(2)
    x = torch.randn(2, 3)
    fed = state._replace(vector=torch.ones(2, 4))
    assert not torch.allclose(step(x, state, memory).vector, step(x, fed, memory).vector)


def test_state_starts_from_an_encoder_and_can_be_reordered():
    step = InputFeedingCell(LuongAttention(4, 4), "lstm", embedding_size=3, state_size=4, num_layers=2)
    state = step.start(torch.randn(3, 2, 4), torch.randn(3, 2, 4))
    assert (state.vector == 0).all()
    rows = torch.tensor([2, 0, 0])
    for before, after in zip(state, state.select(rows), strict=True):
        assert torch.equal(before[rows], after)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: InputFeedingCell(LuongAttention(4, 4), "lsmt", embedding_size=3, state_size=4),
            '`cell` must be one of rnn, lstm, gru; received "lsmt". Did you mean lstm?',
        ),
        (
            lambda: InputFeedingCell(LuongAttention(4, 4), "gru", embedding_size=0, state_size=4),
            "`embedding_size` must be at least 1; received 0.",
        ),
        (
            lambda: InputFeedingCell(LuongAttention(4, 4), "gru", embedding_size=3, state_size=4, dropout=2.0),
            "`dropout` must be a probability between 0 and 1; received 2.0.",
        ),
        (
            lambda: InputFeedingCell(LuongAttention(4, 4), "gru", embedding_size=3, state_size=4).start(
                torch.zeros(2, 3, 4)
            ),
            "`state` must have shape (batch, layers, state_size) = (batch, 1, 4); received (2, 3, 4).",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


@pytest.mark.usefixtures("unchecked")
def test_bad_calls():
    step = InputFeedingCell(AdditiveAttention(4, 6, 5), "gru", embedding_size=3, state_size=4)
    memory = step.attention.remember(torch.randn(2, 7, 6))
    with pytest.raises(ArgumentError, match="`context_size` must be given for an attention that gives no attentional"):
        step(torch.zeros(2, 3), step.start(2), memory)
    with pytest.raises(ArgumentError, match=re.escape("(batch, 3), one word per row; received (2, 1, 3).")):
        step(torch.zeros(2, 1, 3), step.start(2), memory)


def test_local_m_is_told_the_step():
    """The window of local-m moves on with the decoder: at step t it lies around place t."""
    step = InputFeedingCell(
        LocalAttention(4, 4, kind="monotonic", half_width=1.0), "gru", embedding_size=3, state_size=4
    )
    memory, state = step.attention.remember(torch.randn(2, 6, 4)), step.start(2)
    for place in range(4):
        where = torch.tensor([place])
        state, _, weights = step(torch.randn(2, 3), state, memory, query_positions=where, return_weights=True)
        inside = (torch.arange(6) - place).abs() <= 1
        assert bool((weights[:, inside] > 0).all())
        assert bool((weights[:, ~inside] == 0).all())
