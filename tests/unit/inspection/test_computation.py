"""One query taken apart: every number is the layer's own."""

from pathlib import Path

import pytest
import torch

from regard import Causal, Padding, Sparsemax
from regard.errors import ArgumentError
from regard.inspection import computation, computation_figure
from regard.layers import AdditiveAttention, MultiHeadAttention, SelfAttention


def test_adds_up_to_what_the_layer_gives() -> None:
    layer, x = MultiHeadAttention(8, 4, num_key_value_heads=2, normalize=Sparsemax()), torch.randn(2, 5, 8)
    mask = Causal() & Padding(torch.tensor([5, 3]))
    heads = []
    for head in range(4):
        found = computation(layer, lambda: layer(x, mask=mask), layer="*", example=1, head=head, query=2)
        assert found.error < 1e-6
        assert (found.score, found.normalizer) == ("ScaledDot", "Sparsemax")
        assert found.mask is not None
        assert found.mask.tolist() == [True, True, True, False, False]
        torch.testing.assert_close(found.scores[:3], found.keys[:3] @ found.query / 2**0.5)
        assert (found.scores[3:] == -torch.inf).all()
        heads.append(found.context)
    torch.testing.assert_close(layer.output(torch.cat(heads)), layer(x, mask=mask)[1, 2])


def test_any_score_and_any_call() -> None:
    layer = AdditiveAttention(6, 8, 4)
    memory, states = layer.remember(torch.randn(1, 5, 8)), torch.randn(3, 1, 2, 6)

    def run() -> None:
        for state in states:
            layer(state, memory)

    words = list("abcde")
    found = computation(layer, run, layer="*", step=2, query=1, key_labels=words, query_labels=["x", "y"])
    assert found.score == "Additive"
    torch.testing.assert_close(found.weights, found.scores.softmax(-1))
    torch.testing.assert_close(found.weighted_values.sum(0), layer(states[2], memory)[0, 1])
    assert (found.query_label, found.key_labels) == ("y", tuple(words))
    with pytest.raises(ArgumentError, match="`step` must be from 0 to 2; received 3"):
        computation(layer, run, layer="*", step=3, query=0)
    with pytest.raises(ArgumentError, match="`query` must be from 0 to 1; received 2"):
        computation(layer, run, layer="*", query=2)
    both = torch.nn.ModuleList([layer, SelfAttention()])
    with pytest.raises(ArgumentError, match=r"`layer` must match one layer; received \*, which matches 0, 1"):
        computation(both, run, layer="*", query=0)
    assert not layer.attend._forward_hooks


def test_draws_the_three_steps(tmp_path: Path) -> None:
    layer, x = MultiHeadAttention(64, 2), torch.randn(1, 4, 64)
    found = computation(layer, lambda: layer(x, mask=Causal()), layer="*", query=2, key_labels=list("abcd"))
    picture = computation_figure(found)
    picture.save(tmp_path / "a.png")
    scores, weights, summed = picture.maps
    torch.testing.assert_close(weights.values, found.weights.double())
    torch.testing.assert_close(scores.values[:3], found.scores[:3].double())
    torch.testing.assert_close(summed.values[-1], found.context[:24].double())
    assert summed.labels[0] == ("a", "b", "c", "d", "context")
    assert "24 of 32 features" in " ".join(axes.get_title() for axes in picture.axes).replace("\n", " ")
    assert summed.mask is not None
    assert not summed.mask[3].any()


def test_a_query_that_sees_nothing_and_one_key(tmp_path: Path) -> None:
    layer, x = SelfAttention(), torch.randn(1, 1, 3)
    blind = computation(layer, lambda: layer(x, mask=Padding(torch.tensor([0]))), layer="*", query=0)
    assert blind.context.tolist() == [0.0, 0.0, 0.0]
    computation_figure(blind).save(tmp_path / "a.png")
    computation_figure(computation(layer, lambda: layer(x), layer="*", query=0)).save(tmp_path / "b.svg")
