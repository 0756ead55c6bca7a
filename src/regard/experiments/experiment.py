"""What an experiment is: settings in; tables, a figure and three sentences out."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch
from matplotlib import rc_context
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from regard.experiments.text_models import TextRuns

Row = dict[str, str | int | float]
"""One line of a table, by column. A column that another row lacks is left empty there."""
Watch = Callable[[float, str], None]
"""Receives how much is done, from zero to one, and what is being done."""
Choice = TypeVar("Choice")


def nobody(share: float, doing: str) -> None:
    """Watch without a word."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user may choose."""

    seed: int = 0
    quick: bool = False
    """Reduced size, a few seconds: the direction shows, the figures are rougher."""
    watch: Watch = nobody
    text: "TextRuns | None" = None
    """A text of the user's to train on, and where the models go; None is what is built in."""

    def choose(self, *, full: Choice, quick: Choice) -> Choice:
        """Give the size for this run.

        >>> Settings(quick=True).choose(full=1000, quick=50)
        50
        """
        return quick if self.quick else full


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a run."""

    tables: dict[str, list[Row]]
    """Rows by the title of their table."""
    figure: Figure
    reading: tuple[str, str, str]
    """Three sentences, written from the numbers of this run, whichever way they fall."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment: what it is called, shows and rests on, and how it is run."""

    name: str
    shows: str
    idea: str
    measure: Callable[[Settings], Result]
    on_text: bool = False
    """Whether it can be run on a text of the user's, by a recipe."""

    def run(self, settings: Settings) -> Result:
        """Run it from the seed; the caller's random numbers go on as if nothing had been drawn."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            return self.measure(settings)


def columns(rows: list[Row]) -> list[str]:
    """Name the columns of a table in the order in which they first appear.

    >>> columns([{"layer": "rnn", "steps": 9}, {"layer": "attention", "note": "all at once"}])
    ['layer', 'steps', 'note']
    """
    return list(dict.fromkeys(name for row in rows for name in row))


def write(result: Result, folder: Path) -> list[Path]:
    """Write figure.png, figure.svg, table.json and a CSV file for each table; give their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [_write_csv(rows, folder, number) for number, rows in enumerate(result.tables.values(), start=1)]
        paths.append(folder / "table.json")
        paths[-1].write_text(json.dumps(as_values(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        paths += [folder / "figure.png", folder / "figure.svg"]
        result.figure.savefig(folder / "figure.png")
        with rc_context({"svg.hashsalt": "regard"}):  # so that the same numbers give the same file
            result.figure.savefig(folder / "figure.svg", metadata={"Date": None})
    except OSError as error:
        raise DataError(f"`--out` must be a folder that can be written; {folder}: {error.strerror}.") from error
    return paths


def as_values(result: Result) -> dict[str, object]:
    """Give tables and reading as plain values."""
    return {"tables": result.tables, "reading": list(result.reading)}


def _write_csv(rows: list[Row], folder: Path, number: int) -> Path:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path = folder / ("table.csv" if number == 1 else f"table_{number}.csv")
    path.write_text(buffer.getvalue(), encoding="utf-8")
    return path


def fit(
    model: nn.Module,
    loss: Callable[[], Tensor],
    *,
    steps: int,
    learning_rate: float = 3e-3,
    watch: Callable[[float], None] | None = None,
) -> list[float]:
    """Train by Adam on what `loss` draws and computes at each step, clipped at 1, decaying to zero; give the losses."""
    if steps < 1:
        raise ArgumentError(f"`steps` must be at least 1; received {steps}.")
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 2 * (1 - step / steps)))
    losses = []
    model.train()
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(value.item())
        if watch is not None and step % 10 == 0:
            watch((step + 1) / steps)
    model.eval()
    return losses
