"""`regard demo`: the main job on the built-in corpus, from sentences to a report, without further input."""

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from regard.cli.terminal import is_live
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.demo import Demonstrated, Plan, Shown

_PAUSE = 10.0
"""Seconds between plain lines, where there is no terminal."""


def demo(
    out: Annotated[Path | None, typer.Option(help="Where everything goes; runs/demo or runs/demo-fast.")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="The same on shorter sentences, under a minute.")] = False,
) -> None:
    """Train a translator with one fixed vector and one with attention, and see what attention is for.

    Both learn Spanish to English from the built-in corpus, on two CPU cores. Run again, the command goes on where it
    was stopped, or shows the results once more.

    Example: `regard demo --fast`
    """
    from regard.files import write_text
    from regard.tasks.demo import FAST, FULL, draw_pairs, examine, write_pairs
    from regard.tasks.demo_page import make_demo_page

    out = out or Path("runs/demo-fast" if fast else "runs/demo")
    if out.is_file():
        raise ArgumentError(f"`--out` must be a folder; received the file {out}.")
    plan, begun = FAST if fast else FULL, time.monotonic()
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(
        Text(
            f"Two translators, Spanish to English, {plan.minutes} on two cores. One reads a sentence into one fixed\n"
            "vector; the other attends to every word of it while it writes: attention (Bahdanau et al. 2014).\n"
        )
    )
    with console.status("drawing sentence pairs from the built-in grammar"):
        data = draw_pairs(plan)
        write_pairs(data, out / "pairs")
    example = data.train[0]
    console.print(Text(f"{len(data.train):,} training pairs of 3 to {plan.longest} words, such as"))
    console.print(Text(f"    {example.source}\n  = {example.target}\n"))
    _train(plan, out, console)
    from regard.cli.progress import Watching

    with Watching() as watching:
        result = examine(out, plan, data, watch=watching)
    page = out / "report.html"
    write_text(page, make_demo_page(result))
    _tell(result)
    print(_next(result, out, page, time.monotonic() - begun))


def _train(plan: "Plan", out: Path, console: Console) -> None:
    """Train both models at once, a core for each, and show how they get on."""
    from regard.tasks.demo import SYSTEMS, training_command

    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    logs = {system: (out / f"{system}.log").open("w", encoding="utf-8") for system in SYSTEMS}
    processes = {
        system: subprocess.Popen(
            training_command(system, plan, out), stdout=logs[system], stderr=logs[system], env=environment
        )
        for system in SYSTEMS
    }
    try:
        _follow(processes, plan, out, console)
    except KeyboardInterrupt:
        for process in processes.values():
            process.send_signal(signal.SIGINT)
        for process in processes.values():
            process.wait()
        console.print(Text("Stopped; what was learned is saved. The same command goes on."))
        raise typer.Exit(130) from None
    finally:
        for log in logs.values():
            log.close()
    for system, process in processes.items():
        if process.returncode:
            lines = (out / f"{system}.log").read_text(encoding="utf-8").strip().splitlines()
            console.print(Text(f"regard: training {system} failed. Its last words, of {out / f'{system}.log'}:"))
            console.print(Text("\n".join(lines[-5:])))
            raise typer.Exit(process.returncode if process.returncode in (1, 2) else 1)


def _follow(processes: dict[str, subprocess.Popen[bytes]], plan: "Plan", out: Path, console: Console) -> None:
    """Show the last line of each run's metrics until both have ended."""
    from regard.training.metrics import last_report

    columns = (TextColumn("{task.fields[name]:>9}"), BarColumn(bar_width=30), TextColumn("{task.description}"))
    last = time.monotonic()
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not is_live(console)) as bars:
        tasks: dict[str, TaskID] = {
            system: bars.add_task("starting", total=_steps(plan, system), name=system) for system in processes
        }
        while True:
            running = any(process.poll() is None for process in processes.values())
            lines = {system: last_report(out / system / "metrics.jsonl") for system in processes}
            for system, line in lines.items():
                if line:
                    bars.update(tasks[system], completed=line["step"], description=_figures(line))
            if not is_live(console) and (time.monotonic() - last > _PAUSE or not running):
                last = time.monotonic()
                lines_now = [
                    f"{system} step {line['step']}, {_figures(line)}" for system, line in lines.items() if line
                ]
                console.print(Text("; ".join(lines_now) or "starting"))
            if not running or any(process.returncode for process in processes.values()):
                return
            time.sleep(0.25)


