"""Tokens a second of training with several processes on this machine: copies (DDP) and shards (FSDP2).

python benchmarks/training_scaling.py FOLDER [--processes 1 2] [--steps 40] [--preset transformer-tiny]

Each process takes batches of the same size, and one thread, so that perfect scaling would double the tokens a second.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path


def measure(folder: Path, processes: int, shard: bool, arguments: argparse.Namespace) -> float:
    """Train for some steps, and give the median of tokens a second, the first report left out."""
    out = folder / f"{processes}-{'shards' if shard else 'copies'}"
    settings = {
        "train.steps": arguments.steps,
        "train.log_every": 2,
        "train.validate_every": arguments.steps,
        "train.checkpoint_every": arguments.steps,
        "train.batch_tokens": 2048,
        "train.threads": 1,
        "train.valid_sentences": 4,
        "train.device": "cpu",
        "train.shard": str(shard).lower(),
        "data.size": 1000,
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += ["-m", "regard", "train", "--preset", arguments.preset, "--data", "builtin:es-en", "--out", str(out)]
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    speeds = [line["tokens_per_second"] for line in lines if "tokens_per_second" in line]
    return statistics.median(speeds[1:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--preset", default="transformer-tiny")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    alone = 0.0
    for processes in arguments.processes:
        for shard in [False, True] if processes > 1 else [False]:
            speed = measure(arguments.folder, processes, shard, arguments)
            alone = alone or speed / processes
            kind = ("shards" if shard else "copies") if processes > 1 else "alone"
            print(f"| {processes} | {kind} | {speed:,.0f} | {speed / alone / processes:.2f} |", flush=True)


if __name__ == "__main__":
    main()
