"""The kernel of the word loss in Triton's interpreter, which must be chosen before Triton is imported: a program."""

import torch

from regard.models import word_loss as file


def compare(device: str) -> None:
    """Compare the kernel with plain torch on fresh numbers, odd sizes, rows that do not count and large logits."""
    for vocabulary in (3, 11, 16, 37, *((2000, 5000) if device == "cuda" else (40,))):
        for r_drop in (0.0, 5.0):
            for smoothing in (0.0, 0.1):
                logits = 4 * torch.randn(8, vocabulary, device=device)
                logits[4:] *= 5
                right = torch.randint(vocabulary, (4, 1), device=device).repeat_interleave(2, 0)
                counts = torch.tensor([1, 1, 0, 0, 1, 1, 1, 1], dtype=torch.bool, device=device)
                switches = {"smoothing": smoothing, "r_drop": r_drop}
                loss, slope = file.fused_slopes(logits.clone(), right, counts, **switches)
                expected, slopes = file._slopes(logits.cpu(), right.cpu(), counts.cpu(), **switches)
                torch.testing.assert_close(loss.cpu(), expected, rtol=1e-3, atol=1e-3)
                torch.testing.assert_close(slope.cpu(), slopes, rtol=1e-2, atol=1e-2)


def compare_many(device: str, rows: int = 4096, vocabulary: int = 2000) -> None:
    """Compare the losses of many rows, where threads that are late would read what others have written over."""
    logits = torch.randn(rows, vocabulary, device=device)
    right = torch.randint(vocabulary, (rows // 2, 1), device=device).repeat_interleave(2, 0)
    counts = torch.ones(rows, dtype=torch.bool, device=device)
    for r_drop in (0.0, 5.0):
        expected, _ = file._slopes(logits.cpu(), right.cpu(), counts.cpu(), smoothing=0.1, r_drop=r_drop)
        for _ in range(20):
            loss, _ = file.fused_slopes(logits.clone(), right, counts, smoothing=0.1, r_drop=r_drop)
            torch.testing.assert_close(loss.cpu(), expected, rtol=1e-4, atol=1e-3)


if __name__ == "__main__":
    torch.manual_seed(0)
    file.BLOCK = 16
    compare("cpu")
    print("agrees")
