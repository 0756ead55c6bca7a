"""A million short lines through Ray, with workers and the job itself killed in the middle: no line lost or doubled.

python benchmarks/million_lines.py FOLDER [--lines 1000000] [--workers 2] [--kills 6] [--stop-after SECONDS]

The model is tiny and its parameters are nearly random: it is the machinery that is measured. What each line must become
is known from translating every different line once, in one process.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WORDS = ("la", "casa", "el", "libro", "un", "perro", "una", "puerta", "ve", "lee", "abre", "rojo", "viejo", "y", "no")


@dataclass(frozen=True, kw_only=True)
class Killing:
    """Work whose process is killed, without a word, where it comes to one of some lines; once each."""

    work: object
    at: tuple[int, ...]
    marks: Path

    @property
    def inputs(self):
        return self.work.inputs

    def settings(self):
        return self.work.settings()

    def start(self):
        compute = self.work.start()

        def killed(sides, first):
            for number in self.at:
                mark = self.marks / str(number)
                if first <= number < first + len(sides[0]) and not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            return compute(sides, first)

        return killed


def make_model(folder: Path) -> Path:
    from regard.tasks.training import train

    if not (folder / "model").is_dir():
        settings = {"train.device": "cpu", "train.batch_tokens": 256, "data.size": 200, "train.validate_every": 2}
        settings |= {"model.hidden_size": 16, "model.embedding_size": 16, "train.threads": 1}
        train("translate", out=folder, data="builtin:es-en", preset="bahdanau", steps=2, settings=settings)
    return folder


def make_work(folder: Path, source: Path):
    from regard.scale.text_work import Models, TranslateLines
    from regard.tasks.translation.lines import Translate

    models = Models.find([folder / "model"], device="cpu")
    return TranslateLines(models=models, source=source, translate=Translate(beam=1, max_length=6, batch_tokens=32768))


def write_lines(path: Path, count: int) -> None:
    draw = random.Random(1)
    lines = (" ".join(draw.choices(WORDS, k=draw.randint(1, 3))) for _ in range(count))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run(folder: Path, arguments: argparse.Namespace) -> None:
    """The job, as a process of its own, which may be killed."""
    from regard.scale.job import run_job
    from regard.scale.ray_engine import RayEngine

    marks, kills = folder / "marks", arguments.kills
    marks.mkdir(exist_ok=True)
    at = tuple(random.Random(5).sample(range(arguments.lines), kills))
    work = Killing(work=make_work(folder, folder / "lines.txt"), at=at, marks=marks)
    begun = time.time()

    def watch(lines: int, blocks: int, total: int) -> None:
        (folder / "speed.json").write_text(json.dumps({"lines": lines, "seconds": time.time() - begun}))

    run_job(work, folder / "out.txt", RayEngine(workers=arguments.workers), watch=watch)


@contextmanager
def measured(name: str) -> Iterator[None]:
    begun = time.time()
    yield
    print(f"{name}: {time.time() - begun:.0f} s", flush=True)


def check(folder: Path) -> None:
    """Compare every line with what its text must become."""
    from regard.scale.job import InProcess, run_job

    lines = (folder / "lines.txt").read_text(encoding="utf-8").splitlines()
    different = sorted(set(lines))
    (folder / "different.txt").write_text("".join(f"{line}\n" for line in different), encoding="utf-8")
    run_job(make_work(folder, folder / "different.txt"), folder / "known.txt", InProcess(), overwrite=True)
    known = dict(zip(different, (folder / "known.txt").read_text(encoding="utf-8").splitlines(), strict=True))
    outputs = (folder / "out.txt").read_text(encoding="utf-8").splitlines()
    wrong = sum(known[line] != output for line, output in zip(lines, outputs, strict=True))
    print(f"{len(lines):,} lines in, {len(outputs):,} out, {len(different):,} different, {wrong:,} not as expected")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--stop-after", type=float, default=0.0, help="Seconds after which the job itself is killed.")
    parser.add_argument("--job", action="store_true", help="Be the job.")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    if arguments.job:
        run(folder, arguments)
        return
    folder.mkdir(exist_ok=True)
    make_model(folder / "model")
    write_lines(folder / "lines.txt", arguments.lines)
    command = [sys.executable, *sys.argv, "--job"]
    if arguments.stop_after:
        with measured("until the job was killed"):
            process = subprocess.Popen(command)
            try:
                process.wait(timeout=arguments.stop_after)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        print((folder / "speed.json").read_text(), flush=True)
        time.sleep(5)
    with measured("to the end"):
        subprocess.run(command, check=True)
    print((folder / "speed.json").read_text(), f"{len(list((folder / 'marks').iterdir()))} workers killed", flush=True)
    check(folder)


if __name__ == "__main__":
    main()
