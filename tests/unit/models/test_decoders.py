"""Each decoder against a loop written from the paper, one sentence and one step at a time."""

import pytest
import torch
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers import AdditiveAttention, BilinearAttention, LocalAttention, LuongAttention
from regard.layers.mechanisms.dot import DotAttention
from regard.layers.recurrent.encoder import Encoded, RecurrentEncoder
from regard.models.sequence.conditional import ConditionalLSTM, ConditionalRNN, gru_gates, lstm_gates
from regard.models.sequence.current_state import CurrentStateDecoder
from regard.models.sequence.fixed_vector import FixedVectorDecoder
from regard.models.sequence.input_feeding import InputFeedingDecoder
from regard.models.sequence.previous_state import PreviousStateDecoder

LENGTHS = torch.tensor([5, 3])
SIZES = {"embedding_size": 3, "state_size": 4}


def encoded(cell: str = "gru", hidden: int = 4, *, bidirectional: bool = True, num_layers: int = 1) -> Encoded:
    encoder = RecurrentEncoder(cell, 3, hidden, bidirectional=bidirectional, num_layers=num_layers).double()
    with torch.no_grad():
        return encoder(torch.randn(2, 5, 3).double(), LENGTHS)


def words(count: int = 4) -> Tensor:
    return torch.randn(2, count, 3).double()


def cells_of(stack: nn.RNNBase) -> list[nn.RNNCellBase]:
    """The same parameters as cells, one for each layer."""
    kind = {nn.RNN: nn.RNNCell, nn.LSTM: nn.LSTMCell, nn.GRU: nn.GRUCell}[type(stack)]
    found = []
    for layer in range(stack.num_layers):
        cell = kind(stack.input_size if layer == 0 else stack.hidden_size, stack.hidden_size).double()
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        cell.load_state_dict({name: getattr(stack, f"{name}_l{layer}") for name in names})
        found.append(cell)
    return found


def test_bahdanau_scores_with_the_previous_state_and_reads_it_too() -> None:
    """Sections 3.1, A.1.2 and A.2.2, line by line."""
    attention = AdditiveAttention(4, 8, 6)
    decoder = PreviousStateDecoder(
        attention, "gru", **SIZES, context_size=8, start_size=4, output="maxout", maxout_size=5
    ).double()
    source, heard = encoded(), words()
    memory = decoder.remember(source, Padding(LENGTHS))
    features, state, weights = decoder.step(heard, decoder.start(memory), memory, weights=True)
    W_a, U_a, v_a, join = attention.query.weight, attention.key.weight, attention.vector, decoder.features.join
    for row, length in enumerate(LENGTHS.tolist()):
        h = source.memory[row, :length]
        backward_first = h[0, 4:]  # h←_1: what the backward half knows at the first word
        s = torch.tanh(decoder.begin.state[0].weight @ backward_first + decoder.begin.state[0].bias)
        for i in range(4):
            e_i = torch.stack([v_a @ torch.tanh(W_a @ s + U_a @ h_j) for h_j in h])  # s is still s_{i-1}
            alpha = e_i.softmax(0)
            c = alpha @ h
            t = join(torch.cat([s, heard[row, i], c]))  # U_o s_{i-1} + V_o E y_{i-1} + C_o c_i
            t = torch.stack([torch.maximum(t[2 * k], t[2 * k + 1]) for k in range(5)])
            s = decoder.cell(heard[row, i], s, c)
            torch.testing.assert_close(features[row, i], t)
            torch.testing.assert_close(weights[row, 0, i, :length], alpha)
        torch.testing.assert_close(state.state[row, 0], s)
    assert state.position.tolist() == [4, 4]


@pytest.mark.parametrize("output", ["joined", "linear", "state"])
def test_other_outputs_read_the_state_after_the_step(output: str) -> None:
    decoder = PreviousStateDecoder(
        BilinearAttention(4, 8), "rnn", **SIZES, context_size=8, start_size=4, output=output
    ).double()
    memory = decoder.remember(encoded("rnn"), None)
    features, state, _ = decoder.step(words(3), decoder.start(memory), memory)
    part = {"joined": slice(8, 12), "linear": slice(0, 4), "state": slice(0, 4)}[output]
    torch.testing.assert_close(features[:, -1, part], state.state[:, 0])


@pytest.mark.parametrize(("kind", "cell"), [(ConditionalLSTM, nn.LSTMCell), (ConditionalRNN, nn.RNNCell)])
def test_conditional_cells_are_torchs_on_word_and_context_side_by_side(kind, cell) -> None:
    ours, theirs = kind(3, 4, 5).double(), cell(8, 4).double()
    with torch.no_grad():
        theirs.weight_ih.copy_(torch.cat([ours.input.weight, ours.context.weight], dim=1))
        theirs.weight_hh.copy_(ours.recurrent.weight)
        theirs.bias_ih.copy_(ours.input.bias)
        theirs.bias_hh.zero_()
    word, context, state, held = (torch.randn(2, size).double() for size in (3, 5, 4, 4))
    both = torch.cat([word, context], dim=-1)
    if kind is ConditionalLSTM:
        found = ours.step_with_cell(ours.project(word), state, held, context)
        torch.testing.assert_close(found, theirs(both, (state, held)))
    else:
        torch.testing.assert_close(ours.step(ours.project(word), state, context), theirs(both, state))


def test_gates_are_torchs() -> None:
    word, state, held = torch.randn(2, 3).double(), torch.randn(2, 4).double(), torch.randn(2, 4).double()
    lstm, gru = nn.LSTMCell(3, 4).double(), nn.GRUCell(3, 4).double()
    total = word @ lstm.weight_ih.T + lstm.bias_ih + state @ lstm.weight_hh.T + lstm.bias_hh
    torch.testing.assert_close(lstm_gates(total, held), lstm(word, (state, held)))
    heard, own = word @ gru.weight_ih.T + gru.bias_ih, state @ gru.weight_hh.T + gru.bias_hh
    torch.testing.assert_close(gru_gates(heard, own, state), gru(word, state))


