"""`regard classify`: texts or pictures in, labels out, with the weights of words, image positions and channels."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.files import check_page, check_unicode, write_page
from regard.cli.label_measures import Wanted, check_summary, measure_labels
from regard.cli.terminal import print_json, sanitize
from regard.data.corpora.report import shorten
from regard.errors import ArgumentError, DataError, plural

if TYPE_CHECKING:
    from regard.evaluation.classification import ClassificationScores
    from regard.tasks.classification.model import Classifier, Decision

NAMED = 3
"""Texts that a note names."""


def classify(
    model: Annotated[Path, typer.Argument(help="A classifier's folder, or the folder of a finished run.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT|PICTURE", help="Texts or pictures; else read.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--input", help="A file of texts; or labeled images, measured; else standard input.")
    ] = None,
    text: Annotated[str, typer.Option(help="Column or key of the text in --input.")] = "text",
    label: Annotated[str, typer.Option(help="Column or key of the true label: measure against it.")] = "",
    by: Annotated[
        str, typer.Option(help="Shares of words: the model's own weights (model), gradient, or removal of each.")
    ] = "model",
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line: text, label, probabilities, words.")
    ] = False,
    summary: Annotated[Path | None, typer.Option(help="Write the figures against true labels as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page of what was weighed.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw what an image classifier weighed of a picture.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Label texts or pictures, and show the weight of each word, or image position and channel.

    Example: `regard classify runs/reviews "A warm and funny film."`

    A file: `regard classify runs/reviews --input new.csv --text review --html new.html`

    To measure: `regard classify runs/reviews --input test.csv --text review --label stars`

    Pictures: `regard classify runs/flowers rose.png --figure rose-weighed.png`
    """
    from regard.tasks.model_folder import check_kind, open_model

    folder = open_model(model)
    task = check_kind(folder, "classify", "images")
    wanted = Wanted(as_json, html, figure, summary)
    if html is not None:
        check_page(html, option="--html")
    if task == "images":
        from regard.cli.classify_images import classify_images

        if label or by != "model" or text != "text":
            raise ArgumentError(
                f"`--text`, `--label` and `--by` must go with a classifier of texts; {model} is one of images. Leave "
                "them out: --input names a folder or file of images that bring their labels."
            )
        classify_images(folder, texts or [], source, wanted, device=device)
        return
    _check_texts(model, texts or [], figure)
    if texts and source is not None:
        raise ArgumentError("The text must come from one place; received both texts and --input. Leave out one.")
    if label and source is None:
        raise ArgumentError("`--label` must go with --input, whose column it is; received it alone.")
    check_summary(summary, measured=bool(label), needs="--label")
    from regard.data.formats.labeled import find_label
    from regard.tasks.classification.model import load_classifier

    read, gold = _without_empty(*_read(texts or [], source, text, label), typed=bool(texts), source=source)
    classifier = load_classifier(folder, device=device)
    locate = None if source is None or not label else partial(find_label, source, label)
    _run(classifier, read, gold, by=by, locate=locate, wanted=wanted)
    _note_unknown(classifier, read)


def _check_texts(model: Path, texts: Sequence[str], figure: Path | None) -> None:
    """Raise where pictures are given to a classifier of texts."""
    from regard.data.formats.paths import is_file
    from regard.data.images.picture import SUFFIXES

    pictures = [text for text in texts if text.lower().endswith(SUFFIXES) and is_file(text)]
    if figure is not None or pictures:
        received = f"the picture {pictures[0]}" if pictures else "--figure"
        raise ArgumentError(
            f"{model} must be an image classifier, made by `regard train --task images`, to read pictures; it is one "
            f"of texts, and received {received}."
        )


def _run(
    classifier: "Classifier",
    read: list[str],
    gold: Sequence[str | None],
    *,
    by: str,
    locate: Callable[[str], str] | None,
    wanted: Wanted,
) -> None:
    """Write decisions, or where `locate` gives the first line of a label, how good they are."""
    kept: list[tuple[Decision, str | None]] = []
    for text, decision, true in zip(read, _watched(classifier, read, by), gold, strict=True):
        if wanted.as_json:
            print_json({"text": text, **asdict(decision), "true_label": true})
        elif locate is None:
            _show(decision)
        if wanted.html is not None or locate is not None:
            kept.append((decision, true))
    scores = None if locate is None else measure_labels(kept, classifier.labels, wanted=wanted, locate=locate)
    if wanted.html is not None:
        _write_page(wanted.html, kept, classifier, by, scores)


