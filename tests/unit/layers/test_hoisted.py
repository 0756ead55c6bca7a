"""Matrices whose gradients are computed after the loop."""

import pytest
import torch
from torch import nn

from regard.config.model import RecurrentSpec
from regard.config.read import read_settings
from regard.layers.recurrent import hoisted as file
from regard.layers.recurrent.hoisted import HoistedLinear
from regard.models.sequence.build import build_model


def loop(step, start):
    """Go through a loop in which every step reads the one before."""
    state, total = start, 0.0
    for _ in range(4):
        state = torch.tanh(step(state))
        total = total + state.square().sum()
    return total


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_are_those_of_the_layer(bias):
    linear = nn.Linear(4, 4, bias=bias).double()
    start = torch.randn(3, 2, 4, dtype=torch.float64, requires_grad=True)
    inputs = (start, *linear.parameters())
    expected = torch.autograd.grad(loop(linear, start), inputs)
    torch.testing.assert_close(
        torch.autograd.grad(loop(HoistedLinear(linear.weight, linear.bias), start), inputs), expected
    )


def test_a_graph_that_is_gone_through_twice_counts_once():
    linear = nn.Linear(4, 4).double()
    start = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    expected = torch.autograd.grad(loop(linear, start), linear.weight)
    total = loop(HoistedLinear(linear.weight, linear.bias), start)
    torch.autograd.grad(total, start, retain_graph=True)  # leaves the matrix out
    for _ in range(2):
        torch.testing.assert_close(torch.autograd.grad(total, linear.weight, retain_graph=True), expected)


def test_what_a_pass_without_the_matrix_left_behind_is_not_counted():
    linear, inputs = nn.Linear(1, 1, bias=False), torch.ones(1, 1, requires_grad=True)
    step = HoistedLinear(linear.weight, None)
    first, second = step(inputs), step(2 * inputs)
    torch.autograd.grad((first + second).sum(), inputs, retain_graph=True)
    first.sum().backward()
    assert linear.weight.grad.item() == 1


def test_a_second_derivative_is_refused_not_wrong():
    linear = nn.Linear(4, 4)
    total = loop(HoistedLinear(linear.weight, linear.bias), torch.randn(3, 4))
    gradient = torch.autograd.grad(total, linear.weight, create_graph=True)[0]
    with pytest.raises(RuntimeError, match=r"differentiate twice|does not require grad"):
        gradient.sum().backward()


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize(
    ("feeding", "score"), [(True, "additive"), (True, "luong"), (False, "additive"), (False, "dot")]
)
def test_decoders_learn_the_same(cell, feeding, score, monkeypatch):
    table = {"cell": cell, "embedding_size": 6, "hidden_size": 8, "attention": {"kind": score}}
    table |= {"wiring": "current", "input_feeding": True, "output": "attentional"} if feeding else {}
    spec = read_settings(RecurrentSpec, table)
    model = build_model(spec, source_vocabulary=11, target_vocabulary=12).double()
    source, lengths, target = torch.randint(1, 11, (3, 5)), torch.tensor([5, 2, 4]), torch.randint(1, 12, (3, 6))
    results = []
    for chosen in (False, True):
        monkeypatch.setattr(file, "pays", lambda inputs, chosen=chosen: chosen)
        monkeypatch.setattr("regard.models.sequence.input_feeding.pays", lambda inputs, chosen=chosen: chosen)
        logits = model(source, lengths, target)
        results.append((logits, *torch.autograd.grad(logits.square().sum(), list(model.parameters()))))
    torch.testing.assert_close(*results)
    assert not any("forward" in item.__dict__ for item in model.modules())
