"""What each process of the tests of a group runs: torchrun together.py FOLDER plain|noisy|stop|half|rest|die [shard].

`half` stops after half the steps, and `rest` goes on, whatever the number of processes. `die` kills the second process
at step 12, without a word, the first time.
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent))
from copying import SETTINGS, Copying, Silent, make_trainer

from regard.errors import Interrupted
from regard.training.group import joined_group
from regard.training.interruption import Interruption
from regard.training.parameters import named_tensors


class Eventful(Silent):
    """Stops the run at half, or kills its process; and writes down what it is told."""

    def __init__(self, mode: str, rank: int, folder: Path, interruption: Interruption) -> None:
        super().__init__()
        for name, value in (("mode", mode), ("rank", rank), ("folder", folder), ("interruption", interruption)):
            object.__setattr__(self, name, value)

    def stepped(self, step: int) -> None:
        if self.mode == "half" and step == 9:  # heard in the update after it
            self.interruption.signal = 15
        if self.mode == "die" and self.rank == 1 and step == 12 and not (self.folder / "died").exists():
            (self.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def noted(self, text: str) -> None:
        if self.rank == 0:
            with (self.folder / "notes.txt").open("a") as file:
                file.write(f"{text}\n")


def main() -> None:
    torch.set_num_threads(1)
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(exist_ok=True)
    with joined_group("cpu") as group:
        plain = mode in ("plain", "half", "rest")
        together = 2 if mode == "plain" else group.ranks
        settings = replace(SETTINGS, steps=20, accumulate=together // group.ranks, shard="shard" in sys.argv[3:])
        interruption = Interruption()
        if mode == "stop" and group.rank == 1:  # one is told, both stop
            interruption.signal = 15
        job = Copying(
            noisy=not plain,
            python=not plain,
            tokens=100 if plain else 80,
            rank=group.rank,
            ranks=group.ranks,
        )
        assert not plain or group.ranks == 3 or group.ranks * len(job.batches) % 2 == 0, "both must take whole steps"
        trainer = make_trainer(
            folder,
            settings,
            job=job,
            dropout=0.0 if plain else 0.1,
            group=group,
            interruption=interruption,
            watcher=Eventful(mode, group.rank, folder, interruption),
        )
        try:
            trainer.train()
        except Interrupted:
            assert mode in ("stop", "half")
        if group.leads:
            tensors = {name: one.clone() for name, one in named_tensors(trainer.model).items()}
            save_file(tensors, folder / "final.safetensors")


if __name__ == "__main__":
    main()
