import pytest
import torch
from torch import Tensor, nn

from regard import Causal, Padding, Rotary, Shaw
from regard.errors import ArgumentError
from regard.inspection import intervene, record
from regard.layers import LocalAttention, MultiHeadAttention, SelfAttention


def test_the_context_is_made_of_the_forced_weights() -> None:
    layer, x = SelfAttention(), torch.randn(2, 3, 4)
    forced = torch.softmax(torch.randn(2, 1, 3, 3), -1)
    with intervene(layer, weights={"SelfAttention": forced}):
        torch.testing.assert_close(layer(x), forced[:, 0] @ x)
        attended = layer(x, return_weights=True)
    torch.testing.assert_close(attended.weights, forced[:, 0])
    torch.testing.assert_close(layer(x), torch.softmax(x @ x.mT, -1) @ x)


def test_a_function_gets_the_own_weights_of_every_head() -> None:
    layer, x = MultiHeadAttention(8, 4, num_key_value_heads=2), torch.randn(2, 3, 8)
    own, seen = layer(x, return_weights=True).weights, []

    def silence(weights: Tensor) -> Tensor:
        seen.append(weights)
        return weights * torch.tensor([1.0, 0.0, 1.0, 1.0])[:, None, None]

    with intervene(layer, weights={"*": silence}), record(layer) as trace:
        output = layer(x)
    assert len(seen) == 1  # recording does not ask again
    torch.testing.assert_close(seen[0], own)
    assert (trace[0].weights[:, 1] == 0).all()
    value = layer.remember(x).value.repeat_interleave(2, dim=1)
    context = (trace[0].weights @ value).transpose(1, 2).flatten(-2)
    torch.testing.assert_close(output, layer.output(context))


def test_hidden_keys_share_out_their_weight() -> None:
    layer, x = SelfAttention(), torch.randn(2, 3, 4)
    hidden = torch.tensor([True, False, True])
    with intervene(layer, mask={"*": hidden[None]}):
        weights = layer(x, return_weights=True).weights
    expected = torch.softmax((x @ x.mT).masked_fill(~hidden, -torch.inf), -1)
    torch.testing.assert_close(weights, expected)


def test_masks_join_and_may_be_objects_or_have_heads() -> None:
    layer, x = MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    with intervene(layer, mask={"*": Causal()}):
        torch.testing.assert_close(layer(x), layer(x, mask=Causal()))
        both = layer(x, mask=Padding(torch.tensor([3, 2])), return_weights=True).weights
    assert (both[1, 0] > 0).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    per_head = torch.ones(1, 2, 3, 3, dtype=torch.bool)
    per_head[:, 1, :, 0] = False
    with intervene(layer, mask={"*": per_head}):
        weights = layer(x, return_weights=True).weights
    assert (weights[:, 0, :, 0] > 0).all()
    assert (weights[:, 1, :, 0] == 0).all()
    with intervene(SelfAttention(), mask={"*": torch.ones(1, 1, 3, 3, dtype=torch.bool)}):
        pass
    single = SelfAttention()
    with intervene(single, mask={"*": torch.eye(3, dtype=torch.bool)[None, None]}):
        torch.testing.assert_close(single(x), x)


def test_what_is_masked_stays_masked() -> None:
    layer, x = SelfAttention(), torch.randn(1, 3, 4)
    with intervene(layer, weights={"*": torch.full((3, 3), 0.5)}):
        weights = layer(x, mask=Causal(), return_weights=True).weights
    torch.testing.assert_close(weights[0], torch.full((3, 3), 0.5).tril())
    local = LocalAttention(4, 4, kind="predictive", half_width=1.0)
    with intervene(local, weights={"*": torch.ones(1)}):
        weights = local(x, local.remember(x), return_weights=True).weights
    center = local.center(x, local.remember(x))
    assert torch.equal(weights > 0, (torch.arange(3) - center[..., None]).abs() <= 1)


