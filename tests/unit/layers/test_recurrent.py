import re

import pytest
import torch

from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.recurrent.encoder import RecurrentEncoder
from regard.layers.recurrent.frozen import can_freeze, run_frozen

CELLS = ["rnn", "lstm", "gru"]


def step(cell, x, state, weight, recurrent, bias, recurrent_bias):
    """One step of each cell as its paper writes it, in torch's order of gates; gives the new (state, cell)."""
    hidden, memory = state
    if cell == "rnn":
        return torch.tanh(weight @ x + bias + recurrent @ hidden + recurrent_bias), memory
    from_input, from_state = weight @ x + bias, recurrent @ hidden + recurrent_bias
    if cell == "lstm":
        i, f, g, o = (from_input + from_state).chunk(4)
        memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(memory), memory
    (r, z, n), (hr, hz, hn) = from_input.chunk(3), from_state.chunk(3)
    new = torch.tanh(n + torch.sigmoid(r + hr) * hn)
    z = torch.sigmoid(z + hz)
    return (1 - z) * new + z * hidden, memory


def encode_by_hand(encoder, cell, words):
    """Read one unpadded row, layer by layer and direction by direction."""
    net = encoder.recurrence
    finals, cells = [], []
    for layer in range(net.num_layers):
        outputs, ends, end_cells = [], [], []
        for suffix in ["", "_reverse"][: 2 if net.bidirectional else 1]:
            names = [f"{name}_l{layer}{suffix}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            parameters = [getattr(net, name) for name in names]
            state = (torch.zeros(net.hidden_size).to(words.dtype),) * 2
            states = []
            for x in reversed(words) if suffix else words:
                state = step(cell, x, state, *parameters)
                states.append(state[0])
            outputs.append(torch.stack(states[::-1] if suffix else states))
            ends.append(state[0])
            end_cells.append(state[1])
        words = torch.cat(outputs, dim=-1)
        finals.append(torch.cat(ends))
        cells.append(torch.cat(end_cells))
    return words, torch.stack(finals), torch.stack(cells)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
def test_every_row_is_read_by_itself_whatever_its_padding(cell, bidirectional, num_layers):
    encoder = RecurrentEncoder(cell, 3, 4, num_layers=num_layers, bidirectional=bidirectional).double()
    embedding = torch.randn(5, 6, 3).double()
    lengths = torch.tensor([2, 6, 0, 1, 4])
    for row, length in zip(embedding, lengths, strict=True):
        row[length:] = torch.nan
    memory, state, kept = encoder(embedding, lengths)
    assert memory.shape == (5, 6, encoder.size)
    assert state.shape == (5, num_layers, encoder.size)
    assert (kept is None) == (cell != "lstm")
    for b, length in enumerate(lengths.tolist()):
        assert (memory[b, length:] == 0).all()
        if not length:
            assert (state[b] == 0).all()
            continue
        expected = encode_by_hand(encoder, cell, embedding[b, :length])
        torch.testing.assert_close(memory[b, :length], expected[0])
        torch.testing.assert_close(state[b], expected[1])
        if kept is not None:
            torch.testing.assert_close(kept[b], expected[2])


@pytest.mark.parametrize("cell", CELLS)
def test_without_lengths_it_is_torchs(cell):
    encoder = RecurrentEncoder(cell, 3, 4, num_layers=2, bidirectional=True)
    embedding = torch.randn(2, 5, 3)
    memory, state, _ = encoder(embedding)
    expected, final = encoder.recurrence(embedding)
    final = final[0] if isinstance(final, tuple) else final
    torch.testing.assert_close(memory, expected)
    torch.testing.assert_close(state[:, 1, :4], final[2])  # forward, after the last word
    torch.testing.assert_close(state[:, 1, 4:], final[3])  # backward, after the first
    torch.testing.assert_close(memory, encoder(embedding, torch.tensor([5, 5])).memory)


@pytest.mark.parametrize("cell", CELLS)
def test_nan_in_the_padding_reaches_no_gradient(cell):
    encoder = RecurrentEncoder(cell, 3, 4, bidirectional=True)
    embedding = torch.randn(3, 4, 3)
    embedding[0, 2:] = torch.nan
    embedding[1] = torch.inf
    embedding.requires_grad_()
    memory, state, _ = encoder(embedding, torch.tensor([2, 0, 4]))
    (memory.square().sum() + state.square().sum()).backward()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())
    assert (embedding.grad[0, 2:] == 0).all()
    assert (embedding.grad[1] == 0).all()
    assert (embedding.grad[2] != 0).any()


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0)])
@pytest.mark.parametrize("given", [False, True])
def test_nothing_to_read(shape, given):
    encoder = RecurrentEncoder("lstm", 3, 4, num_layers=2)
    memory, state, cell = encoder(torch.zeros(*shape, 3), torch.zeros(shape[0], dtype=torch.long) if given else None)
    assert memory.shape == (*shape, 4)
    assert state.shape == cell.shape == (shape[0], 2, 4)


