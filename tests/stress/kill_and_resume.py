"""Kill `regard train` at random moments, resume it each time, and compare the model with that of one whole run.

Not part of the test suite: each kill costs a start of Python. Example:

    python tests/stress/kill_and_resume.py --kills 20 --out runs/stress --preset transformer-tiny
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = {
    "data.size": 300,
    "train.validate_every": 25,
    "train.checkpoint_every": 3,
    "train.valid_sentences": 10,
    "train.threads": 1,
    "train.batch_tokens": 400,
}


def command(out: Path, arguments: argparse.Namespace) -> list[str]:
    """Give the command of a run."""
    settings = SETTINGS | {"train.steps": arguments.steps}
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    sets += [word for one in arguments.set for word in ("--set", one)]
    start = [sys.executable, "-m", "regard", "train", "--preset", arguments.preset, "--data", arguments.data]
    return [*start, "--out", str(out), *sets]


def run(out: Path, arguments: argparse.Namespace, *, kill_after: float | None = None) -> bool:
    """Run, or go on, and say whether it came to its end; `kill_after` seconds it is killed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command(out, arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        _, errors = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return False
    if process.returncode:
        raise SystemExit(f"The run in {out} ended with code {process.returncode}:\n{errors}")
    return True


def last_step(out: Path) -> int:
    """Give the step of the newest checkpoint."""
    return max((int(path.name.removeprefix("step-")) for path in (out / "checkpoints").glob("step-*")), default=0)


def digest(out: Path) -> str:
    """Give a checksum of the finished model."""
    return hashlib.sha256((out / "model" / "model.safetensors").read_bytes()).hexdigest()


def main() -> None:
    """Compare a run that is killed again and again with one that is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="A folder for both runs; it must not exist.")
    parser.add_argument("--kills", type=int, default=6, help="How often to kill (6).")
    parser.add_argument("--steps", type=int, default=200, help="Steps of the run (200).")
    parser.add_argument("--seed", type=int, default=1, help="Fixes the moments (1).")
    parser.add_argument("--preset", default="bahdanau", help="The model (bahdanau).")
    parser.add_argument("--data", default="builtin:hi-en", help="The corpus (builtin:hi-en).")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="One more setting.")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    whole, parts = arguments.out / "whole", arguments.out / "parts"
    begun = time.monotonic()
    run(whole, arguments)
    seconds = time.monotonic() - begun
    print(f"whole run: {arguments.steps} steps in {seconds:.1f} s", flush=True)
    draw, kills, tries = random.Random(arguments.seed), 0, 0
    while kills < arguments.kills:
        tries += 1
        if run(parts, arguments, kill_after=draw.uniform(0.05, 0.9) * seconds):
            # It came to its end before the moment: begin again, so that there are as many kills as asked for.
            shutil.rmtree(parts)
            continue
        kills += 1
        print(f"kill {kills}: last checkpoint at step {last_step(parts)}", flush=True)
    run(parts, arguments)
    same = digest(whole) == digest(parts)
    print(f"{kills} kills in {tries} starts: the models are {'the same, bit for bit' if same else 'DIFFERENT'}")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main()