@pytest.mark.parametrize("position", [Rotary(), Shaw(keys=torch.randn(3, 4), values=torch.randn(3, 4))])
def test_positions_stay(position: Rotary | Shaw) -> None:
    layer, x = MultiHeadAttention(8, 2, position=position), torch.randn(2, 5, 8)
    with intervene(layer, weights={"*": lambda weights: weights}):
        torch.testing.assert_close(layer(x, mask=Causal()), layer(x, mask=Causal()), atol=1e-6, rtol=1e-5)


def test_gradients_flow_through_forced_weights() -> None:
    layer, x = SelfAttention(4), torch.randn(1, 3, 4)
    with intervene(layer, weights={"*": lambda weights: weights / 2}):
        layer(x).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in layer.parameters())


def test_names_may_be_patterns_and_apply_in_order() -> None:
    model = nn.ModuleDict({"first": SelfAttention(), "second": SelfAttention()})
    x = torch.randn(1, 3, 4)
    with intervene(model, weights={"*": lambda weights: weights * 2, "second": lambda weights: weights + 1}):
        first = model["first"](x, return_weights=True).weights
        second = model["second"](x, return_weights=True).weights
    torch.testing.assert_close(second, first + 1)
    torch.testing.assert_close(first, 2 * model["first"](x, return_weights=True).weights)


def test_nested_and_failing_interventions_restore_everything() -> None:
    layer, x = SelfAttention(), torch.randn(1, 3, 4)
    plain = layer(x)
    with intervene(layer, weights={"*": torch.eye(3)}):
        with intervene(layer, mask={"*": Causal()}):
            torch.testing.assert_close(layer(x), x)
        torch.testing.assert_close(layer(x), x)
    with pytest.raises(ZeroDivisionError), intervene(layer, weights={"*": torch.eye(3)}, mask={"*": Causal()}):
        raise ZeroDivisionError
    assert torch.equal(layer(x), plain)
    assert not any(module._forward_pre_hooks for module in layer.modules())


def test_bad_arguments() -> None:
    layer, x = nn.ModuleDict({"encoder": SelfAttention()}), torch.randn(2, 3, 4)
    with (
        pytest.raises(ArgumentError, match=r'received "encodr". Did you mean encoder\?'),
        intervene(layer, weights={"encodr": torch.eye(3)}),
    ):
        pass
    with (
        pytest.raises(
            ArgumentError, match=r"broadcast to \(batch, heads, query, key\) = \(2, 1, 3, 3\); received \(4, 4\)"
        ),
        intervene(layer, weights={"*": torch.eye(4)}),
    ):
        layer["encoder"](x)
    with (
        pytest.raises(ArgumentError, match=r"`mask` must broadcast to \(batch, query, key\) = \(2, 3, 3\)"),
        intervene(layer, mask={"*": torch.ones(3, 4, dtype=torch.bool)}),
    ):
        layer["encoder"](x)
    assert torch.isfinite(layer["encoder"](x)).all()


def test_uniform_weights_lie_on_what_may_be_seen_and_rows_keep_their_sums() -> None:
    layer, x = SelfAttention(), torch.randn(2, 4, 4)
    mask = Causal() & Padding(torch.tensor([4, 3]))
    with intervene(layer, weights={"*": "uniform"}):
        weights = layer(x, mask=mask, return_weights=True).weights
    with intervene(layer, weights={"*": "uniform"}, mask={"*": torch.tensor([[False, True, True, True]])}):
        hidden = layer(x, mask=mask, return_weights=True).weights
    allowed = mask.dense((2, 4, 4))
    torch.testing.assert_close(weights, allowed / allowed.sum(-1, keepdim=True))
    torch.testing.assert_close(hidden[0, 3], torch.tensor([0.0, 1.0, 1.0, 1.0]) / 3)
    assert (hidden[:, 0] == 0).all()  # which may see nothing any more


@pytest.mark.usefixtures("unchecked")
def test_other_words_than_uniform_are_refused() -> None:
    with (
        pytest.raises(ArgumentError, match='`weights` must be tensors, functions or "uniform"; received "unifrom"'),
        intervene(SelfAttention(), weights={"*": "unifrom"}),  # type: ignore[dict-item]
    ):
        pass
