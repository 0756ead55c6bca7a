"""What each process of the tests of a group runs: torchrun together.py FOLDER plain|noisy|stop [shard]."""

import sys
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent))
from copying import SETTINGS, Copying, make_trainer

from regard.errors import Interrupted
from regard.training.group import joined_group
from regard.training.interruption import Interruption
from regard.training.parameters import named_tensors


def main() -> None:
    torch.set_num_threads(1)
    folder, mode = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(exist_ok=True)
    with joined_group("cpu") as group:
        plain = mode == "plain"
        settings = replace(SETTINGS, steps=20, accumulate=2 // group.ranks, shard="shard" in sys.argv[3:])
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
        assert not plain or group.ranks * len(job.batches) % 2 == 0, "both must take whole steps"
        trainer = make_trainer(
            folder,
            settings,
            job=job,
            dropout=0.0 if plain else 0.1,
            group=group,
            interruption=interruption,
        )
        try:
            trainer.train()
        except Interrupted:
            assert mode == "stop"
        if group.leads:
            tensors = {name: one.clone() for name, one in named_tensors(trainer.model).items()}
            save_file(tensors, folder / "final.safetensors")


if __name__ == "__main__":
    main()