def test_only_empty_rows():
    memory, state, _ = RecurrentEncoder("gru", 3, 4)(torch.randn(2, 3, 3), torch.tensor([0, 0]))
    assert (memory == 0).all()
    assert (state == 0).all()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: RecurrentEncoder("gur", 3, 4),
            '`cell` must be one of rnn, lstm, gru; received "gur". Did you mean gru?',
        ),
        (lambda: RecurrentEncoder("gru", 0, 4), "`input_size` must be at least 1; received 0."),
        (lambda: RecurrentEncoder("gru", 3, 4, num_layers=0), "`num_layers` must be at least 1; received 0."),
        (
            lambda: RecurrentEncoder("gru", 3, 4, dropout=0.1),
            "`dropout` acts between layers, so it must be 0 for one layer; received 0.1.",
        ),
        (
            lambda: RecurrentEncoder("gru", 3, 4, num_layers=2, dropout=-0.1),
            "`dropout` must be a probability between 0 and 1; received -0.1.",
        ),
        (
            lambda: RecurrentEncoder("gru", 3, 4)(torch.zeros(2, 5, 4)),
            "`embedding` must have shape (batch, length, 3); received (2, 5, 4).",
        ),
        (
            lambda: RecurrentEncoder("gru", 3, 4)(torch.zeros(2, 5, 3), torch.tensor([5, 6])),
            "`lengths` must be from 0 to the length of `embedding`, 5; received numbers from 5 to 6.",
        ),
        (
            lambda: RecurrentEncoder("gru", 3, 4)(torch.zeros(2, 5, 3), torch.tensor([5, 5, 5])),
            "`lengths` must have one number per row, (2,); received (3,).",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


@pytest.mark.usefixtures("unchecked")
def test_lengths_must_be_integers():
    with pytest.raises(ArgumentTypeError, match=re.escape("must be a tensor of integers; received torch.float32.")):
        RecurrentEncoder("gru", 3, 4)(torch.zeros(1, 5, 3), torch.tensor([5.0]))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_shut_gates_are_packing(cell, layers, bidirectional):
    encoder = RecurrentEncoder(cell, 5, 6, num_layers=layers, bidirectional=bidirectional).double()
    words = torch.randn(4, 7, 5, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([7, 3, 0, 1])
    packed = [item for item in encoder(words, lengths) if item is not None]
    frozen = [item for item in run_frozen(encoder.recurrence, words, lengths) if item is not None]
    torch.testing.assert_close(frozen, packed)
    toward = [torch.randn_like(item) for item in packed]
    inputs = (words, *encoder.parameters())
    gradients = [
        torch.autograd.grad(sum((item * to).sum() for item, to in zip(items, toward, strict=True)), inputs)
        for items in (frozen, packed)
    ]
    torch.testing.assert_close(*gradients)


def test_a_plain_network_has_no_gates_to_shut():
    assert not can_freeze(RecurrentEncoder("rnn", 2, 3).recurrence)


@pytest.mark.gpu
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_on_a_gpu_padding_changes_nothing(cell):
    encoder = RecurrentEncoder(cell, 64, 128, num_layers=2, bidirectional=True)
    words, lengths = torch.randn(16, 23, 64), torch.randint(0, 24, (16,))
    expected = encoder(words, lengths)
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        result = encoder.cuda()(words.cuda(), lengths.cuda())
    finally:
        torch.backends.cudnn.allow_tf32 = before
    for item, right in zip(result, expected, strict=True):
        if right is not None:
            torch.testing.assert_close(item.cpu(), right, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_on_a_gpu_it_trains_in_bfloat16(cell):
    """cuDNN must be called as for training, whatever the precision and the mode of the module."""
    encoder = RecurrentEncoder(cell, 64, 128, bidirectional=True).cuda().eval()
    words = torch.randn(16, 23, 64, device="cuda", requires_grad=True)
    lengths = torch.randint(1, 24, (16,), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        memory = encoder(words, lengths).memory
    memory.float().square().sum().backward()
    expected = torch.arange(23, device="cuda") < lengths[:, None]
    assert torch.equal(words.grad.abs().sum(-1) > 0, expected)
