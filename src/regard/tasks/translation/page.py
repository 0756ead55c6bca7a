"""`report.html`: one file, without scripts and without the network, on what a run did."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from regard.tasks.page import make_html, weights_table
from regard.training.metrics import is_number


def make_page(
    *,
    title: str,
    figures: Mapping[str, str],
    metrics: Sequence[Mapping[str, Any]],
    config: str,
    command: str,
    signature: str,
    samples: str = "Translations",
) -> str:
    """Write the page from the lines of metrics.jsonl; `samples` is what the sample outputs are called."""
    valid = [line for line in metrics if line.get("event") == "valid"]
    notes = [str(line["text"]) for line in metrics if line.get("event") == "note" and "text" in line]
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in figures.items())
    parts = [
        f"<h1>{escape(title)}</h1><p><small>{escape(signature)}</small></p>",
        f"<table>{rows}</table><h2>Curves</h2>{curves_html(metrics)}",
        f"<h2>{escape(samples)}</h2>{_samples(valid)}",
        f"<h2>Notes</h2><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else "",
        f"<h2>Command</h2><pre>{escape(command)}</pre><h2>Settings</h2><pre>{escape(config)}</pre>",
    ]
    return make_html(title, parts)


def curves_html(
    metrics: Sequence[Mapping[str, Any]], *, measure: str = "bleu", called: str = "BLEU", unit: str = "token"
) -> str:
    """Draw the loss, a measure of the validations, the rate and the speed over the steps, from metrics.jsonl."""
    train = [line for line in metrics if line.get("event") == "train"]
    valid = [line for line in metrics if line.get("event") == "valid"]
    loss = {"train": _points(train, "cross_entropy"), "valid": _points(valid, "loss")}
    speed = "target tokens" if unit == "token" else f"{unit}s"
    curves = [
        _figure(f"cross-entropy, nats {'an' if unit[0] in 'aeiou' else 'a'} {unit}", loss),
        _figure(called, {"valid": _points(valid, measure)}),
        _figure("learning rate", {"train": _points(train, "rate")}),
        _figure(f"{speed} a second", {"train": _points(train, "tokens_per_second")}),
    ]
    return "".join(curves)


def _points(lines: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    return [(float(line["step"]), float(line[key])) for line in lines if is_number(line.get(key)) and "step" in line]


def _samples(valid: Sequence[Mapping[str, Any]]) -> str:
    """Show each sample sentence with its translation at every validation: how it came about."""
    valid = [line for line in valid if line.get("samples")]
    if not valid:
        return "<p>None were made.</p>"
    tables = []
    for number, sample in enumerate(valid[-1]["samples"]):
        rows = [("source", sample["source"]), ("reference", sample["reference"])]
        before = None
        for line in valid:
            hypothesis = line["samples"][number]["hypothesis"] if number < len(line["samples"]) else ""
            if hypothesis != before:
                rows.append((f"step {line.get('step', 0):,}", hypothesis))
            before = hypothesis
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(text))}</td></tr>" for name, text in rows)
        tables.append(f"<table>{cells}</table>{_looks(sample.get('looks'))}")
    return "".join(tables)


def _looks(looks: Mapping[str, Any] | None) -> str:
    """Draw where the model looked: a row for each token it said, a column for each of the source."""
    if not looks:
        return ""
    return weights_table(
        [str(token) for token in looks["source"]],
        [str(token) for token in looks["target"]],
        [[float(weight) for weight in row] for row in looks["weights"]],
        caption="What it attended to for each word at the last validation: weights, not reasons.",
    )


def _figure(caption: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw one or two curves over the steps."""
    drawn = {name: points for name, points in curves.items() if points}
    if not drawn:
        return ""
    every = [point for points in drawn.values() for point in points]
    right = max(x for x, _ in every)
    low, high = min(y for _, y in every), max(y for _, y in every)
    span = (high - low) or abs(high) or 1.0
    lines = []
    for style, points in zip(("one", "two"), drawn.values(), strict=False):
        indices = " ".join(f"{50 + 330 * x / right:.1f},{170 - 150 * (y - low) / span:.1f}" for x, y in points)
        dot = f'<circle cx="{indices.split(",")[0]}" cy="{indices.split(",")[1]}" r="2"/>' if len(points) == 1 else ""
        lines.append(f'<g class="{style}" fill="none" stroke-width="1.8"><polyline points="{indices}"/>{dot}</g>')
    axes = (
        '<path d="M50 15V170H385" fill="none" stroke="var(--line)"/>'
        f'<text x="45" y="24" text-anchor="end">{_short(high)}</text>'
        f'<text x="45" y="172" text-anchor="end">{_short(low)}</text>'
        f'<text x="385" y="186" text-anchor="end">step {right:,.0f}</text>'
    )
    keys = ", ".join(
        f'<span class="{style}-key">{escape(name)}</span>' for style, name in zip(("one", "two"), drawn, strict=False)
    )
    label = escape(f"{caption}, from {every[0][1]:.3g} to {every[-1][1]:.3g}")
    size = 'width="400" height="195" viewBox="0 0 400 195"'
    svg = f'<svg {size} role="img" aria-label="{label}">{axes}{"".join(lines)}</svg>'
    return f"<figure>{svg}<figcaption>{escape(caption)} ({keys})</figcaption></figure>"


def _short(number: float) -> str:
    """Write a number at an axis in few characters."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
