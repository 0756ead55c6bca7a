"""`regard inspect`: a text in, what every layer attends to out."""

import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast, get_args

import typer

from regard.cli.files import check_file, check_unicode, write_file, write_page
from regard.cli.flags import AsTyped
from regard.cli.inspect_page import View, check_view, record_view, usual_view
from regard.cli.progress import Watching
from regard.cli.terminal import print_json
from regard.errors import ArgumentError, nearest

if TYPE_CHECKING:
    from regard.inspection.drawing.map import Map
    from regard.inspection.drawing.picture import Picture
    from regard.inspection.trace.inspected import Inspection
    from regard.studio.schema.keep import Recording

TRACE, PAGE, FIGURES = ".trace", ".html", (".png", ".svg", ".pdf")
SHOWN = 5
"""Likely tokens or labels, and words, that are printed."""


class Choice(NamedTuple):
    """What is shown of all that was recorded."""

    layer: str | None = None
    head: int | None = None
    words: bool = False

    def map(self, result: "Inspection") -> "Map":
        """Give the weights of the layer, by tokens or by words."""
        return (result.words if self.words else result.map)(self.layer, head=self.head)

    def figure(self, result: "Inspection") -> "Picture":
        """Draw the layer."""
        picture = self.map(result).figure() if self.words else result.figure(self.layer, head=self.head)
        picture.about = result.about
        return picture

    def to_json(self, result: "Inspection") -> dict[str, Any]:
        """Give the weights of the layer, of one head or of all."""
        table = result.to_json(self.layer, head=self.head)
        if not self.words:
            return table
        query, key = self.map(result).labels
        maps = [result.words(self.layer, head=head).values.tolist() for head in table["heads"]]
        return table | {"query": list(query), "key": list(key), "weights": maps}


