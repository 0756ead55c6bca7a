"""Damage what a server is sent, many times over. Not part of the test suite. Example:

PYTHONPATH=src:tests python tests/fuzz/long_server.py --cases 2000 --seed 3 --only translate
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import torch

from fuzz.test_server import BODIES, LIMITS, READERS, Prompt, attack_bodies, attack_heads, attack_reader
from unit.serving.served import client, load_all, serving


def main() -> int:
    """Attack every endpoint and reader, and say what came of it; the exit code is 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="targets whose name has this in it")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    how, wrong = {"seed": chosen.seed, "count": chosen.cases}, 0
    with tempfile.TemporaryDirectory() as folder:
        models = load_all(Path(folder))
        with client(models, limits=LIMITS) as asking, serving(models, LIMITS, protocol=Prompt) as address:
            targets = {name: (lambda name=name: attack_bodies(asking, name, **how)) for name in BODIES}
            targets["heads"] = lambda: attack_heads(address, **how)
            for name, reader in READERS.items():
                targets[name] = lambda reader=reader: attack_reader(reader, Path(folder), **how)
            for name, attack in targets.items():
                if chosen.only not in name:
                    continue
                begun = time.monotonic()
                found = attack()
                wrong += len(found)
                print(f"{name}: {len(found)} of {chosen.cases} in {time.monotonic() - begun:.0f} s", flush=True)
                for line in found[:20]:
                    print(f"    {line}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
