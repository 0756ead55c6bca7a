"""Run folders for the studio: figures of training, and something held out."""

import json
import os
import time

from regard.training.run_folder import RunFolder
from unit.tasks.small_run import make_run, write_files


def metrics(steps, *, valid=()):
    """Give lines of figures as a run writes them."""
    for step in steps:
        yield {
            "event": "train",
            "step": step,
            "loss": 9 / step,
            "cross_entropy": 6 / step,
            "rate": 0.01,
            "tokens": step,
        }
        if step in valid:
            yield {"event": "valid", "step": step, "loss": 7 / step, "bleu": step / 2, "best": True, "samples": []}


def write_metrics(run, lines, *, mode="a"):
    """Write lines of figures to the end of a run's file, or anew."""
    with run.metrics.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def make_runs(root):
    """Write a finished run, with figures, and one that is going on and has no model yet."""
    data = write_files(root / "data", 60)
    done = make_run(root / "done", data)
    write_metrics(done, metrics(range(10, 101, 10), valid=(50, 100)))
    old = time.time() - 60
    os.utime(done.metrics, (old, old))
    going = RunFolder(root / "going")
    going.path.mkdir()
    going.config.write_text("[train]\nsteps = 400\n", encoding="utf-8")
    write_metrics(going, metrics(range(10, 61, 10)))
    return done, going
