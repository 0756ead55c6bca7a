"""`regard inspect`: a text in, where every layer looked out."""

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.errors import ArgumentError, nearest

if TYPE_CHECKING:
    from regard.inspection.inspected import Inspection

TRACE, PAGE, FIGURES = ".trace", ".html", (".png", ".svg", ".pdf")
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with the weights of a layer.")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Show where a model looks while it reads a text and says its answer.

    Example: `regard inspect runs/es-en "La casa es roja."`

    The studio's page of it, in one file: `regard inspect runs/es-en "La casa es roja." --out page.html`

    Every layer and head, for Python: `regard inspect runs/es-en "La casa es roja." --out looks.trace`
    """
    for path in out or []:
        _check_out(path)
    found, loaded = _run(model, text, target, device)
    found.map(layer, head=head)  # a wrong layer or head is told before anything is written
    for path in out or []:
        _write(path, found, layer, head, loaded, target)
    if as_json:
        print(json.dumps(found.to_json(layer, head=head), ensure_ascii=False))
    else:
        _show(found, layer, head)


def make_page(
    found: "Inspection", *, layer: str | None, head: int | None, loaded: object, target: str | None = None
) -> str:
    """Make the single file that opens offline, one of the studio's views where nothing else was asked for.

    It is Translate for a translation that the model found, Step by step for other models of text that attend, and else
    a figure of one layer.
    """
    from regard.studio.page import translation_page
    from regard.studio.steps_page import can_take_apart, steps_page
    from regard.tasks.classifier import Classifier
    from regard.tasks.language_model import LanguageModel
    from regard.tasks.translator import Translator

    chosen = (layer, head) != (None, None)
    if isinstance(loaded, Translator) and not chosen and target is None:
        return translation_page(loaded, found.text)
    if isinstance(loaded, LanguageModel | Classifier) and not chosen and can_take_apart(loaded, found.text, target):
        return steps_page(loaded, found.text, target=target)
    return found.figure(layer, head=head).to_html()


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


def _write(
    path: Path, found: "Inspection", layer: str | None, head: int | None, loaded: object, target: str | None
) -> None:
    try:
        if path.suffix == TRACE:
            found.trace.save(path)
        elif path.suffix == PAGE:
            page = make_page(found, layer=layer, head=head, loaded=loaded, target=target)
            path.write_text(page, encoding="utf-8")
        else:
            found.figure(layer, head=head).save(path)
        print(f"regard: wrote {path}", file=sys.stderr)
    except OSError as error:
        raise ArgumentError(f"`--out` must be a file to write; {path} cannot be written ({error.strerror}).") from error


def _show(found: "Inspection", layer: str | None, head: int | None) -> None:
    from regard.inspection.words import readable

    if found.target is not None:
        print(readable(found.target))
    print(readable(found.map(layer, head=head).name))
    print("\n".join(found.matrix(layer, head=head, width=shutil.get_terminal_size().columns)))
    if found.likely:
        print("likely: " + ", ".join(f"{readable(one.text)} {one.probability:.3f}" for one in found.likely[:SHOWN]))
