import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError
from regard.models import word_loss as file
from regard.models.word_loss import word_loss


def problem(dtype: torch.dtype = torch.float64) -> tuple[Tensor, nn.Linear, Tensor]:
    features = torch.randn(3, 7, 5, dtype=dtype, requires_grad=True)
    target = torch.randint(1, 11, (3, 7))
    target[1, 4:] = 0
    return features, nn.Linear(5, 11).to(dtype), target


def plain(features: Tensor, output: nn.Linear, target: Tensor, smoothing: float) -> Tensor:
    logits = output(features).flatten(0, 1)
    return F.cross_entropy(logits, target.flatten(), ignore_index=0, label_smoothing=smoothing, reduction="sum")


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_are_those_of_the_logits(smoothing: float, rows: int, monkeypatch) -> None:
    monkeypatch.setattr(file, "CHUNK_SIZE", {"cpu": rows * 11, "other": 1})
    features, output, target = problem()
    expected = plain(features, output, target, smoothing)
    inputs = (features, output.weight, output.bias)
    gradients = torch.autograd.grad(expected / 3, inputs)
    loss = word_loss(features, output, target, smoothing=smoothing)
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.cross_entropy, plain(features, output, target, 0.0).detach())
    assert not loss.cross_entropy.requires_grad
    for found, right in zip(torch.autograd.grad(loss.total / 3, inputs), gradients, strict=True):
        torch.testing.assert_close(found, right)


@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("r_drop", [0.0, 5.0])
@pytest.mark.parametrize("known", [True, False])
def test_r_drop_and_padding_left_in_place(known: bool, r_drop: float, smoothing: float, rows: int, monkeypatch) -> None:
    """`known` is a CPU, where padding is left out; elsewhere it stays, and counts for nothing."""
    monkeypatch.setattr(file, "CHUNK_SIZE", {"cpu": rows * 11, "other": rows * 11})
    monkeypatch.setattr(file, "_knows", lambda _: known)
    features, output, target = problem()
    features, target = (
        features.detach().repeat(2, 1, 1).add_(torch.randn(6, 7, 5)).requires_grad_(),
        target.repeat(2, 1),
    )
    first, second = output(features).log_softmax(-1).chunk(2)
    both = (first.exp() - second.exp()) * (first - second)
    apart = 0.5 * both.sum(-1)[target[:3] != 0].sum()
    expected = plain(features, output, target, smoothing) + r_drop * apart
    inputs = (features, output.weight, output.bias)
    gradients = torch.autograd.grad(expected, inputs)
    loss = word_loss(features, output, target, smoothing=smoothing, r_drop=r_drop)
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.cross_entropy, plain(features, output, target, 0.0).detach())
    for found, right in zip(torch.autograd.grad(loss.total, inputs), gradients, strict=True):
        torch.testing.assert_close(found, right)


def test_extreme_logits_do_no_harm() -> None:
    output = nn.Linear(1, 3, bias=False).double()
    output.bias = nn.Parameter(torch.zeros(3).double())
    with torch.no_grad():
        output.weight.copy_(torch.tensor([[1e4], [-1e4], [0.0]]))
    features = torch.ones(1, 1, 1, dtype=torch.float64, requires_grad=True)
    loss = word_loss(features, output, torch.tensor([[1]]))
    assert loss.total.item() == pytest.approx(2e4)
    loss.total.backward()
    assert features.grad.item() == pytest.approx(2e4)


def test_nothing_but_padding_costs_nothing() -> None:
    features, output, target = problem()
    loss = word_loss(features, output, torch.zeros_like(target), smoothing=0.1)
    assert loss.total.item() == 0
    loss.total.backward()
    assert (features.grad == 0).all()
    assert (output.weight.grad == 0).all()


def test_without_gradients_and_with_a_tied_matrix() -> None:
    features, output, target = problem()
    with torch.no_grad():
        torch.testing.assert_close(word_loss(features, output, target).total, plain(features, output, target, 0.0))
    table = nn.Embedding(11, 5).double()
    output.weight = table.weight
    word_loss(features + table(target), output, target).total.backward()
    found = table.weight.grad.clone()
    table.weight.grad = None
    plain(features + table(target), output, target, 0.0).backward()
    torch.testing.assert_close(found, table.weight.grad)


def test_half_precision_is_near() -> None:
    features, output, target = problem(torch.float32)
    expected = plain(features, output, target, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = word_loss(features, output, target, smoothing=0.1)
    mixed.total.backward()
    assert output.weight.grad.dtype == torch.float32
    half = word_loss(features.bfloat16(), output.bfloat16(), target, smoothing=0.1)
    for loss in (mixed, half):
        assert loss.total.dtype == torch.float32
        torch.testing.assert_close(loss.total, expected, rtol=0.02, atol=0)


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments() -> None:
    features, output, target = problem()
    with pytest.raises(ArgumentError, match=r"one token for each of the features, \(3, 7\); received \(3, 6\)\."):
        word_loss(features, output, target[:, :6])
