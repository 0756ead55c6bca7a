"""Decisions on images for people: pages with what was weighed, and the report of a run."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from regard.evaluation.classification import ClassificationScores
from regard.tasks.classification.page import confusion_html, reliability_html
from regard.tasks.images.figure import as_png
from regard.tasks.images.model import ImageDecision, ImageInspection
from regard.tasks.page import Report, curves_html, make_html, make_report

CAVEAT = (
    "Gates say how much of a feature map or a position went on, weights how much a position was attended to; neither "
    "is proof of why the label was chosen. Evidence is what each position adds to the label's logit, where that is a "
    "sum over positions."
)
_STYLE = (
    "<style>img { max-width: 100%; background: #fff } .chances { color: var(--dim); font-size: .85rem }"
    ".right td { text-align: right }</style>"
)


def inspections_page(sections: Iterable[str], *, title: str) -> str:
    """Write a page of what `inspection_html` gave."""
    return make_html(title, [_STYLE, f"<h1>{escape(title)}</h1><p><small>{CAVEAT}</small></p>", *sections])


def inspection_html(name: str, inspection: ImageInspection, gold: str | None = None) -> str:
    """Draw one image with what was weighed, as part of a page."""
    decision = inspection.decision
    data = base64.b64encode(as_png(inspection.figure())).decode()
    mistake = f" (is {escape(gold)})" if gold is not None and gold != decision.label else ""
    alt = escape(f"{name}: {decision.label}, and the positions and channels that were weighed")
    return (
        f"<section><h2>{escape(name)}: {escape(decision.label)}{mistake}</h2>"
        f'<p class="chances">{escape(chances(decision))}</p>'
        f'<img alt="{alt}" src="data:image/png;base64,{data}"></section>'
    )


def chances(decision: ImageDecision, count: int = 5) -> str:
    """Name the likeliest labels with their probabilities.

    >>> chances(ImageDecision(label="cat", probabilities={"dog": 0.25, "cat": 0.75}))
    'cat 0.750, dog 0.250'
    """
    ranked = sorted(decision.probabilities.items(), key=lambda item: -item[1])[:count]
    return ", ".join(f"{label} {probability:.3f}" for label, probability in ranked)


def images_report(
    report: Report,
    *,
    labels: Sequence[str],
    scores: Mapping[str, ClassificationScores],
    inspections: Sequence[tuple[str, ImageInspection, str | None]],
    metrics: Sequence[Mapping[str, Any]],
) -> str:
    """Write `report.html`: figures, curves, mistakes, calibration, and some images with what was weighed."""
    side = "test" if "test" in scores else "valid"
    sections = [
        f"<h2>Curves</h2>{curves_html(metrics, measure='accuracy', called='accuracy', unit='image')}",
        confusion_html(scores[side], labels, side),
        reliability_html(scores[side], unit="images"),
        f"<h2>Images</h2><p><small>{CAVEAT}</small></p>",
        *(inspection_html(name, item, gold) for name, item, gold in inspections),
    ]
    return make_report(report, sections, style=_STYLE)
