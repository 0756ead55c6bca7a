"""`regard bench`: measure regard beside what a user would use instead."""

import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from regard.cli.flags import Command, Group
from regard.cli.terminal import print_json
from regard.errors import ArgumentError, near_miss

if TYPE_CHECKING:
    from regard.bench.attention import Row
    from regard.bench.decoding import Row as DecodingRow
    from regard.bench.training import Row as TrainingRow

app = typer.Typer(cls=Group, help="Measure regard beside what a user would use instead.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure regard beside what a user would use instead."""


@app.command(cls=Command)
def attention(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    threads: Annotated[int, typer.Option(min=1, help="Threads on the CPU.")] = 1,
    rounds: Annotated[int, typer.Option(min=3, help="Rounds; the median is shown.")] = 30,
    quick: Annotated[bool, typer.Option("--quick", help="Small cases only, under a minute.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Time the operator against SDPA, nn.MultiheadAttention, FlexAttention and eager torch, in one run.

    Example: `regard bench attention --quick`
    """
    import torch

    from regard.bench.attention import cases, run

    if dtype not in ("float32", "bfloat16", "float16"):
        raise ArgumentError(f"`--dtype` must be float32, bfloat16 or float16; received {dtype}.")
    _check_device(device)
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    target = torch.device(device)
    rows: list[Row] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("preparing", total=None)
        for case in cases(target, getattr(torch, dtype), quick=quick):
            progress.update(task, description=f"{case.name} {case.shape}")
            rows += run(case, rounds=rounds)
    machine = _machine(target, dtype, threads)
    if as_json:
        print_json({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=1)
    else:
        _show(rows, machine)


@app.command(cls=Command)
def decoding(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    precision: Annotated[str, typer.Option(help="Of the matrices: float32, bfloat16 or int8.")] = "float32",
    case: Annotated[
        str, typer.Option(help="short: 6 + 6 layers, 9 tokens a sentence; tiny: 6 + 2 layers, 25 tokens.")
    ] = "tiny",
    threads: Annotated[int, typer.Option(min=1, help="Threads on the CPU.")] = 1,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences to decode.")] = 200,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; the quickest is shown.")] = 3,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="Predict about a tenth of the words, as a list.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Time greedy and beam search beside `generate` of transformers, models of random parameters, in one run.

    Example: `regard bench decoding --precision int8 --shortlist`

    Without transformers only our own figures are shown.
    """
    import torch

    from regard.bench.decoding import CASES, run

    if case not in CASES:
        raise ArgumentError(f"`--case` must be {' or '.join(CASES)}; received {case}.{near_miss(case, CASES)}")
    if precision not in ("float32", "bfloat16", "int8"):
        raise ArgumentError(f"`--precision` must be float32, bfloat16 or int8; received {precision}.")
    _check_device(device)
    torch.set_num_threads(threads)
    target = torch.device(device)
    rows = list(
        run(
            CASES[case],
            device=target,
            precision=precision,  # type: ignore[arg-type]  # checked there
            sentences=sentences,
            rounds=rounds,
            shortlist=shortlist,
        )
    )
    machine = _machine(target, precision, threads)
    if as_json:
        print_json({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=1)
    else:
        _show_decoding(rows, machine)


@app.command(cls=Command)
def training(
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(min=1, help="Threads on the CPU.")] = 1,
    rounds: Annotated[int, typer.Option(min=3, help="Rounds; the median is shown.")] = 20,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Also time the plain models under torch.compile: minutes.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small models, under a minute.")] = False,
    large: Annotated[bool, typer.Option("--large", help="Add a language model of 12 × 768, for a GPU.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Time whole training steps beside the same models written in plain torch, in one run.

    Example: `regard bench training --device cuda`
    """
    import torch

    from regard.bench.training import cases, run

    _check_device(device)
    torch.set_num_threads(threads)
    target = torch.device(device)
    chosen = cases(quick=quick, large=large)
    rows = [row for case in chosen for row in run(case, device=target, rounds=rounds, compiled=compiled)]
    machine = _machine(target, "bfloat16" if target.type == "cuda" else "float32", threads)
    if as_json:
        print_json({"machine": machine, "rows": [row._asdict() for row in rows]}, indent=1)
    else:
        _show_training(rows, machine)


def _show_training(rows: "list[TrainingRow]", machine: dict[str, str]) -> None:
    title = "training, whole steps; a ratio above 1 is quicker than the first row; utilization: of one matrix product"
    table = _table(title, machine, texts=("model", "sizes", "what"), numbers=("ms", "tokens/s", "ratio", "utilization"))
    for row in rows:
        share = "" if row.utilization is None else f"{row.utilization:.0%}"
        figures = (f"{row.milliseconds:.2f}", f"{row.tokens_per_second:,.0f}", f"{row.ratio:.2f}", share)
        table.add_row(row.case, row.sizes, row.contender, *figures)
    Console(width=max(Console().width, 130)).print(table)


def _show_decoding(rows: "list[DecodingRow]", machine: dict[str, str]) -> None:
    title = "decoding, outputs as long as the sources; a ratio above 1 is quicker than the first row"
    table = _table(title, machine, texts=("case", "search", "what"), numbers=("sentences/s", "words/s", "ratio"))
    for row in rows:
        search = "greedy" if row.beam == 1 else f"beam {row.beam}"
        figures = (f"{row.sentences_per_second:,.0f}", f"{row.words_per_second:,.0f}", f"{row.ratio:.2f}")
        table.add_row(row.case, search, row.contender, *figures)
    Console(width=max(Console().width, 100)).print(table)


def _table(title: str, machine: dict[str, str], *, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """Make a table with the machine below it."""
    caption = ", ".join(f"{key} {value}" for key, value in machine.items())
    table = Table(title=title, caption=caption, title_justify="left")
    for heading in texts:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _check_device(device: str) -> None:
    import torch

    if device != "cpu" and not (device.startswith("cuda") and torch.cuda.is_available()):
        raise ArgumentError(f"`--device` must be cpu, or cuda where torch sees one; received {device}.")


def _machine(device: Any, dtype: str, threads: int) -> dict[str, str]:
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    return {"device": name, "dtype": dtype, "threads": str(threads), "torch": torch.__version__}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _show(rows: "list[Row]", machine: dict[str, str]) -> None:
    caption = ", ".join(f"{key} {value}" for key, value in machine.items())
    table = Table(title="attention, median milliseconds and peak extra MiB", caption=caption, title_justify="left")
    for heading in ("case", "shape", "what"):
        table.add_column(heading, no_wrap=heading != "what")
    for heading in ("forward ms", "ratio", "MiB", "fwd + bwd ms", "ratio", "MiB"):
        table.add_column(heading, justify="right", no_wrap=True)
    previous = None
    for row in rows:
        label = (row.case, "×".join(map(str, row.shape)))
        if previous not in (None, label):
            table.add_section()
        cells = [f"{row.forward.milliseconds:.2f}", f"{row.forward_ratio:.2f}", f"{row.forward.extra_mebibytes:.0f}"]
        if row.training is None or row.training_ratio is None:
            cells += ["–", "–", "–"]
        else:
            cells += [f"{row.training.milliseconds:.2f}", f"{row.training_ratio:.2f}"]
            cells += [f"{row.training.extra_mebibytes:.0f}"]
        table.add_row(*(label if label != previous else ("", "")), row.contender, *cells)
        previous = label
    wide = Console().width if sys.stdout.isatty() else 140
    Console(width=max(wide, 100)).print(table)
