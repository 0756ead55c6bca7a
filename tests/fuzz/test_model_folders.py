"""Every file of a model folder, a run folder and a trace, damaged in many ways: only errors on purpose come out.

Here some hundreds of cases; `python tests/fuzz/long.py` runs as many as you like.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from fuzz.folders import KINDS
from fuzz.mutate import mutations, within
from regard.errors import RegardError
from regard.inspection import record
from regard.inspection.trace.trace import Trace
from regard.layers import MultiHeadAttention
from regard.tasks.evaluation.held_out import Choice, find_held_out
from regard.tasks.translation.files import Journal, OutputFile
from regard.tasks.translation.settings import Config
from regard.training.run_folder import RunFolder

SECONDS = 5.0
"""That one case may take."""
GROWTH = 400 << 10
"""KiB that memory may grow by, in all cases of a target together."""


class Target(NamedTuple):
    """A folder to write, a file of it to damage, and whoever reads it."""

    make: Callable[[Path], object]
    file: str
    use: Callable[[Path], object]
    cases: int


def make_run(folder: Path) -> None:
    RunFolder(folder).begin(Config(), "abc")


def read_run(folder: Path) -> None:
    run = RunFolder(folder)
    run.fingerprint(), run.made_here()
    run.read_settings(Config)
    run.begin(Config(), "abc")
    find_held_out(Choice(), folder)


def make_trace(folder: Path) -> None:
    layer = MultiHeadAttention(4, 2)
    with record(layer) as trace:
        layer(torch.randn(1, 3, 4))
    trace.label(query=["a", "b", "c"], key=["a", "b", "c"])
    trace.save(folder / "a.trace")


def make_journal(folder: Path) -> None:
    tally = {"broken_bytes": 0, "broken_lines": 0, "first_broken": [], "cut_lines": 1, "first_cut": [3], "utf16": False}
    OutputFile(folder / "out").write(Journal(settings={"beam": "5"}, lines=7, digest="d", tally=tally))


def _folders() -> Iterator[tuple[str, Target]]:
    """Choose so many cases of each kind that all together take about half a minute."""
    slow = ("questions", "captions", "hugging-face")
    for name, (make, use) in KINDS.items():
        yield f"{name} config.json", Target(make, "config.json", use, 30)
        yield f"{name} model.safetensors", Target(make, "model.safetensors", use, 15 if name in slow else 25)
    for name in ("recurrent", "lstm", "classifier", "hugging-face"):
        yield f"{name} tokenizer.json", Target(KINDS[name].make, "tokenizer.json", KINDS[name].use, 25)
    for name in ("bag", "ngram", "statistical"):
        yield f"{name} counts", Target(KINDS[name].make, "model.safetensors", KINDS[name].use, 150)
    yield "labels", Target(KINDS["tf-idf"].make, "labels.json", KINDS["tf-idf"].use, 150)
    yield "answers", Target(KINDS["questions"].make, "answers.json", KINDS["questions"].use, 15)
    for file in ("tokenizer_config.json", "generation_config.json"):
        yield file, Target(KINDS["hugging-face"].make, file, KINDS["hugging-face"].use, 15)
    yield "trace", Target(make_trace, "a.trace", lambda folder: Trace.load(folder / "a.trace"), 150)
    yield "journal", Target(make_journal, "out.progress", lambda folder: OutputFile(folder / "out").read(), 150)
    for file, cases in (("config.toml", 100), (".data.json", 100), (".made-here.json", 30)):
        yield f"run {file}", Target(make_run, file, read_run, cases)


TARGETS = dict(_folders())


def attack(target: Target, folder: Path, *, seed: int, count: int) -> list[str]:
    """Damage the file so many times, let it be read, and list what should not have happened."""
    target.make(folder)
    path = folder / target.file
    whole, problems, before = path.read_bytes(), [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, damaged in enumerate(mutations(whole, seed, count)):
        path.write_bytes(damaged)
        try:
            with within(seconds=SECONDS):
                target.use(folder)
        except RegardError as error:
            if "\n" in str(error).strip() and target.file != "config.toml":  # where TOML may be told line by line
                problems.append(f"case {number}: several lines: {error!r}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            problems.append(f"case {number}: {type(error).__name__}: {str(error)[:200]}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return [*problems, f"memory grew by {grown:,} KiB"] if grown > GROWTH else problems


@pytest.mark.usefixtures("unchecked")
@pytest.mark.filterwarnings("ignore")  # numbers that are damaged may be odd
@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_on_purpose_come_out(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    assert attack(target, tmp_path, seed=1, count=target.cases) == []


BOMBS = {
    "a number of a token": ("recurrent", "tokenizer.json", ("model", "vocab", "<pad>"), 4_294_967_290),
    "a number that another hides": ("classifier", "tokenizer.json", ("model", "vocab", "<pad>"), 4_294_967_290),
    "an added token": ("recurrent", "tokenizer.json", ("added_tokens", 0, "id"), 4_294_967_290),
    "padding": ("classifier", "tokenizer.json", ("padding",), {"strategy": {"Fixed": 10**11}, "direction": "Right",
                "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
    "width": ("recurrent", "config.json", ("model", "hidden_size"), 60_000),
    "blocks": ("transformer", "config.json", ("model", "num_encoder_layers"), 10**9),
    "heads that divide nothing": ("transformer", "config.json", ("model", "size"), 10**12 + 1),
    "words": ("language", "config.json", ("vocabulary_size",), 10**12),
    "positions": ("vit", "config.json", ("height",), 8000),
    "labels": ("tf-idf", "config.json", ("num_labels",), 10**11),
    "stages": ("residual", "config.json", ("model", "widths"), [1] * 100_000),
    "a picture": ("questions", "config.json", ("image_size",), 8192),
    "layers": ("hugging-face", "config.json", ("n_layer",), 10_000_000),
    "a vocabulary": ("hugging-face", "config.json", ("vocab_size",), 16_000_000),
}  # fmt: skip

LIMITED = """
import resource, sys
from pathlib import Path
import regard.tasks.load, regard.inspection.hugging_face.folder, torch
from fuzz.folders import KINDS
from regard.errors import RegardError
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for line in sys.stdin:
    kind, folder = line.rstrip("\\n").split("\\t")
    try:
        KINDS[kind].use(Path(folder))
        print("used")
    except RegardError as error:
        print("refused", error)
"""


@pytest.mark.slow
def test_one_number_does_not_take_the_machine(tmp_path: Path) -> None:
    """In a process of its own with one GiB to spare: what is not refused ends it. It starts once for all cases."""
    lines = []
    for number, (kind, file, keys, value) in enumerate(BOMBS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        KINDS[kind].make(folder)
        table = json.loads((folder / file).read_text())
        inner = table["source"] if "source" in table and file == "tokenizer.json" else table
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (folder / file).write_text(json.dumps(table))
        lines.append(f"{kind}\t{folder}")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], input="\n".join(lines), capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    results = dict(zip(BOMBS, done.stdout.splitlines(), strict=False))
    assert done.returncode == 0, (results, done.stderr[-2000:])
    padding = results.pop("padding")
    assert padding == "used"  # for the model pads by itself
    assert {name: text for name, text in results.items() if not text.startswith("refused")} == {}
