"""`regard classify`: texts or pictures in, labels out, with the words, places and channels that were weighed."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from regard.evaluation.classification import ClassificationScores
    from regard.tasks.classifier import Classifier, Decision
    from regard.tasks.image_classifier import ImageDecision


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
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line: label, probabilities, words.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page of what was weighed.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw what an image classifier weighed of a picture.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Label texts or pictures, and show how much each word, or place and channel, was heard.

    Example: `regard classify runs/reviews "A warm and funny film."`

    A file: `regard classify runs/reviews --input new.csv --text review --html new.html`

    To measure: `regard classify runs/reviews --input test.csv --text review --label stars`

    Pictures: `regard classify runs/flowers rose.png --figure rose-weighed.png`
    """
    from regard.tasks.model_folder import find_model
    from regard.tasks.model_kinds import check_kind, saved_task

    check_kind(find_model(model), "classify", "images")
    if saved_task(find_model(model)) == "images":
        from regard.cli.classify_images import Wanted, classify_images

        if label or by != "model" or text != "text":
            raise ArgumentError(
                f"`--text`, `--label` and `--by` must go with a classifier of texts; {model} is one of images. Leave "
                "them out: --input names a folder or file of images that bring their labels."
            )
        classify_images(model, texts or [], source, Wanted(as_json=as_json, html=html, figure=figure), device=device)
        return
    _check_texts(model, texts or [], figure)
    if any(not text.strip() for text in texts or []):
        raise ArgumentError("`TEXT` must be something to read; received nothing. Type a text.")
    if texts and source is not None:
        raise ArgumentError("The text must come from one place; received both texts and --input. Leave out one.")
    if label and source is None:
        raise ArgumentError("`--label` must go with --input, whose column it is; received it alone.")
    from regard.tasks.classifier import load_classifier

    classifier = load_classifier(model, device=device)
    read, gold = _read(texts or [], source, text, label)
    try:
        _run(classifier, read, gold, by=by, measure=bool(label), as_json=as_json, html=html)
    except BrokenPipeError:
        # Python flushes standard output once more when it ends, into nowhere from here on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_texts(model: Path, texts: Sequence[str], figure: Path | None) -> None:
    """Raise where pictures are given to a classifier of texts."""
    from regard.data.images.picture import SUFFIXES

    pictures = [text for text in texts if text.lower().endswith(SUFFIXES) and Path(text).is_file()]
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
    measure: bool,
    as_json: bool,
    html: Path | None,
) -> None:
    kept: list[tuple[Decision, str | None]] = []
    for decision, true in zip(_watched(classifier, read, by), gold, strict=True):
        if as_json:
            known = {} if true is None else {"true_label": true}
            print(json.dumps({**asdict(decision), **known}, ensure_ascii=False))
        elif not measure:
            _show(decision)
        if html is not None or measure:
            kept.append((decision, true))
    scores = measure_labels(kept, classifier.labels, as_json=as_json) if measure else None
    if html is not None:
        _write_page(html, kept, classifier, by, scores)


def _read(texts: list[str], source: Path | None, text: str, label: str) -> tuple[list[str], Sequence[str | None]]:
    """Give the texts, and their true labels where they are known."""
    from regard.data.labeled import read_labeled, read_texts

    if source is not None and label:
        records = list(read_labeled(source, text=text, label=label))
        if not records:
            raise DataError(f"{source} must have at least one text with a label; received none.")
        return [one.text for one in records], [one.label for one in records]
    if source is not None:
        texts = list(read_texts(source, text=text))
    elif not texts:
        if sys.stdin.isatty():
            print("regard: a text and Enter; Ctrl-D ends.", file=sys.stderr)
        texts = [line.rstrip("\n") for line in sys.stdin]
    return texts, [None] * len(texts)


def _watched(classifier: "Classifier", texts: list[str], by: str) -> "Iterator[Decision]":
    from typing import cast

    from regard.cli.watching import Watching
    from regard.tasks.classifier import By

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
        heaviest = ", ".join(f"{word} {weight:.3f}" for word, weight in decision.heaviest())
        print(f"{decision.label}\t{decision.probability:.4f}\t{heaviest}\t{' '.join(decision.words)}")
        return
    from rich.console import Console

    Console(highlight=False).print(paint(decision))


def paint(decision: "Decision") -> Any:
    """Lay the words on grounds as strong as their shares, for a terminal of many colors."""
    from rich.text import Text

    from regard.tasks.classify_page import shade

    line = Text()
    line.append(f"{decision.label} {decision.probability:.3f} ", "bold")
    for word, weight in zip(decision.words, decision.weights, strict=True):
        strength = shade(weight, len(decision.words))
        # From the terminal's own ground to orange; dark letters where the ground is bright.
        ground = f"rgb({int(40 + 215 * strength)},{int(40 + 100 * strength)},{int(45 - 35 * strength)})"
        line.append(word, f"{'black' if strength > 0.5 else 'white'} on {ground}" if strength > 0.02 else "")
        line.append(" ")
    return line


def measure_labels(
    kept: "Sequence[tuple[Decision | ImageDecision, str | None]]",
    labels: Sequence[str],
    *,
    as_json: bool,
    unit: str = "texts",
) -> "ClassificationScores":
    """Write how good decisions are against the true labels, and give it; `unit` is what was classified."""
    import numpy as np

    from regard.cli.tables import print_table
    from regard.data.labeled import Labeled, number_labels
    from regard.evaluation.classification import score_labels

    gold = number_labels([Labeled("", true or "") for _, true in kept], labels, side="measured")
    rows = np.array([[one.probabilities[label] for label in labels] for one, _ in kept])
    found = score_labels(rows, gold)
    if as_json:
        print(json.dumps({**found._asdict(), "bins": [one._asdict() for one in found.bins], "labels": labels}))
        return found
    print(
        f"accuracy {100 * found.accuracy:.2f} %, macro-F1 {100 * found.macro_f1:.2f}, calibration error "
        f"{found.calibration_error:.4f}, cross-entropy {found.cross_entropy:.4f} on {len(kept):,} {unit}\n"
    )
    table = [
        [label, *map(str, row), f"{f1:.3f}"] for label, row, f1 in zip(labels, found.confusion, found.f1, strict=True)
    ]
    print_table(["true \\ chosen", *labels, "F1"], table)
    bins = [
        [f"{one.low:.1f}–{one.high:.1f}", str(one.texts), f"{one.confidence:.3f}", f"{one.accuracy:.3f}"]
        for one in found.bins
        if one.texts
    ]
    print()
    print_table(["confidence", unit, "mean", "right"], bins)
    return found


def _write_page(
    path: Path,
    kept: "list[tuple[Decision, str | None]]",
    classifier: "Classifier",
    by: str,
    scores: "ClassificationScores | None",
) -> None:
    from regard.tasks.classify_page import decisions_page

    title = f"{len(kept):,} texts, classified"
    page = decisions_page(kept, kind=classifier.spec.kind, by=by, title=title, scores=scores)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(
            f"`--html` must be a file to write; {path} cannot be written ({error.strerror})."
        ) from error
