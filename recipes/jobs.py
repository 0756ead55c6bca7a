"""Commands of regard run at once, as the stages of a recipe need them."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_at_once(jobs: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Run commands of regard at once, each with its own log in a folder; one that fails leaves the others to finish."""
    folder.mkdir(parents=True, exist_ok=True)
    running = {}
    for name, command in jobs.items():
        log = (folder / f"{name}.log").open("w", encoding="utf-8")
        words = [sys.executable, "-m", "regard", *command]
        running[name] = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        print(f"{name}: see {log.name}", flush=True)
    try:
        failed = [name for name, process in running.items() if process.wait()]
    finally:
        for process in running.values():
            process.terminate()
    if failed:
        ends = [f"{name} failed: {(folder / f'{name}.log').read_text(encoding='utf-8')[-500:]}" for name in failed]
        raise SystemExit("\n".join([*ends, "The same command does again what has failed, and goes on."]))


def sets(assignments: Sequence[str]) -> list[str]:
    """Write settings as flags."""
    return [word for item in assignments for word in ("--set", item)]
