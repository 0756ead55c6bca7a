import pytest
import torch
from torch import Tensor, nn

from regard import Causal, Padding, Sparsemax
from regard.errors import ArgumentError
from regard.inspection import attention_layers, intervene, record
from regard.layers import AdditiveAttention, Attend, LocalAttention, Memory, MultiHeadAttention, SelfAttention


class Decoder(nn.Module):
    """Two layers that look at themselves and at a source, step by step or all at once."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(MultiHeadAttention(8, 2, dropout=0.2) for _ in range(2))
        self.cross = AdditiveAttention(8, 8, 4)

    def forward(self, x: Tensor, source: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x, mask=Causal())
        found: Tensor = self.cross(x, self.cross.remember(source))
        return found

    def step(self, x: Tensor, caches: list[Memory], source: Memory) -> tuple[Tensor, list[Memory]]:
        grown = []
        for layer, cache in zip(self.layers, caches, strict=True):
            grown.append(cache.append(layer.remember(x)))  # type: ignore[operator]
            x = x + layer(x, grown[-1])
        return self.cross(x, source), grown


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_gathers_every_call_by_name() -> None:
    model, x, source = Decoder().eval(), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    with record(model) as trace:
        model(x, source)
        model(x[:1], source[:1])
    assert trace.layers == ["layers.0", "layers.1", "cross"]
    assert [(call.layer, call.step) for call in trace][:4] == [
        ("layers.0", 0),
        ("layers.1", 0),
        ("cross", 0),
        ("layers.0", 1),
    ]
    call = trace["layers.0"][0]
    assert call.weights.shape == call.scores.shape == (3, 2, 4, 4)
    assert call.value_norms.shape == (3, 2, 4)
    assert call.mask is not None
    assert torch.equal(call.mask[1, 1], torch.ones(4, 4).tril().bool())
    assert torch.equal(call.scores == -torch.inf, ~call.mask)
    torch.testing.assert_close(torch.softmax(call.scores, -1), call.weights)
    assert trace["cross"][0].weights.shape == (3, 1, 4, 5)
    assert trace["cross"][0].mask is None
    assert hooks(model) == 0


def test_numbers_are_those_of_the_layer() -> None:
    layer, x = MultiHeadAttention(8, 4, num_key_value_heads=2, normalize=Sparsemax()), torch.randn(2, 5, 8)
    memory = layer.remember(x, mask=Padding(torch.tensor([5, 2])))
    with record(layer) as trace:
        weights = layer(x, memory, return_weights=True).weights
    (call,) = trace
    assert torch.equal(call.weights, weights)
    norms = memory.value.norm(dim=-1).repeat_interleave(2, dim=1)
    norms[1, :, 2:] = 0
    torch.testing.assert_close(call.value_norms, norms)


def test_the_same_through_generated_steps() -> None:
    model, x, source = Decoder().eval(), torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    with record(model) as whole:
        expected = model(x, source)
    caches = [layer.remember(x[:, :0]).reserve(6) for layer in model.layers]  # type: ignore[operator]
    memory, found = model.cross.remember(source), []
    with record(model) as trace:
        for place in range(4):
            output, caches = model.step(x[:, place : place + 1], caches, memory)
            found.append(output)
    torch.testing.assert_close(torch.cat(found, 1), expected, atol=1e-5, rtol=1e-5)
    for name in whole.layers:
        steps = torch.cat([call.weights for call in trace[name]], dim=2)
        assert [call.step for call in trace[name]] == [0, 1, 2, 3]
        expected = whole[name][0].weights
        torch.testing.assert_close(steps[..., : expected.size(-1)], expected, atol=1e-5, rtol=1e-5)
        assert (steps[..., expected.size(-1) :] == 0).all()


def test_a_training_step_is_the_same_watched_or_not() -> None:
    model, x, source = Decoder().train(), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    results = []
    for watch in (False, True):
        torch.manual_seed(3)
        model.zero_grad()
        if watch:
            with record(model) as trace:
                model(x, source).square().sum().backward()
        else:
            model(x, source).square().sum().backward()
        results.append([parameter.grad for parameter in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))  # type: ignore[arg-type]
    assert not any(call.weights.requires_grad for call in trace)


def test_under_autocast_too() -> None:
    model, x, source = Decoder().eval(), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    with torch.autocast("cpu", torch.bfloat16):
        expected = model(x, source)
        with record(model) as trace:
            assert torch.equal(model(x, source), expected)
    torch.testing.assert_close(trace["cross"][0].weights.sum(-1), torch.ones(3, 1, 4), atol=1e-2, rtol=0)


def test_keeps_the_graph_when_asked() -> None:
    model, x, source = Decoder().eval(), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    with record(model, keep_gradients=True) as trace:
        output = model(x, source)
    torch.testing.assert_close(output, model(x, source), atol=1e-6, rtol=1e-5)
    output.square().sum().backward()
    weights = trace["cross"][0].weights
    assert weights.grad is not None
    context = output.detach()
    expected = torch.einsum("bqd,bkd->bqk", 2 * context, source)  # ∂(Σ c²)/∂α
    torch.testing.assert_close(weights.grad[:, 0], expected, atol=1e-5, rtol=1e-5)
    assert all(call.weights.grad is not None for call in trace)


def test_kept_weights_are_there_without_a_graph_too() -> None:
    layer, x = SelfAttention(), torch.randn(1, 3, 2)
    with torch.no_grad(), record(layer, keep_gradients=True) as trace:
        weights = layer(x, return_weights=True).weights
    torch.testing.assert_close(trace[0].weights[:, 0], weights)


@pytest.mark.parametrize("outer_keeps", [False, True])
@pytest.mark.parametrize("inner_keeps", [False, True])
def test_nested_recordings_see_the_same(outer_keeps: bool, inner_keeps: bool) -> None:
    layer, x = LocalAttention(4, 4, half_width=1.5), torch.randn(2, 3, 4)
    memory = layer.remember(x)
    with record(layer, keep_gradients=outer_keeps) as outer:
        layer(x, memory)
        with record(layer, keep_gradients=inner_keeps) as inner:
            layer(x, memory)
        layer(x, memory)
    assert (len(outer), len(inner)) == (3, 1)
    torch.testing.assert_close(outer[1].weights, inner[0].weights)
    torch.testing.assert_close(outer[1].weights, outer[2].weights)
    assert hooks(layer) == 0


@pytest.mark.parametrize("keep", [False, True])
def test_an_exception_restores_everything(keep: bool) -> None:
    model, x, source = Decoder(), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    with pytest.raises(ZeroDivisionError), record(model, keep_gradients=keep):
        raise ZeroDivisionError
    assert hooks(model) == 0
    with record(model, keep_gradients=keep) as trace:
        with pytest.raises(ArgumentError):
            model(x, source[..., :3])
        model(x, source)
    assert trace["cross"][0].weights.shape == (3, 1, 4, 5)


def test_only_the_layers_wanted() -> None:
    model, x, source = Decoder().eval(), torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    with record(model, layers=["layers.1", "cr*"]) as trace:
        model(x, source)
    assert trace.layers == ["layers.1", "cross"]
    with pytest.raises(ArgumentError, match=r'received "crosss". Did you mean cross\?'), record(model, layers="crosss"):
        pass


def test_labels_go_to_every_call() -> None:
    layer = SelfAttention()
    with record(layer, query_labels=["a", "b"], key_labels=["c", "d"]) as trace:
        layer(torch.randn(1, 2, 3))
    assert trace[0].query_labels == ["a", "b"]
    assert trace[0].key_labels == ["c", "d"]


def test_copies_do_not_change_with_the_model() -> None:
    layer, mask = SelfAttention(), torch.ones(3, 3, dtype=torch.bool)
    with record(layer) as trace:
        layer(torch.randn(1, 3, 2), mask=mask)
    mask.fill_(False)
    assert trace[0].mask is not None
    assert trace[0].mask.all()


def test_nothing_to_look_at() -> None:
    layer = SelfAttention()
    with record(layer) as trace:
        layer(torch.randn(2, 0, 3))
    assert trace[0].weights.shape == (2, 1, 0, 0)


def test_a_model_must_attend() -> None:
    with pytest.raises(
        ArgumentError, match=r"must hold a layer that attends through regard.layers.Attend; received Lin"
    ):
        attention_layers(nn.Linear(1, 1))


def test_names() -> None:
    two = nn.Module()
    two.first, two.attend = Attend(), Attend()
    assert list(attention_layers(two)) == ["first", "Module"]
    assert list(attention_layers(Attend())) == ["Attend"]
    assert list(attention_layers(nn.Sequential(nn.Sequential(SelfAttention())))) == ["0.0"]


def test_sees_forced_weights() -> None:
    layer, x = SelfAttention(), torch.randn(1, 3, 2)
    forced = torch.full((3, 3), 1 / 3)
    for keep in (False, True):
        with record(layer, keep_gradients=keep) as trace:
            with intervene(layer, weights={"*": forced}):
                layer(x)
            with intervene(layer, weights={"*": forced}), record(layer, keep_gradients=keep) as inner:
                layer(x)
        for call in (*trace, *inner):
            torch.testing.assert_close(call.weights[0, 0], forced)


@pytest.mark.compiled
def test_compiled_models_run_uncompiled_meanwhile() -> None:
    model, x, source = Decoder().eval(), torch.randn(1, 4, 8), torch.randn(1, 5, 8)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager")
    expected = compiled(x, source)
    with record(compiled) as trace:
        assert torch.equal(compiled(x, source), model(x, source))
    assert trace.layers == ["layers.0", "layers.1", "cross"]
    with torch.compiler.set_stance("fail_on_recompile"):
        assert torch.equal(compiled(x, source), expected)
