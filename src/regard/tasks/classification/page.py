"""Decisions for people: the words of a text on a ground as dark as they weighed, tables of mistakes."""

from collections.abc import Mapping, Sequence
from html import escape

from regard.evaluation.classification import ClassificationScores, ReliabilityBin
from regard.tasks.classification.model import Decision
from regard.tasks.page import Report, make_html, make_report

MEANING = {
    "tf-idf": "its part of the chosen label's sum in the logistic regression, for or against",
    "average": "the same for all, as the model takes their mean",
    "token-weights": "a number learned for the word, the same beside all others",
    "feed-forward": "gradient times input: what the decision would lose without it, to first order",
    "last-state": "gradient times input: what the decision would lose without it, to first order",
    "attentive-pooling": "its attention weight",
    "recurrent-attention": "the attention weight of the state at its position, which knows its neighbors too",
    "structured": "the mean attention weight of the state at its position over all rows of the matrix",
    "transformer-encoder": "the attention weight of the state at its position, in which other words are mixed",
}
"""What the share of a word is, for each kind of model."""
MOST_SHOWN = 1000
"""Decisions on a page; a browser shows no more with ease."""
CAVEAT = "Shares say how much weight a word had, not whether it was for or against the label, and are no proof of why."

_STYLE = """<style>
.text { line-height: 2; overflow-wrap: anywhere; margin-bottom: 0 }
.text span { padding: .15rem .2rem; border-radius: .2rem;
  background: color-mix(in srgb, var(--two) calc(var(--weight) * 75%), transparent) }
.chances { color: var(--dim); font-size: .85rem; margin-top: 0 }
.wrong { color: var(--two) }
.right td { text-align: right }
</style>"""


def shade(weight: float, words: int) -> float:
    """Give how dark a word is shown, from 0 to 1: eight times an equal share, or all of a shorter text, is full.

    The scale is the same for every model: it depends on the share and the number of words alone.

    >>> shade(0.2, 40), shade(0.025, 40), shade(1.0, 1)
    (1.0, 0.125, 1.0)
    """
    return min(1.0, round(weight * words / max(1, min(8, words)), 4))


def decisions_page(
    decisions: Sequence[tuple[Decision, str | None]],
    *,
    kind: str,
    by: str,
    title: str,
    scores: ClassificationScores | None = None,
) -> str:
    """Write a page of decisions, each with its true label where that is known, and how good they are where measured."""
    parts = [_STYLE, f"<h1>{escape(title)}</h1>"]
    if scores is not None and decisions:
        parts += [
            f"<p>Accuracy {100 * scores.accuracy:.2f} %, macro-F1 {100 * scores.macro_f1:.2f}.</p>",
            confusion_html(scores, _every_label(decisions), "measured"),
            reliability_html(scores),
            "<h2>Decisions</h2>",
        ]
    parts += [_explain(kind, by), *(decision_html(item, gold) for item, gold in decisions[:MOST_SHOWN])]
    if len(decisions) > MOST_SHOWN:
        parts.append(f"<p>These are the first {MOST_SHOWN:,} of {len(decisions):,} texts.</p>")
    return make_html(title, parts)


def decision_html(decision: Decision, gold: str | None = None) -> str:
    """Draw one decision.

    >>> one = Decision(label="<b>", probabilities={"<b>": 1.0}, words=("<i>",), weights=(1.0,))
    >>> "<i>" in decision_html(one) or "<b>" in decision_html(one).replace("<b></b>", "")
    False
    """
    count = len(decision.words)
    words = " ".join(
        f'<span style="--weight:{shade(weight, count):.3f}" title="{escape(f"{word}: {weight:.3f}")}">'
        f"{escape(word)}</span>"
        for word, weight in zip(decision.words, decision.weights, strict=True)
    )
    ranked = sorted(decision.probabilities.items(), key=lambda item: -item[1])[:5]
    chances = ", ".join(f"{escape(label)} {probability:.3f}" for label, probability in ranked if probability >= 0.0005)
    mistake = f' <em class="wrong">(is {escape(gold)})</em>' if gold is not None and gold != decision.label else ""
    rest = f" {decision.cut:,} more tokens were not read." if decision.cut else ""
    return (
        f'<section><p class="text"><strong>{escape(decision.label)}</strong>{mistake} {words}</p>'
        f'<p class="chances">{chances}.{rest}</p></section>'
    )


def training_page(
    report: Report,
    *,
    kind: str,
    labels: Sequence[str],
    scores: Mapping[str, ClassificationScores],
    decisions: Sequence[tuple[Decision, str]],
) -> str:
    """Write `report.html`: figures, mistakes, calibration, and some decisions."""
    side = "test" if "test" in scores else "valid"
    sections = [
        confusion_html(scores[side], labels, side),
        reliability_html(scores[side]),
        f"<h2>Decisions</h2>{_explain(kind, 'model')}",
        *(decision_html(item, gold) for item, gold in decisions),
    ]
    return make_report(report, sections, style=_STYLE)


