"""`regard bench`: measure regard beside what a user would use instead."""

import platform
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from regard.cli.flags import Command, Group
from regard.cli.terminal import print_json
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.bench.attention import Row

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
    if device != "cpu" and not (device.startswith("cuda") and torch.cuda.is_available()):
        raise ArgumentError(f"`--device` must be cpu, or cuda where torch sees one; received {device}.")
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
