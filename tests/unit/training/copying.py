"""A small task for the tests of the loop: say the source again, with dropout and all three random streams in use."""

import random
from pathlib import Path

import numpy as np
import torch
from torch import nn

from regard.config.train import Constant, Train
from regard.data.batches.pairs import Batch, Batches, Examples
from regard.data.batches.ragged import Ragged
from regard.training.checkpoint import Checkpoints
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.loop import Trainer
from regard.training.loss import Loss, smoothed_cross_entropy
from regard.training.metrics import MetricsFile
from regard.training.watch import Sample, Validated, Watchers

VOCABULARY = 12


class Copier(nn.Module):
    """Predict each token from the one at the same place of the source; the embedding is tied."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.hidden = nn.Linear(16, 16)
        self.output = nn.Linear(16, VOCABULARY)
        self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, source: torch.Tensor, length: int) -> torch.Tensor:
        padded = nn.functional.pad(source, (0, max(0, length - source.size(1))))[:, :length]
        return self.output(self.dropout(torch.tanh(self.hidden(self.embedding(padded)))))


class Copying:
    """The job. Validation figures are made up from the loss so that they rise and fall."""

    def __init__(
        self, *, noisy: bool = True, python: bool = False, tokens: int = 60, rank: int = 0, ranks: int = 1
    ) -> None:
        draw = np.random.default_rng(5)
        lists = [draw.integers(4, VOCABULARY, draw.integers(1, 9)).tolist() for _ in range(64)]
        ragged = Ragged.from_lists(lists)
        self.noisy, self.python = noisy, python
        self.batches = Batches(Examples(source=ragged, target=ragged), tokens=tokens, seed=3, rank=rank, ranks=ranks)
        self.held_out = list(Batches(Examples(source=ragged, target=ragged), tokens=200, shuffle=False))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        logits = model(batch.source, batch.target_output.size(1))
        # Uses numpy's and Python's streams, as a task may. Beartype, which checks our tests' types, draws from the
        # latter too, so that it is used in processes of their own only.
        if self.noisy:
            logits = logits * (1 + 0.01 * np.random.rand())
        if self.python:
            logits = logits * (1 + 0.01 * random.random())
        return smoothed_cross_entropy(logits, batch.target_output, smoothing=0.1)

    def validate(self, model: nn.Module) -> Validated:
        assert not model.training
        held_out = [one.to(model.hidden.weight.device) for one in self.held_out]
        sums = [
            smoothed_cross_entropy(model(one.source, one.target_output.size(1)), one.target_output) for one in held_out
        ]
        loss = sum(one.cross_entropy.item() for one in sums) / sum(one.num_tokens for one in self.held_out)
        return Validated(loss=loss, figures={"bleu": 100 / (1 + loss)}, samples=(Sample("a", "b", "c"),))


class Silent(Watchers):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__(())
        object.__setattr__(self, "notes", [])
        object.__setattr__(self, "measures", [])
        object.__setattr__(self, "validations", [])
        object.__setattr__(self, "starts", [])

    def started(self, step: int, steps: int) -> None:
        self.starts.append((step, steps))

    def measured(self, measured) -> None:
        self.measures.append(measured)

    def validated(self, validated, *, best: bool) -> None:
        self.validations.append((validated, best))

    def noted(self, text: str) -> None:
        self.notes.append(text)


SETTINGS = Train(
    steps=30,
    log_every=5,
    validate_every=10,
    checkpoint_every=5,
    metric="loss",
    result="last",
    ema=0.9,
    schedule=Constant(rate=0.01, warm_up=5),
    threads=1,
)


def make_trainer(
    folder: Path,
    settings: Train = SETTINGS,
    *,
    job: Copying | None = None,
    dropout: float = 0.1,
    watcher: Watchers | None = None,
    group: Group | None = None,
    interruption: Interruption | None = None,
) -> Trainer:
    torch.manual_seed(1)
    return Trainer(
        Copier(dropout),
        job or Copying(),
        settings,
        checkpoints=Checkpoints(folder / "checkpoints"),
        watcher=watcher if watcher is not None else Silent(),
        group=group,
        interruption=interruption,
    )


def main() -> None:
    """Run to the end, for the tests that kill this process: python copying.py FOLDER STEPS."""
    import sys

    from safetensors.torch import save_file

    from regard.training.parameters import named_tensors

    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    from dataclasses import replace

    trainer = make_trainer(
        folder,
        replace(SETTINGS, steps=steps, checkpoint_every=1, validate_every=7),
        job=Copying(python=True),
        watcher=Watchers([MetricsFile(folder / "metrics.jsonl")]),
    )
    trainer.train()
    save_file({name: one.clone() for name, one in named_tensors(trainer.model).items()}, folder / "final.safetensors")


if __name__ == "__main__":
    main()