def inspect(
    model: Annotated[Path, typer.Argument(help="A model folder or run folder, or a local Hugging Face folder.")],
    text: Annotated[str, typer.Argument(help="What the model reads.")],
    target: Annotated[str | None, typer.Option(help="The output it is forced to give; else it decodes one.")] = None,
    layer: Annotated[str | None, typer.Option(help="The layer shown, by name or pattern; --json lists them.")] = None,
    head: Annotated[
        int | None,
        typer.Option(
            help="The head shown, from 0; else all, in the terminal their mean, or one trained on word links."
        ),
    ] = None,
    words: Annotated[bool, typer.Option("--words", help="Show words where the model has parts of them.")] = False,
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
    as_typed: AsTyped = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Show what a model attends to while it reads a text and generates its output.

    Example: `regard inspect runs/es-en "La casa es roja."`

    The studio's page of it, in one file: `regard inspect runs/es-en "La casa es roja." --out page.html`

    Change its weights by hand: `regard inspect runs/es-en "La casa es roja." --out page.html --view what-if`

    Of a language model or a classifier, also what each pronoun attends to: `regard inspect runs/stories "It was late."`

    Every layer and head, for Python: `regard inspect runs/es-en "La casa es roja." --out attention.trace`
    """
    paths, choice = out or [], Choice(layer, head, words)
    for path in paths:
        _check_out(path)
    _check_view(view, paths, choice)
    check_unicode("TEXT", text)
    check_unicode("--target", target)
    loaded, attended = _open(model, text, target=target, view=view, respell=not as_typed, device=device)
    shown: View | None = None
    if any(_ending(path) == PAGE for path in paths) and choice == Choice():
        shown = cast("View | None", view) or usual_view(loaded, text, target)
    with Watching() as watching:
        recorded = None if shown is None else record_view(shown, loaded, text, target=target, watch=watching)
    maps = as_json or target is not None or any(_ending(path) != PAGE for path in paths)
    result = attended() if maps or recorded is None or _attends(loaded) else None
    if result is not None:
        choice.map(result)  # a wrong layer or head is told before anything is written
    for path in paths:
        _write(path, result, choice, recorded)
    if result is None:
        _show_unattended(loaded, text)
    elif as_json:
        print_json(choice.to_json(result))
    else:
        _show(result, choice, loaded)


def _open(
    model: Path, text: str, *, target: str | None, view: str | None, respell: bool, device: str
) -> tuple[Any, Callable[[], "Inspection"]]:
    """Give the model, none where it is not one of ours, and how to record what it attends to."""
    from regard.inspection.hugging_face.folder import is_hugging_face, load_hugging_face, naming_errors
    from regard.inspection.trace.inspected import inspect as inspect_model
    from regard.tasks.classification.model import Classifier
    from regard.tasks.language.model import LanguageModel
    from regard.tasks.load import load
    from regard.tasks.model_folder import check_kind, find_model
    from regard.tasks.translation.model import Translator
    from regard.training.group import pick_device

    if is_hugging_face(model):
        if view is not None:
            check_view(view, None, target)
        network, tokenizer = load_hugging_face(model, device=pick_device(device, argument="device"))

        def record() -> "Inspection":
            with naming_errors(model, "hold a model that can read this text"):
                return inspect_model(network, tokenizer, text, target=target)

        return None, record
    check_kind(find_model(model), "translate", "language", "classify")
    loaded = load(model, device=device, respell=respell)
    assert isinstance(loaded, Translator | LanguageModel | Classifier)
    if view is not None:
        check_view(view, loaded, target)
    return loaded, lambda: inspect_model(loaded, text, target=target)


def _attends(loaded: Any) -> bool:
    """Return whether there is anything to see of a model."""
    from torch import nn

    from regard.inspection.trace.attention_layers import layers_with

    return loaded is None or not isinstance(loaded.model, nn.Module) or bool(layers_with(loaded.model))


def _ending(path: Path) -> str:
    return path.suffix.lower()


def _check_out(path: Path) -> None:
    known = (TRACE, PAGE, *FIGURES)
    if _ending(path) not in known:
        raise ArgumentError(
            f"`--out` must end in {', '.join(known)}; received {path.name}. {nearest(path.suffix or path.name, known)}"
        )
    check_file(path, option="--out")


def _check_view(view: str | None, out: list[Path], choice: Choice) -> None:
    """Raise where a view is not one, or cannot be what is written."""
    if view is None:
        return
    known = get_args(View)
    if view not in known:
        raise ArgumentError(f"`--view` must be {', '.join(known)}; received {view}. {nearest(view, known)}")
    if not any(_ending(path) == PAGE for path in out):
        raise ArgumentError(f"`--view` must go with `--out page.html`; received {view} without one.")
    if choice != Choice():
        raise ArgumentError(
            f"`--view` must go without --layer, --head and --words, which draw a figure; received {view}."
        )


def _write(path: Path, result: "Inspection | None", choice: Choice, recorded: "Recording | None") -> None:
    from regard.studio.single_file import make_page

    if _ending(path) == PAGE and recorded is not None:
        write_page(path, make_page(recorded), option="--out")
        if recorded.left_out:
            print(
                f"regard: {path} answers {len(recorded.answers):,} questions; {recorded.left_out:,} more that a "
                "visitor may ask had no room. `regard studio` answers all.",
                file=sys.stderr,
            )
        return
    assert result is not None
    match _ending(path):
        case ".html":
            write_page(path, choice.figure(result).to_html(), option="--out")
        case ".trace":
            write_file(path, result.trace.save, option="--out")
        case _:
            write_file(path, choice.figure(result).save, option="--out")


def _show(result: "Inspection", choice: Choice, loaded: object) -> None:
    from regard.data.text.spelling import spell
    from regard.inspection.drawing.text_matrix import draw_weights, legend
    from regard.inspection.drawing.words import readable
    from regard.tasks.language.model import LanguageModel

    written: Callable[[str], str] = readable
    if isinstance(loaded, LanguageModel):
        written = partial(spell, kind=loaded.tokenizer.kind)  # as `regard generate --next` has them
    if result.target is not None:
        print(readable(result.target))
    _show_respelled(result.read_as)
    shown = choice.map(result)
    print(readable(shown.name))
    label = readable if choice.words else written
    rows, columns = ([label(item) for item in side] for side in shown.labels)
    width = shutil.get_terminal_size().columns
    lines = draw_weights(shown.values, columns, rows, mask=shown.mask, width=width)
    print("\n".join([*lines, legend(masked=shown.mask is not None, width=width)]))
    _show_pronouns(result, loaded)
    if result.likely:
        print("likely: " + ", ".join(f"{written(item.text)} {item.probability:.3f}" for item in result.likely[:SHOWN]))


def _show_pronouns(result: "Inspection", loaded: object) -> None:
    """Write which words each pronoun of a text attends to: the mean of all heads, and each head."""
    from regard.inspection.drawing.words import readable
    from regard.tasks.classification.model import Classifier
    from regard.tasks.language.model import LanguageModel
    from regard.tasks.pronouns import attend_from_pronouns, divide

    if not isinstance(loaded, Classifier | LanguageModel):
        return
    for attended in attend_from_pronouns(loaded, result.trace, divide(loaded, result.text)).attention:
        top = ", ".join(f"{readable(item['word'])} {item['weight']:.2f}" for item in attended["top"])
        print(f"“{readable(attended['word'])}”, word {attended['number']}: {top} (uniform {attended['uniform']:.2f})")
        for item in attended["readings"]:
            print(f"  if it is “{item['word']}”: {item['weight']:.2f}, rank {item['rank']} of {attended['visible']}; "
                  f"most in {item['head']}: {item['head_weight']:.2f}")  # fmt: skip
        for item in attended["heads"]:
            print(f"  {item['head']}: {readable(item['word'])} {item['weight']:.2f}")


def _show_respelled(words: Mapping[str, str]) -> None:
    """Write which words were read with other accents or case."""
    from regard.inspection.drawing.words import readable

    if words:
        print("read: " + ", ".join(f"{readable(typed)} as {readable(read)}" for typed, read in words.items()))


def _show_unattended(loaded: Any, text: str) -> None:
    """Write the output of a model that does not attend: a translation, or the label and the words that were weighed."""
    from regard.inspection.drawing.words import readable
    from regard.tasks.translation.model import Translator

    print("regard: this model does not attend: there is no map of it.", file=sys.stderr)
    if isinstance(loaded, Translator):
        best = loaded.search([text])[0][0]
        print(readable(best.text))
        _show_respelled(best.read.words)
        return
    decision = loaded.classify([text])[0]
    likely = sorted(decision.probabilities.items(), key=lambda one: -one[1])
    for name, pairs in (("likely", likely[:SHOWN]), ("weighed", decision.heaviest(SHOWN))):
        print(f"{name}: " + ", ".join(f"{readable(word)} {share:.3f}" for word, share in pairs))
