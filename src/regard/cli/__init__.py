"""The command line: parse, call the library, show. Nothing here imports torch before a command runs."""

import sys
from typing import Annotated

import typer
from typer.main import get_command

from regard import __version__
from regard.cli import bench, course
from regard.cli.align import align
from regard.cli.ask import ask
from regard.cli.caption import caption
from regard.cli.classify import classify
from regard.cli.compare import compare
from regard.cli.compress import compress
from regard.cli.demo import demo
from regard.cli.doctor import doctor
from regard.cli.draw_scene import scene
from regard.cli.evaluate import evaluate
from regard.cli.experiment import experiment
from regard.cli.export import export
from regard.cli.flags import Command
from regard.cli.generate import generate
from regard.cli.inspect import inspect
from regard.cli.models import models
from regard.cli.outcome import Commands, ending
from regard.cli.push import push
from regard.cli.runs import runs
from regard.cli.score_links import score_links
from regard.cli.serve import serve
from regard.cli.studio import studio
from regard.cli.terminal import prepare_streams
from regard.cli.tokenize import tokenize
from regard.cli.train import train
from regard.cli.translate import translate

app = typer.Typer(
    name="regard",
    cls=Commands,
    help="Attention for sequence models: an operator, a toolkit and a studio.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench.app, name="bench")
app.add_typer(course.app, name="course")
for command in (
    demo,
    train,
    runs,
    models,
    doctor,
    translate,
    compress,
    classify,
    ask,
    caption,
    scene,
    generate,
    evaluate,
    compare,
    align,
    tokenize,
    inspect,
    experiment,
    export,
    push,
    score_links,
    studio,
    serve,
):
    app.command(command.__name__.replace("_", "-"), cls=Command)(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def regard(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Attention for sequence models: an operator, a toolkit and a studio."""


def main() -> None:
    """Run the command line; `outcome` says how it ends."""
    prepare_streams()
    with ending(get_command(app), sys.argv[1:]):
        app()