@pytest.mark.parametrize("context", ["initial", "every-step"])
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_one_fixed_vector(cell: str, context: str) -> None:
    decoder = FixedVectorDecoder(cell, **SIZES, vector_size=8, context=context, num_layers=2).double()
    source, heard = encoded(cell, num_layers=2), words()
    memory = decoder.remember(source, Padding(LENGTHS))
    features, state, weights = decoder.step(heard, decoder.start(memory), memory, weights=True)
    assert weights is None
    vector = torch.cat([source.memory[torch.arange(2), LENGTHS - 1, :4], source.memory[:, 0, 4:]], dim=-1)
    torch.testing.assert_close(source.state[:, -1], vector)  # [h→_T; h←_1] of the top layer
    states = [torch.tanh(one(source.state[:, layer])) for layer, one in enumerate(decoder.begin.state)]
    held = [one(source.cell[:, layer]) for layer, one in enumerate(decoder.begin.cell)]
    for i in range(4):
        below = heard[:, i] if context == "initial" else torch.cat([heard[:, i], vector], dim=-1)
        for layer, step in enumerate(cells_of(decoder.recurrence)):
            if cell == "lstm":
                states[layer], held[layer] = step(below, (states[layer], held[layer]))
            else:
                states[layer] = step(below, states[layer])
            below = states[layer]
        torch.testing.assert_close(features[:, i], below)
    torch.testing.assert_close(state.state, torch.stack(states, dim=1))


def test_the_lectures_dot_scores_with_the_current_state_and_has_no_parameters() -> None:
    decoder = CurrentStateDecoder(
        DotAttention(), "gru", **SIZES, context_size=4, start_size=4, output="joined"
    ).double()
    assert not list(decoder.attention.parameters())
    source, heard = encoded(hidden=2), words()
    memory = decoder.remember(source, Padding(LENGTHS))
    features, _, weights = decoder.step(heard, decoder.start(memory), memory, weights=True)
    (step,) = cells_of(decoder.recurrence)
    s = torch.tanh(decoder.begin.state[0](source.state[:, 0]))
    for i in range(4):
        s = step(heard[:, i], s)
        for row, length in enumerate(LENGTHS.tolist()):
            h = source.memory[row, :length]
            alpha = (h @ s[row]).softmax(0)  # s is already s_i
            torch.testing.assert_close(weights[row, 0, i, :length], alpha)
            torch.testing.assert_close(features[row, i], torch.cat([alpha @ h, s[row]]))  # [a; s]


def test_luong_starts_every_layer_from_the_encoders_and_reads_the_attentional_vector() -> None:
    attention = LuongAttention(4, 4, score="general")
    decoder = CurrentStateDecoder(
        attention, "lstm", **SIZES, context_size=4, start_size=4, num_layers=2, copy=True
    ).double()
    source, heard = encoded("lstm", bidirectional=False, num_layers=2), words()
    memory = decoder.remember(source, Padding(LENGTHS))
    assert torch.equal(memory.state, source.state)
    assert torch.equal(memory.cell, source.cell)
    features, _, _ = decoder.step(heard, decoder.start(memory), memory)
    top, _ = decoder.recurrence(
        heard, (source.state.transpose(0, 1).contiguous(), source.cell.transpose(0, 1).contiguous())
    )
    for row, length in enumerate(LENGTHS.tolist()):
        h = source.memory[row, :length]
        for i in range(4):
            alpha = (h @ (attention.matrix.T @ top[row, i])).softmax(0)
            expected = torch.tanh(attention.output.weight @ torch.cat([alpha @ h, top[row, i]]))
            torch.testing.assert_close(features[row, i], expected)


def feeding(attention: nn.Module, cell: str, num_layers: int) -> InputFeedingDecoder:
    return InputFeedingDecoder(attention, cell, **SIZES, context_size=6, start_size=6, num_layers=num_layers).double()


@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_input_feeding_is_the_layers_cell_step_by_step(cell: str, num_layers: int) -> None:
    for attention in (LuongAttention(4, 6), AdditiveAttention(4, 6, 5)):
        decoder = feeding(attention, cell, num_layers)
        source, heard = encoded(cell, 3, num_layers=num_layers), words()
        memory = decoder.remember(source, Padding(LENGTHS))
        features, state, weights = decoder.step(heard, decoder.start(memory), memory, weights=True)
        kept = decoder.cell.start(memory.state, memory.cell)
        for i in range(4):
            kept, vector, alpha = decoder.cell(heard[:, i], kept, memory.source, return_weights=True)
            torch.testing.assert_close(features[:, i], vector)
            torch.testing.assert_close(weights[:, 0, i], alpha)
        torch.testing.assert_close(state.state, kept.state)
        torch.testing.assert_close(state.attentional, kept.vector)


def test_local_m_is_told_the_step() -> None:
    attention = LocalAttention(4, 6, kind="monotonic", half_width=0.5)
    for decoder in (
        feeding(attention, "gru", 1),
        CurrentStateDecoder(attention, "gru", **SIZES, context_size=6, start_size=6).double(),
    ):
        memory = decoder.remember(encoded(hidden=3), Padding(torch.tensor([5, 5])))
        _, state, first = decoder.step(words(2), decoder.start(memory), memory, weights=True)
        _, _, rest = decoder.step(words(3), state, memory, weights=True)
        torch.testing.assert_close(torch.cat([first, rest], dim=2)[0, 0], torch.eye(5).double())
