"""What each process of the test of streamed corpora runs: torchrun streamed_together.py SOURCE TARGET OUT IN_MEMORY."""

import sys
from functools import partial
from pathlib import Path

import torch

from regard.tasks.training import train
from regard.tasks.translation import data


def main() -> None:
    torch.set_num_threads(1)
    source, target, out, in_memory = sys.argv[1:]
    data.gather_pairs = partial(data.gather_pairs, in_memory=int(in_memory))
    small = {"model.hidden_size": 16, "model.embedding_size": 16, "train.threads": 1, "train.device": "cpu"}
    small |= {"train.batch_tokens": 200, "train.validate_every": 6, "train.valid_sentences": 4, "train.result": "last"}
    train("translate", out=Path(out), source=source, target=target, preset="bahdanau", steps=6, settings=small)


if __name__ == "__main__":
    main()