def _steps(plan: "Plan", system: str) -> int:
    return int(next(item.partition("=")[2] for item in plan.settings[system] if item.startswith("train.steps")))


def _figures(line: dict[str, Any]) -> str:
    from regard.training.metrics import is_number

    figures = (line.get(name) for name in ("loss", "tokens_per_second"))
    loss, speed = (value if is_number(value) else math.nan for value in figures)
    return f"loss {loss:.2f}, {speed:,.0f} words/s"


def _tell(result: "Demonstrated") -> None:
    """Print the results: sentences, quality by length, alignment error."""
    from regard.cli.draw_lengths import draw_lengths

    width = Console().width if sys.stdout.isatty() else 100
    for shown in result.shown:
        print("\n".join(_sentence(shown, width)))
    bins = result.evaluations[0].lengths
    print("Quality by length of the source (BLEU, greedy, on sentences that training never saw)\n")
    lines = draw_lengths(
        {item.name: [length.scores["BLEU"] for length in item.lengths] for item in result.evaluations},
        bins=[str(item.bin) for item in bins],
        sentences=[item.sentences for item in bins],
        width=min(width, 90),
    )
    print("\n".join(lines))
    last = len(bins) - 1
    fixed, attention = result.score("fixed", last), result.score("bahdanau", last)
    print(
        f"\nFrom {bins[0].bin} to {bins[last].bin} words the fixed vector goes from {result.score('fixed', 0):.0f} to "
        f"{fixed:.0f} BLEU, attention from {result.score('bahdanau', 0):.0f} to {attention:.0f}.\n"
    )
    print("Alignment error rate against the grammar's own word links (lower is better)\n")
    for name, scores in result.errors.items():
        print(f"  {name:<12} {100 * scores.error:5.1f} %   precision {100 * scores.precision:3.0f} %   "
              f"recall {100 * scores.recall:3.0f} %")  # fmt: skip
    print()


def _sentence(shown: "Shown", width: int) -> list[str]:
    """Write a sentence with both translations and, where it fits, the matrix of its attention."""
    from regard.inspection.drawing.text_matrix import draw_weights

    lines = [f"    {shown.source}", f"  = {shown.reference}"]
    if shown.read_as:
        lines.insert(1, "    read: " + ", ".join(f"{typed} as {read}" for typed, read in shown.read_as.items()))
    for system, text in shown.by_system.items():
        mark = "✓" if text == shown.reference else " "
        lines.append(f"{mark} {system:>8}: {text}")
    lines.append("")
    if len(shown.source_words) <= _MOST:
        lines += [f"    {line}" for line in draw_weights(shown.weights, shown.source_words, shown.target_words,
                                                          width=width - 4)]  # fmt: skip
        lines.append("")
    return lines


_MOST = 24
"""Source words up to which a matrix is drawn."""


def _next(result: "Demonstrated", out: Path, page: Path, seconds: float) -> str:
    command = "regard" if shutil.which("regard") else os.path.relpath(sys.argv[0])
    test = f"--source {out}/pairs/test.es --target {out}/pairs/test.en"
    return f"""Done in {seconds:.0f} s. Pictures of all this: {page}

Next
  {command} studio {out}/bahdanau                inspect it: steps, beam, every number
  {command} translate {out}/bahdanau "{result.sure}"
  {command} compare {out}/fixed {out}/bahdanau {test}
  {command} align {out}/bahdanau {test} --words marks --draw
  {command} train --source yours.es --target yours.en --out runs/yours        your own sentence pairs"""