def _read(texts: list[str], source: Path | None, text: str, label: str) -> tuple[list[str], Sequence[str | None]]:
    """Give the texts, and their true labels where they are known."""
    from regard.data.formats.labeled import read_texts
    from regard.tasks.classification.data import read_measured_texts

    if source is not None and label:
        records = read_measured_texts(str(source), text=text, label=label)
        return [item.text for item in records], [item.label for item in records]
    if source is not None:
        texts = list(read_texts(source, text=text))
    elif not texts:
        if sys.stdin.isatty():
            print("regard: a text and Enter; Ctrl-D ends.", file=sys.stderr)
        texts = [line.rstrip("\n") for line in sys.stdin]
    for item in texts:
        check_unicode("TEXT", item)
    return texts, [None] * len(texts)


def _without_empty(
    texts: list[str], gold: Sequence[str | None], *, typed: bool, source: Path | None
) -> tuple[list[str], Sequence[str | None]]:
    """Leave out texts of no words, and say so; nothing at all is an error."""
    kept = [number for number, text in enumerate(texts) if text.strip()]
    if not kept and typed:
        raise ArgumentError("`TEXT` must be something to read; received nothing. Type a text.")
    if not kept:
        raise DataError(f"{source or 'Standard input'} must have at least one text; received none.")
    empty = [f"{number + 1:,}" for number, text in enumerate(texts) if not text.strip()]
    if empty:
        named = ", ".join(empty[:NAMED]) + (", …" if len(empty) > NAMED else "")
        print(f"regard: {plural(len(empty), 'empty text')} left out: number {named}", file=sys.stderr)
    return [texts[number] for number in kept], [gold[number] for number in kept]


def _note_unknown(classifier: "Classifier", texts: Sequence[str]) -> None:
    """Return which texts have no word that the model knows."""
    from regard.data.text.tokenizer import knows_none

    strange = [text for text in texts if knows_none(classifier.tokenizer, text)]
    if strange:
        named = "; ".join(sanitize(shorten(text)) for text in strange[:NAMED]) + ("; …" if len(strange) > NAMED else "")
        print(
            f"regard: {plural(len(strange), 'text')} without a word that the model knows, so that the label says "
            f"little: {named}",
            file=sys.stderr,
        )


def _watched(classifier: "Classifier", texts: list[str], by: str) -> "Iterator[Decision]":
    from typing import cast

    from regard.cli.progress import Watching
    from regard.tasks.classification.model import By

    decisions = classifier.stream(texts, by=cast(By, by))
    if len(texts) < (10 if by == "removal" else 500):
        yield from decisions
        return
    with Watching() as watching:
        for number, decision in enumerate(decisions, start=1):
            if number % (1 if by == "removal" else 100) == 0:
                watching("classifying", number, len(texts))
            yield decision


def _show(decision: "Decision") -> None:
    """Write a decision: words on shades of color on a terminal, columns with tabs between them elsewhere."""
    if not sys.stdout.isatty():
        heaviest = sanitize(", ".join(f"{word} {weight:.3f}" for word, weight in decision.heaviest()))
        words = sanitize(" ".join(decision.words))
        print(f"{sanitize(decision.label)}\t{decision.probability:.4f}\t{heaviest}\t{words}")
        return
    from rich.console import Console

    Console(highlight=False).print(paint(decision))


def paint(decision: "Decision") -> Any:
    """Lay the words on grounds as strong as their shares, for a terminal of many colors."""
    from rich.text import Text

    from regard.tasks.classification.page import shade

    line = Text()
    line.append(f"{sanitize(decision.label)} {decision.probability:.3f} ", "bold")
    for word, weight in zip(decision.words, decision.weights, strict=True):
        strength = shade(weight, len(decision.words))
        # From the terminal's own ground to orange; dark letters where the ground is bright.
        ground = f"rgb({int(40 + 215 * strength)},{int(40 + 100 * strength)},{int(45 - 35 * strength)})"
        line.append(sanitize(word), f"{'black' if strength > 0.5 else 'white'} on {ground}" if strength > 0.02 else "")
        line.append(" ")
    return line


def _write_page(
    path: Path,
    kept: "list[tuple[Decision, str | None]]",
    classifier: "Classifier",
    by: str,
    scores: "ClassificationScores | None",
) -> None:
    from regard.tasks.classification.page import decisions_page

    title = f"{plural(len(kept), 'text')}, classified"
    page = decisions_page(kept, kind=classifier.spec.kind, by=by, title=title, scores=scores)
    write_page(path, page, option="--html")
