"""A million rows of each alpha through Entmax, half of them with a score at the threshold: a hunt, not a test.

python tests/stress/entmax_rows.py --rows 1000000
"""

import argparse
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from regard import Entmax
from unit.attention.test_normalize import ALPHAS, near_the_threshold


def count_bad(scores: torch.Tensor, alpha: float) -> tuple[int, int]:
    """Count rows that do not sum to one, and rows whose gradient is not finite."""
    scores.requires_grad_()
    weights = Entmax(alpha)(scores, None)
    (slope,) = torch.autograd.grad((weights * torch.linspace(-1, 1, scores.size(-1))).sum(), scores)
    return int(((weights.sum(-1) - 1).abs() > 2e-6).sum()), int((~slope.isfinite()).any(-1).sum())


def main() -> None:
    """Print what was found, and fail if anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows for each alpha")
    rows = parser.parse_args().rows
    torch.set_num_threads(1)
    failed = False
    for alpha in ALPHAS:
        bad, done = [0, 0], 0
        while done < rows:
            keys, steps = (3, 9, 40, 64)[done // 20_000 % 4], (-3, -1, 1, 2)[done // 40_000 % 4]
            for scores in (torch.randn(10_000, keys) * 2, near_the_threshold(alpha, 10_000, keys, steps)):
                bad = [old + new for old, new in zip(bad, count_bad(scores, alpha), strict=True)]
            done += 20_000
        failed = failed or any(bad)
        print(f"alpha {alpha}: {done:,} rows, {bad[0]} do not sum to one, {bad[1]} gradients not finite", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
