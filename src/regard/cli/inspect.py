"""`regard inspect`: a text in, where every layer looked out."""

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.watching import Watching
from regard.errors import ArgumentError, nearest

if TYPE_CHECKING:
    from regard.inspection.inspected import Inspection
    from regard.studio.single_file import Watch

TRACE, PAGE, FIGURES = ".trace", ".html", (".png", ".svg", ".pdf")
VIEWS = ("translate", "steps", "what-if", "classify")
"""Views of the studio that a page can show."""
SHOWN = 5
"""Likely tokens or labels that are printed."""


def inspect(
    model: Annotated[Path, typer.Argument(help="A model folder or run folder, or a local Hugging Face folder.")],
    text: Annotated[str, typer.Argument(help="What the model reads.")],
    target: Annotated[str | None, typer.Option(help="What it is made to say; else it finds that by itself.")] = None,
    layer: Annotated[str | None, typer.Option(help="The layer shown, by name or pattern; --json lists them.")] = None,
    head: Annotated[
        int | None, typer.Option(help="The head shown, from 0; else all, in the terminal their mean.")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write a page.html, a figure.png, .svg or .pdf, or a .trace of all layers."),
    ] = None,
    view: Annotated[
        str | None, typer.Option(help="The studio's view in page.html: translate, steps, what-if or classify.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with the weights of a layer.")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Show where a model looks while it reads a text and says its answer.

    Example: `regard inspect runs/es-en "La casa es roja."`

    The studio's page of it, in one file: `regard inspect runs/es-en "La casa es roja." --out page.html`

    What if it looked elsewhere: `regard inspect runs/es-en "La casa es roja." --out page.html --view what-if`

    Every layer and head, for Python: `regard inspect runs/es-en "La casa es roja." --out looks.trace`
    """
    for path in out or []:
        _check_out(path)
    _check_view(view, out or [], chosen=(layer, head) != (None, None))
    found, loaded = _run(model, text, target, device)
    if view is not None:
        _check_model(view, loaded, target)
    found.map(layer, head=head)  # a wrong layer or head is told before anything is written
    for path in out or []:
        with Watching() as watching:
            page = partial(make_page, found, layer=layer, head=head, loaded=loaded, target=target, view=view)
            _write(path, found, layer, head, partial(page, watch=watching))
    if as_json:
        print(json.dumps(found.to_json(layer, head=head), ensure_ascii=False))
    else:
        _show(found, layer, head, loaded)


def make_page(
    found: "Inspection",
    *,
    layer: str | None,
    head: int | None,
    loaded: object,
    target: str | None = None,
    view: str | None = None,
    watch: "Watch | None" = None,
) -> str:
    """Make the single file that opens offline, one of the studio's views where nothing else was asked for.

    It is Translate for a translation that the model found, Classify for a classifier, Step by step for a language model
    that attends, and else a figure of one layer.
    """
    from regard.studio.classify_page import classification_page
    from regard.studio.page import translation_page
    from regard.studio.single_file import watch_nothing
    from regard.studio.steps_page import steps_page
    from regard.studio.what_if_page import relabeling_page, what_if_page
    from regard.tasks.classifier import Classifier

    plain = (layer, head) == (None, None)
    wanted = view or (_usual_view(found, loaded, target) if plain else "figure")
    made: Any = loaded
    watch = watch or watch_nothing
    match wanted:
        case "translate":
            return translation_page(made, found.text, watch=watch)
        case "what-if" if isinstance(loaded, Classifier):
            return relabeling_page(loaded, found.text, watch=watch)
        case "what-if":
            return what_if_page(made, found.text, watch=watch)
        case "classify":
            return classification_page(made, [found.text], watch=watch)
        case "steps":
            return steps_page(made, found.text, target=target, watch=watch)
        case _:
            return found.figure(layer, head=head).to_html()


def _usual_view(found: "Inspection", loaded: object, target: str | None) -> str:
    """Say which view shows most of a model; a figure where none does."""
    from regard.studio.steps_page import can_take_apart
    from regard.tasks.classifier import Classifier
    from regard.tasks.language_model import LanguageModel
    from regard.tasks.translator import Translator

    if isinstance(loaded, Translator):
        return "translate" if target is None else "figure"
    if isinstance(loaded, Classifier):
        return "classify"
    takes = isinstance(loaded, LanguageModel) and can_take_apart(loaded, found.text, target)
    return "steps" if takes else "figure"


def _run(model: Path, text: str, target: str | None, device: str) -> tuple["Inspection", object]:
    """Give what was seen, and the model where it is one of ours."""
    from regard.inspection.hugging_face_folder import is_hugging_face, load_hugging_face
    from regard.inspection.inspected import inspect as inspect_model
    from regard.tasks.classifier import Classifier
    from regard.tasks.language_model import LanguageModel
    from regard.tasks.load import load
    from regard.tasks.model_folder import find_device, find_model
    from regard.tasks.model_kinds import check_kind
    from regard.tasks.translator import Translator

    if is_hugging_face(model):
        network, tokenizer = load_hugging_face(model, device=find_device(device))
        return inspect_model(network, tokenizer, text, target=target), None
    check_kind(find_model(model), "translate", "language", "classify")
    loaded = load(model, device=device)
    assert isinstance(loaded, Translator | LanguageModel | Classifier)
    return inspect_model(loaded, text, target=target), loaded


def _check_out(path: Path) -> None:
    known = (TRACE, PAGE, *FIGURES)
    if path.suffix not in known:
        raise ArgumentError(
            f"`--out` must end in {', '.join(known)}; received {path.name}. {nearest(path.suffix or path.name, known)}"
        )


def _check_view(view: str | None, out: list[Path], *, chosen: bool) -> None:
    """Raise where a view is not one, or cannot be what is written."""
    if view is None:
        return
    if view not in VIEWS:
        raise ArgumentError(f"`--view` must be {', '.join(VIEWS)}; received {view}. {nearest(view, VIEWS)}")
    if not any(path.suffix == PAGE for path in out):
        raise ArgumentError(f"`--view` must go with `--out page.html`; received {view} without one.")
    if chosen:
        raise ArgumentError(f"`--view` must go without --layer and --head, which draw a figure; received {view}.")


def _check_model(view: str, loaded: object, target: str | None) -> None:
    """Raise where a model has no such view."""
    from regard.tasks.classifier import Classifier
    from regard.tasks.language_model import LanguageModel
    from regard.tasks.translator import Translator

    fitting: tuple[str, ...]
    match loaded:
        case Translator():
            name, fitting = "a translator", ("translate", "steps", "what-if") if target is None else ("steps",)
        case LanguageModel():
            name, fitting = "a language model", ("steps",)
        case Classifier():
            name, fitting = "a classifier", ("classify", "steps", "what-if")
        case _:
            name, fitting = "a Hugging Face model", ()
    if view not in fitting:
        told = " or ".join(fitting) if fitting else "left out"
        made = " that is told what to say" if target is not None else ""
        raise ArgumentError(f"`--view` must be {told} for {name}{made}; received {view}.")


def _write(path: Path, found: "Inspection", layer: str | None, head: int | None, page: Callable[[], str]) -> None:
    try:
        if path.suffix == TRACE:
            found.trace.save(path)
        elif path.suffix == PAGE:
            path.write_text(page(), encoding="utf-8")
        else:
            found.figure(layer, head=head).save(path)
        print(f"regard: wrote {path}", file=sys.stderr)
    except OSError as error:
        raise ArgumentError(f"`--out` must be a file to write; {path} cannot be written ({error.strerror}).") from error


def _show(found: "Inspection", layer: str | None, head: int | None, loaded: object) -> None:
    from regard.data.spelling import spell
    from regard.inspection.text_matrix import draw_weights
    from regard.inspection.words import readable
    from regard.tasks.language_model import LanguageModel

    written = spell if isinstance(loaded, LanguageModel) else readable  # as `regard generate --next` has them
    if found.target is not None:
        print(readable(found.target))
    shown = found.map(layer, head=head)
    print(readable(shown.name))
    rows, columns = ([written(token) for token in side] for side in shown.labels)
    print("\n".join(draw_weights(shown.values, columns, rows, width=shutil.get_terminal_size().columns)))
    if found.likely:
        print("likely: " + ", ".join(f"{written(one.text)} {one.probability:.3f}" for one in found.likely[:SHOWN]))
