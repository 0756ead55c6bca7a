"""Teachers, their translations and students of both directions, each stage at once, in minutes that are kept."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobs import sets

from regard.errors import DataError
from translator_parts.files import ALONE, DIRECTIONS, lines, write_lines

RECIPES = Path(__file__).parents[1]
TEACHING = 0.45
"""Share of the minutes that teachers have."""
QUEUE = {
    "es-en": (("more.es", "more.es.translated"), ("alone.es", "alone.es.translated")),
    "en-es": (("more.en", "more.en.translated"), ("alone.en", "alone.es")),
}
"""What the teachers of a direction translate, and into which file. Spanish made of English alone is English again."""
REFINED = (
    "data.clean.drop_duplicates=false",
    "train.batch_tokens=4096",
    "train.guided_alignment=0.2",
    "train.ema=0.998",
    "train.result=last",
    "train.patience=0",
    "train.steps=100000",
    "train.validate_every=100000",
    "train.schedule.kind=linear",
    "train.schedule.rate=4e-4",
    "train.schedule.warm_up=30",
)
"""Settings of students that go on."""
BLOCK = 8192
"""Sentences that are translated before the clock is read again, at most; fewer where they take long."""
PATIENCE = 300.0
"""Seconds to wait for sentences that the other direction is to translate first."""


def training(role: str, direction: str, work: Path, seconds: float, seed: int = 1) -> list[str]:
    """Give the command that trains a teacher or a student of a direction."""
    source, target = direction.split("-")
    name = "teacher" if role == "teacher" else f"student-{direction}"
    files = {"source": f"{name}.{source}", "target": f"{name}.{target}", "tokenizer": "tokenizer.json"}
    for part in ("valid", "test"):
        files |= {f"{part}_source": f"{part}.{source}", f"{part}_target": f"{part}.{target}"}
    if role == "student":
        files["links"] = f"{name}.links"
    chosen = [f"data.{key}={work}/{file}" for key, file in files.items()]
    recipe = str(RECIPES / f"translator-{role}.toml")
    out = f"{work}/runs/{role}-{direction}" + (f"-{seed}" if role == "teacher" else "")
    limits = [f"train.minutes={seconds / 60:g}", f"train.seed={seed}"]
    return ["-m", "regard", "train", recipe, "--out", out, *sets([*chosen, *limits])]


def going_on(direction: str, work: Path, seconds: float) -> list[str]:
    """Give the command that trains a student further, with the tokenizer that it has."""
    recipe = training("student", direction, work, seconds)
    begin = ["-m", "regard", "train", "--from", f"{work}/runs/student-{direction}"]
    kept = [item for item in recipe[recipe.index("--out") + 2 :] if item != "--set" and "data.tokenizer" not in item]
    return [*begin, "--out", f"{work}/runs/refined-{direction}", *sets(kept)]


def train(work: Path, seconds: tuple[float, float], *, teachers: int, settings: Sequence[str]) -> None:
    """Do all that stands between `prepare` and `ship`, in so many seconds of training and of translating."""
    if not (work / "teacher.es").is_file():
        raise DataError(f"`work` must be a folder that `prepare` has written; received {work}. Run prepare first.")
    (work / "runs").mkdir(exist_ok=True)
    share = TEACHING if teachers else 0.0
    failed = []
    begun = [path for path in (work / "runs").glob("student-*") if path.is_dir()]
    if not begun:  # students go on with the data they began with
        jobs = {
            f"teacher-{direction}-{seed}": training("teacher", direction, work, share * seconds[0], seed)
            for direction in DIRECTIONS
            for seed in range(1, teachers + 1)
        }
        failed += together({name: [*job, *sets(settings)] for name, job in jobs.items()}, work)
        here = str(RECIPES / "translator.py")
        limit = ["--minutes", f"{seconds[1] / 60:g}"]
        asked = [direction for direction in DIRECTIONS if teachers and teachers_of(work, direction)]
        jobs = {f"translate-{direction}": [here, "translate", str(work), direction, *limit] for direction in asked}
        failed += together(jobs, work, seconds=seconds[1] + 60)
        jobs = {f"assemble-{direction}": [here, "assemble", str(work), direction] for direction in DIRECTIONS}
        failed += together(jobs, work)
    jobs = {f"student-{name}": training("student", name, work, (1 - share) * seconds[0]) for name in DIRECTIONS}
    failed += together({name: [*job, *sets(settings)] for name, job in jobs.items()}, work)
    if failed:
        raise SystemExit(f"Without {', '.join(failed)}, which failed; the rest is done. The same command tries again.")


def together(jobs: Mapping[str, Sequence[str]], work: Path, *, seconds: float | None = None) -> list[str]:
    """Run Python commands at once, each with its own log, but for runs that are finished; name those that failed.

    What still runs after `seconds`, if any are given, is ended, and has failed.
    """
    running = {}
    begun = time.monotonic()
    for name, command in jobs.items():
        if (work / "runs" / name / "model" / "figures.json").is_file():
            continue
        words, none = [sys.executable, *command], subprocess.DEVNULL
        with (work / "runs" / f"{name}.log").open("a", encoding="utf-8") as log:
            running[name] = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=none)
        print(f"{name}: see {log.name}", flush=True)
    try:
        while any(process.poll() is None for process in running.values()):
            if seconds is not None and time.monotonic() - begun > seconds:
                break
            time.sleep(0.2)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    failed = [name for name, process in running.items() if process.returncode]
    for name in running:
        text = (work / "runs" / f"{name}.log").read_text(encoding="utf-8")
        print(f"{name}{' failed' if name in failed else ''}: {text[-500:].strip()}")
    if running:
        print(f"{time.monotonic() - begun:.0f} s", flush=True)
    return failed


def teachers_of(work: Path, direction: str, *, by: str = "teacher") -> list[Path]:
    """List the teachers of a direction that have a model, or its student."""
    return sorted(path.parent for path in (work / "runs").glob(f"{by}-{direction}{'-*' * (by == 'teacher')}/model"))


def refine(work: Path, seconds: tuple[float, float], *, settings: Sequence[str]) -> None:
    """Let students go on, with what they themselves make of all sentences, and with word links of greater weight.

    They have so many seconds to train, and to translate; 0 of these is no limit.
    """
    failed = [name for name in DIRECTIONS if not (work / "runs" / f"student-{name}" / "model").is_dir()]
    if failed:
        raise DataError(f"`work` must hold students to go on with; {', '.join(failed)} has none. Run train first.")
    if not any((work / "runs" / f"refined-{name}").is_dir() for name in DIRECTIONS):  # else the data stays
        for _, made in (file for files in QUEUE.values() for file in files):
            (work / made).unlink(missing_ok=True)
        here = str(RECIPES / "translator.py")
        chosen = ["--by", "student", "--minutes", f"{seconds[1] / 60:g}"]
        jobs = {f"translate-{name}": [here, "translate", str(work), name, *chosen] for name in DIRECTIONS}
        failed += together(jobs, work)
        failed += together({f"assemble-{name}": [here, "assemble", str(work), name] for name in DIRECTIONS}, work)
    jobs = {f"refined-{name}": [*going_on(name, work, seconds[0]), *sets([*REFINED, *settings])] for name in DIRECTIONS}
    if failed or (failed := together(jobs, work)):
        raise SystemExit(f"Without {', '.join(failed)}, which failed. The same command tries again.")


def translate(work: Path, direction: str, seconds: float, *, by: str) -> None:
    """Translate the files of a direction by its teachers at once, or by its student, until all or the time is over.

    Lines that are there stay. The one file that is being made by the other direction is waited for.
    """
    end = time.monotonic() + (seconds or 1e9)
    import torch

    import regard
    from regard.decoding import Search

    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = "bfloat16" if device == "cuda" else "int8"
    translator = regard.load(teachers_of(work, direction, by=by), device=device, precision=precision, respell=False)
    block = BLOCK if device == "cuda" else 64
    for name, made in QUEUE[direction]:
        write_lines(work / made, ready := lines(work / made))  # without half a line
        count, moved = len(ready), time.monotonic()
        total = min(ALONE, len(lines(work / "alone.en"))) if name.startswith("alone") else len(lines(work / name))
        while count < total and time.monotonic() < end:
            texts = lines(work / name)[count : min(total, count + block)]
            if not texts:
                if time.monotonic() - moved > PATIENCE:
                    break
                time.sleep(0.5)
                continue
            begun = time.monotonic()
            outputs = [" ".join(text.split()) for text in translator.translate(texts, Search(beam=4))]
            with (work / made).open("a", encoding="utf-8") as file:
                file.write("".join(f"{text}\n" for text in outputs))
            count, moved = count + len(texts), time.monotonic()
            block = min(BLOCK, 4 * block) if moved - begun < 2 else max(64, block // 2) if moved - begun > 8 else block
            print(f"{made}: {count:,} of {total:,}", flush=True)
        if count < total:
            print(f"{made}: stopped at {count:,} of {total:,}; the rest is left out", flush=True)
