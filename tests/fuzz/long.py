"""Damage the files of model folders many times over. Not part of the test suite. Example:

PYTHONPATH=src:tests python tests/fuzz/long.py --cases 5000 --seed 3 --only tokenizer
"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

from fuzz.test_model_folders import TARGETS, attack


def main() -> int:
    """Attack every target, and say what came of it; the exit code is 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="targets whose name has this in it")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    wrong = 0
    for name, target in TARGETS.items():
        if chosen.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            problems = attack(target, Path(folder), seed=chosen.seed, count=chosen.cases)
        wrong += len(problems)
        print(f"{name}: {len(problems)} of {chosen.cases} in {time.monotonic() - begun:.0f} s", flush=True)
        for line in problems[:20]:
            print(f"    {line}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
