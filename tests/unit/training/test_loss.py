import pytest
import torch
import torch.nn.functional as F

from regard.training.loss import alignment_loss, smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_smoothing_is_that_of_torch(smoothing):
    logits = torch.randn(3, 5, 7, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 7, (3, 5))
    loss = smoothed_cross_entropy(logits.float(), target, smoothing=smoothing)
    expected = F.cross_entropy(
        logits.float().flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    plain = F.cross_entropy(logits.float().flatten(0, 1), target.flatten(), ignore_index=0, reduction="sum")
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.cross_entropy, plain.detach())
    ours, theirs = (torch.autograd.grad(one, logits)[0] for one in (loss.total, expected))
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_half_precision_is_summed_in_single():
    logits = torch.randn(2, 3, 50, dtype=torch.bfloat16)
    assert (
        smoothed_cross_entropy(logits, torch.ones(2, 3, dtype=torch.int64), smoothing=0.1).total.dtype == torch.float32
    )


def test_alignment_is_cross_entropy_and_empty_rows_cost_nothing():
    weights = torch.tensor([[[0.5, 0.5], [0.9, 0.1], [0.0, 0.0]]])
    gold = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]])
    expected = -(torch.tensor(0.5).log() + 0.5 * torch.tensor(0.9).log() + 0.5 * torch.tensor(0.1).log())
    torch.testing.assert_close(alignment_loss(weights, gold), expected)