def _every_label(decisions: Sequence[tuple[Decision, str | None]]) -> list[str]:
    """List the labels of the model, and true ones that it does not have behind them."""
    labels = list(decisions[0][0].probabilities)
    return labels + sorted({true for _, true in decisions if true is not None} - set(labels))


def confusion_html(scores: ClassificationScores, labels: Sequence[str], side: str) -> str:
    """Draw the confusion matrix, each cell on a ground as strong as its share of the row."""
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    rows = "".join(
        f'<tr><th>{escape(label)}</th>{_cells(row)}<td style="padding-left:.8rem">{f1:.3f}</td></tr>'
        for label, row, f1 in zip(labels, scores.confusion, scores.f1, strict=True)
    )
    return (
        f"<h2>What was taken for what ({escape(side)})</h2><p>Rows are true labels, columns those chosen.</p>"
        f'<div class="wide"><table><tr><th></th>{head}<th>F1</th></tr>{rows}</table></div>'
    )


def _cells(row: Sequence[int]) -> str:
    ground = "background:color-mix(in srgb, var(--one) {:.0f}%, transparent)"
    return "".join(
        f'<td style="text-align:right;padding-left:.8rem;{ground.format(60 * count / max(sum(row), 1))}">{count:,}</td>'
        for count in row
    )


def reliability_html(scores: ClassificationScores, *, unit: str = "texts") -> str:
    """Draw the reliability bins; `unit` is what was classified."""
    rows = "".join(
        f"<tr><th>{item.low:.1f}–{item.high:.1f}</th><td>{item.texts:,}</td><td>{item.confidence:.3f}</td>"
        f"<td>{item.accuracy:.3f}</td></tr>"
        for item in scores.bins
        if item.texts
    )
    return (
        f"<h2>Calibration</h2><p>Expected calibration error {scores.calibration_error:.4f}.</p>"
        f"<figure>{_diagram(scores.bins)}<figcaption>Bars: the share that is right, by confidence; below the line the "
        f"model is too sure of itself.</figcaption></figure>"
        '<table class="right"><tr><th>confidence</th>'
        f"<th>{unit}</th><th>mean</th><th>right</th></tr>{rows}</table>"
    )


def _diagram(bins: Sequence[ReliabilityBin]) -> str:
    """Draw a reliability diagram: Guo et al. (2017), figure 1."""
    bars = "".join(
        f'<rect x="{30 + 200 * item.low:.0f}" y="{170 - 160 * item.accuracy:.1f}" width="{200 / len(bins) - 1:.1f}" '
        f'height="{160 * item.accuracy:.1f}" fill="var(--one)" opacity="0.6"><title>{item.texts:,}: '
        f"{item.confidence:.3f}, right {item.accuracy:.3f}</title></rect>"
        for item in bins
        if item.texts
    )
    axes = '<path d="M30 10V170H230" fill="none" stroke="var(--line)"/>'
    line = '<path d="M30 170L230 10" stroke="var(--two)" stroke-dasharray="4 3"/>'
    ends = (("30", "184", "0"), ("222", "184", "1"), ("16", "174", "0"), ("16", "16", "1"))
    marks = "".join(f'<text x="{x}" y="{y}">{text}</text>' for x, y, text in ends)
    return f'<svg viewBox="0 0 240 190" width="240" role="img" aria-label="calibration">{axes}{bars}{line}{marks}</svg>'


def describe_figures(figures: Mapping[str, float]) -> dict[str, str]:
    """Name the figures for people."""
    sides = {"test": "test", "valid": "validation"}
    shown = {}
    for side, name in sides.items():
        if f"{side}_accuracy" in figures:
            shown[f"accuracy, {name}"] = f"{100 * figures[f'{side}_accuracy']:.2f} %"
            shown[f"macro-F1, {name}"] = f"{100 * figures[f'{side}_macro_f1']:.2f}"
            shown[f"calibration error, {name}"] = f"{figures[f'{side}_calibration_error']:.4f}"
    return shown | {name: f"{figures[name]:,.0f}" for name in ("labels", "parameters", "steps", "seconds")}


def _explain(kind: str, by: str) -> str:
    meaning = MEANING["last-state"] if by == "gradient" and kind != "tf-idf" else MEANING[kind]
    if by == "removal":
        meaning = "how much the chosen label's logit changes without it"
    key = " ".join(f'<span style="--weight:{times / 8}">{times}</span>' for times in (1, 2, 4, 8))
    return (
        f"<p><small>A word's ground is its share: {escape(meaning)}. {escape(CAVEAT)}</small></p>"
        f'<p class="text"><small>Times an equal share, in a text of eight words or more:</small> {key}</p>'
    )
