"""`regard course`: the exercises of the course, shown, hinted at, checked and answered."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.flags import Command, Group
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.course.exercise import Exercise

app = typer.Typer(cls=Group, help="Exercises of the course that check themselves.", no_args_is_help=True)

Number = Annotated[str, typer.Argument(help="Which exercise, such as 7.3; p.5 is a puzzle.")]


@app.callback()
def course() -> None:
    """Exercises of the course that check themselves."""


@app.command("list", cls=Command)
def show_list(
    chapter: Annotated[
        str | None, typer.Argument(help="A chapter, 1 to 21, or p for the puzzles.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """List the exercises, of one chapter or of all.

    Example: `regard course list 7`
    """
    from regard.course.catalogue import CHAPTERS, EXERCISES, of_chapter

    chosen = list(EXERCISES) if chapter is None else of_chapter(chapter)
    if as_json:
        print_json({"exercises": [_as_values(item) for item in chosen]}, indent=1)
        return
    rows = [[item.number, item.title, item.name, CHAPTERS[item.chapter]] for item in chosen]
    print_table(["number", "exercise", "function", "chapter"], rows, words=(0, 1, 2, 3))


@app.command(cls=Command)
def show(
    number: Number,
    out: Annotated[Path | None, typer.Option(help="Also write a file to begin with, such as answer.py.")] = None,
) -> None:
    """Show what an exercise asks for.

    Example: `regard course show 7.3 --out answer.py`
    """
    from regard.course.catalogue import CHAPTERS, find

    exercise = find(number)
    print(
        f"{exercise.number} {exercise.title} ({CHAPTERS[exercise.chapter]})\n\n{exercise.signature}\n\n{exercise.task}"
    )
    if exercise.one_line:
        names = ", ".join(f".{name}" if name == "T" else name for name in exercise.allowed)
        print(f"\nOne line, from operators, indices{' and ' + names if names else ''} alone.")
    if out is not None:
        if out.exists():
            raise ArgumentError(f"`--out` must be a file that is not there yet; received {out}. Name another.")
        out.write_text(exercise.template, encoding="utf-8")
    file = out or Path("answer.py")
    print(f"\nCheck an answer: regard course check {exercise.number} {sanitize(str(file))}")


@app.command(cls=Command)
def hint(
    number: Number,
    which: Annotated[int, typer.Argument(min=1, help="The first hint, the second, …")] = 1,
) -> None:
    """Show a hint.

    Example: `regard course hint 7.3`
    """
    from regard.course.catalogue import find

    exercise = find(number)
    count = len(exercise.hints)
    if which > count:
        raise ArgumentError(
            f"`WHICH` must be from 1 to {count}, the hints of {exercise.number}; received {which}. An answer: "
            f"`regard course solution {exercise.number}`."
        )
    print(exercise.hints[which - 1])
    further = f"hint {exercise.number} {which + 1}" if which < count else f"solution {exercise.number}"
    print(f"\n{which} of {count}. Further: regard course {further}")


@app.command(cls=Command)
def check(
    number: Number,
    file: Annotated[Path, typer.Argument(help="A Python file that defines the function.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check the answer in a file: right (exit code 0), or the smallest case that fails (exit code 1).

    The file runs in a process of its own, for 20 seconds at most.

    Example: `regard course check 7.3 answer.py`
    """
    from regard.course.checking import check_file

    verdict = check_file(number, file)
    if as_json:
        print_json({"number": verdict.number, "right": verdict.right, "message": verdict.message})
    else:
        print(sanitize(verdict.message, keep="\n\t"))
    if not verdict:
        raise typer.Exit(1)


@app.command(cls=Command)
def solution(number: Number) -> None:
    """Show an answer. Try first: an exercise is read once and solved for good.

    Example: `regard course solution 7.3`
    """
    from regard.course.answers import solution as answer_of
    from regard.course.catalogue import find

    print(answer_of(find(number)))


def _as_values(exercise: "Exercise") -> dict[str, object]:
    return {
        "number": exercise.number,
        "title": exercise.title,
        "function": exercise.name,
        "signature": exercise.signature,
        "task": exercise.task,
        "hints": len(exercise.hints),
    }
