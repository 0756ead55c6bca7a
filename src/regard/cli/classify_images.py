"""`regard classify` with an image classifier: pictures in, labels out, with weights of positions and channels."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.files import check_file, write_file, write_page
from regard.cli.label_measures import Wanted, check_summary, measure_labels
from regard.cli.terminal import print_json, sanitize
from regard.errors import ArgumentError, plural

if TYPE_CHECKING:
    from regard.data.images.labeled import LabeledImages
    from regard.tasks.images.model import ImageClassifier, ImageDecision, ImageInspection

FIGURES = (".png", ".svg", ".pdf")
MOST_DRAWN = 100
"""Pictures on a page."""


def classify_images(
    model: Path, pictures: list[str], source: Path | None, wanted: Wanted, *, device: str = "auto"
) -> None:
    """Label pictures, or measure against the labels of the images `source`."""
    from regard.data.formats.paths import is_file
    from regard.errors import brief

    if pictures and source is not None:
        raise ArgumentError("The images must come from one place; received both pictures and --input. Leave out one.")
    if source is None and not pictures:
        pictures = [line.rstrip("\n") for line in sys.stdin if line.strip()]
    for name in pictures:
        if not is_file(name):
            raise ArgumentError(
                f"Each PICTURE must be a file, since {model} is an image classifier; received {brief(name)!r}, which "
                "is none."
            )
    if wanted.figure is not None:
        _check_figure(wanted.figure, pictures)
    check_summary(wanted.summary, measured=source is not None, needs="--input")
    from regard.tasks.images.data import read_measured
    from regard.tasks.images.model import load_image_classifier

    classifier = load_image_classifier(model, device=device)
    if source is not None:
        _measure(classifier, read_measured(source, classifier), wanted)
        return
    read = classifier.read(pictures)
    result = zip(pictures, classifier.inspect_pixels(read), [None] * len(pictures), strict=True)
    _show_all(result, wanted, total=len(pictures))


def _check_figure(path: Path, pictures: list[str]) -> None:
    if path.suffix.lower() not in FIGURES:
        raise ArgumentError(f"`--figure` must end in {', '.join(FIGURES[:-1])} or {FIGURES[-1]}; received {path}.")
    if len(pictures) != 1:
        raise ArgumentError(
            f"`--figure` must go with one picture; received {path} for {len(pictures)}. --html draws several."
        )
    check_file(path, option="--figure")


def _measure(classifier: "ImageClassifier", images: "LabeledImages", wanted: Wanted) -> None:
    gold = [classifier.labels[label] for label in images.labels]
    names = [images.describe(index) for index in range(len(images))]
    result = zip(names, classifier.inspect_pixels(images.pixels), gold, strict=True)
    kept = _show_all(result, wanted, total=len(images), quiet=True)
    measure_labels(list(zip(kept, gold, strict=True)), classifier.labels, wanted=wanted, unit="image")


def _show_all(
    result: "Iterator[tuple[str, ImageInspection, str | None]]",
    wanted: Wanted,
    *,
    total: int,
    quiet: bool = False,
) -> "list[ImageDecision]":
    """Write each decision as it comes, and the page and the figure at the end."""
    from regard.cli.progress import Watching

    sections: list[str] = []
    decisions: list[ImageDecision] = []
    with Watching() as watching:
        for number, (name, inspection, gold) in enumerate(result, start=1):
            decisions.append(inspection.decision)
            if wanted.as_json:
                print_json({"picture": name, **as_table(inspection), "true_label": gold})
            elif not quiet:
                _show(name, inspection.decision)
            if wanted.html is not None and len(sections) < MOST_DRAWN:
                from regard.tasks.images.page import inspection_html

                sections.append(inspection_html(name, inspection, gold))
            if wanted.figure is not None:
                write_file(wanted.figure, inspection.figure().savefig, option="--figure")
            if quiet and number % 100 == 0:
                watching("classifying", number, total)
    if wanted.html is not None:
        from regard.tasks.images.page import inspections_page

        title = f"{plural(len(decisions), 'image')}, classified"
        write_page(wanted.html, inspections_page(sections, title=title), option="--html")
    return decisions


def as_table(inspection: "ImageInspection") -> dict[str, Any]:
    """Give an inspection as plain values: the last block of each stage, and its strongest channels."""
    positions = {
        item.name: [[round(weight, 4) for weight in row] for row in item.weights.tolist()]
        for item in inspection.last_positions()
    }
    channels = {
        item.name: {str(channel): round(float(item.weights[channel]), 4) for channel in best}
        for item, best in inspection.strongest()
    }
    decision = inspection.decision
    return {
        "label": decision.label,
        "probabilities": decision.probabilities,
        "positions": positions,
        "channels": channels,
    }


def _show(name: str, decision: "ImageDecision") -> None:
    from regard.tasks.images.page import chances

    print(f"{sanitize(decision.label)}\t{decision.probability:.4f}\t{sanitize(chances(decision))}\t{sanitize(name)}")
