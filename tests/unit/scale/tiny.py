"""A translator with random parameters, files for it, and work that is killed in the middle."""

import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.data.builtin import corpus
from regard.scale.work import Compute, Done

WORDS = ("la", "casa", "el", "libro", "un", "perro", "una", "puerta", "ve", "lee", "abre", "rojo", "viejo", "y", "no")


def make_model(folder: Path) -> Path:
    """Train one for no time: greedy search with random parameters says something, always the same."""
    from regard.tasks.training import train

    torch.set_num_threads(1)
    settings = {"train.device": "cpu", "train.batch_tokens": 256, "data.size": 200, "train.valid_sentences": 4}
    model = {"model.hidden_size": 16, "model.embedding_size": 16, "train.validate_every": 2, "train.threads": 1}
    train("translate", out=folder, data="builtin:es-en", preset="bahdanau", steps=2, settings=settings | model)
    return folder


def write_lines(path: Path, count: int, *, seed: int = 1, words: int = 4) -> Path:
    """Write short lines, some empty, some broken, some alike."""
    draw = random.Random(seed)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(0, words))).encode() for _ in range(count)]
    for number in range(0, count, 97):
        lines[number] += b" caf\xe9"
    path.write_bytes(b"\n".join(lines))
    return path


def write_pairs(folder: Path, count: int) -> tuple[Path, Path]:
    """Write pairs of the built-in corpus to two files."""
    pairs = corpus("builtin:es-en", split="test", size=count, seed=3)
    sides = folder / "pairs.es", folder / "pairs.en"
    for path, texts in zip(sides, ([pair.source for pair in pairs], [pair.target for pair in pairs]), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return sides


@dataclass(frozen=True, kw_only=True)
class Upper:
    """Work without a model: capitals, and the number of the line."""

    source: Path
    name: str = "upper"

    @property
    def inputs(self) -> tuple[Path]:
        return (self.source,)

    def settings(self) -> dict[str, str]:
        return {"work": self.name}

    def start(self) -> Compute:
        return self.compute

    def compute(self, sides, first: int) -> Done:
        lines = [b"%d %s\n" % (first + index, line.content.upper()) for index, line in enumerate(sides[0])]
        return Done(b"".join(lines), {"first": first})


@dataclass(frozen=True, kw_only=True)
class Killing:
    """Other work, whose process is killed without a word at each of some lines, once."""

    work: Upper
    at: tuple[int, ...]
    marks: Path

    @property
    def inputs(self) -> tuple[Path]:
        return self.work.inputs

    def settings(self) -> dict[str, str]:
        return self.work.settings()

    def start(self) -> Compute:
        compute = self.work.start()

        def killed(sides, first: int) -> Done:
            for number in self.at:
                mark = self.marks / str(number)
                if first <= number < first + len(sides[0]) and not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            return compute(sides, first)

        return killed
