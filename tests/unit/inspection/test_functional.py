"""Calls of the operator that a model's own modules make are recorded under the module's name."""

import threading

import pytest
import torch
from torch import Tensor, nn

from regard import Causal, Dot, Sink, Softmax, attention
from regard.attention.observe import OBSERVERS, observing
from regard.errors import ArgumentError
from regard.inspection import record
from regard.layers import MultiHeadAttention
from regard.layers.attend import Attend


class Own(nn.Module):
    """Calls the operator itself, twice where it is told."""

    def __init__(self, times: int = 1) -> None:
        super().__init__()
        self.project, self.times = nn.Linear(4, 4), times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = x + attention(self.project(x), x, mask=Causal())
        return x


class Mixed(nn.Module):
    """A call of its own between those of a module and of a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Own(), nn.Linear(4, 4), Own(times=2))
        self.layer = MultiHeadAttention(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(attention(self.blocks(x), x, score=Dot()))
        return x

    def method(self, x: Tensor) -> Tensor:
        return attention(x, x)


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_calls_have_the_name_of_their_module_and_come_in_order() -> None:
    model, x = Mixed().eval(), torch.randn(2, 3, 4)
    before = model(x)
    with record(model) as trace:
        assert torch.equal(model(x), before)
    assert [(call.layer, call.step) for call in trace.calls] == [
        ("blocks.0", 0),
        ("blocks.2", 0),
        ("blocks.2", 1),
        ("Mixed", 0),
        ("layer", 0),
    ]
    own = model.blocks[0]
    weights = attention(own.project(x), x, mask=Causal(), return_weights=True).weights  # type: ignore[operator, union-attr]
    torch.testing.assert_close(trace["blocks.0"][0].weights[:, 0], weights)
    assert trace["blocks.0"][0].mask is not None
    assert (hooks(model), OBSERVERS) == (0, [])


def test_some_modules_can_be_asked_for() -> None:
    model, x = Mixed(), torch.randn(1, 3, 4)
    with record(model, layers=["blocks.2", "layer"]) as trace:
        model(x)
    assert trace.layers == ["blocks.2", "layer"]
    with (
        pytest.raises(ArgumentError, match=r'must be that of an attention layer; received "blokcs.2"'),
        record(model, layers="blokcs.2"),
    ):
        pass
    with (
        pytest.raises(ArgumentError, match=r'must be that of an attention layer; received "blocks.0.projec\*"'),
        record(model, layers="blocks.0.projec*"),
    ):
        pass


@pytest.mark.parametrize("normalize", [Softmax(), Sink(torch.zeros(1))], ids=["softmax", "sink"])
def test_gradients_of_weights_are_kept(normalize) -> None:
    class Plain(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return attention(x[:, None], x[:, None], normalize=normalize)

    model, x = Plain(), torch.randn(2, 3, 4, requires_grad=True)
    with record(model, keep_gradients=True) as trace:
        model(x).square().sum().backward()
    weights = attention(x[:, None], x[:, None], normalize=normalize, return_weights=True).weights
    torch.testing.assert_close(trace[0].weights, weights)
    assert trace[0].weights.grad is not None


def test_gradients_reach_the_weights_of_a_call() -> None:
    model, x = Own(), torch.randn(2, 3, 4)
    with record(model, keep_gradients=True) as trace:
        model(x).square().sum().backward()
    (call,) = trace.calls
    assert call.layer == "Own"
    assert call.weights.grad is not None
    assert call.weights.grad.abs().sum() > 0


def test_what_no_forward_of_the_model_makes_is_not_seen() -> None:
    model, x = Mixed(), torch.randn(1, 3, 4)
    with record(model) as trace:
        attention(x, x)
        model.method(x)
        Own()(x)
        thread = threading.Thread(target=attention, args=(x, x))
        thread.start()
        thread.join()
    assert trace.calls == []


def test_two_models_are_recorded_at_once_each_for_itself() -> None:
    first, second, x = Own(), Own(times=2), torch.randn(1, 3, 4)
    with record(first) as one, record(second) as two:
        first(x)
        second(x)
    assert (len(one.calls), len(two.calls)) == (1, 2)


def test_an_exception_in_a_forward_leaves_nothing_behind() -> None:
    model, x = nn.Sequential(Own(), Own()), torch.randn(1, 3, 4)
    with record(model) as trace:
        with pytest.raises(ArgumentError):
            model(torch.randn(4))
        with pytest.raises(RuntimeError):
            model(torch.randn(1, 3, 5))
        attention(x, x)
        model(x)
    assert [call.layer for call in trace.calls] == ["0", "1"]
    assert hooks(model) == 0


def test_a_model_that_never_attends_is_an_error() -> None:
    class Nothing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x

    with (
        pytest.raises(ArgumentError, match=r"or call regard.attention in the forward of a module while it is recorde"),
        record(Nothing()) as trace,
    ):
        Nothing()(torch.ones(1))
    assert trace.calls == []
    with (
        pytest.raises(ArgumentError, match=r"must hold a layer that attends through regard.layers.Attend; received"),
        record(nn.Linear(1, 1)),
    ):
        pass


def test_modules_of_torch_keep_their_fast_path() -> None:
    inner = nn.TransformerEncoderLayer(8, 2, batch_first=True, dropout=0.0)
    with record(nn.ModuleList([inner, Attend()])):
        assert hooks(inner) == 0


def test_an_observer_may_call_the_operator_and_gives_the_position() -> None:
    x, told = torch.randn(1, 3, 4), []

    def observer(query, key, value, options):
        told.append(attention(query, key, value).shape)
        return options["position"]

    with observing(observer):
        attention(x, x)
    assert told == [x.shape]
