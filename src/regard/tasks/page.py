"""Pages in one file, without script and network: the report of a run, curves, tables of weights, one style."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from regard.training.metrics import is_number

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --paper: #fff; --line: #d5dae3; --dim: #5b6475; --faint: #eef1f6;
  --one: #2458c5; --two: #c2410c }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9f0; --paper: #14171f; --line: #343b4a; --dim: #9aa4b8; --faint: #1f2430;
    --one: #7ea6ff; --two: #ff9d66 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; margin-bottom: 1.5rem }
td, th { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; white-space: nowrap }
pre { overflow-x: auto; font-size: .8rem; border: 1px solid var(--line); padding: 1rem }
figure { display: inline-block; margin: 0 1.5rem 1rem 0 } figcaption { font-size: .9rem; color: var(--dim) }
svg { max-width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: var(--dim) }
.one { stroke: var(--one) } .two { stroke: var(--two) } .one-key { color: var(--one) } .two-key { color: var(--two) }
small { color: var(--dim); overflow-wrap: anywhere }
@media (max-width: 40rem) { th { white-space: normal } }
.wide { overflow-x: auto; margin-bottom: 1.5rem }
.weights { border-collapse: separate; border-spacing: 1px; margin: 0 }
.weights th { border: 0; font-weight: 400; font-size: .85rem; padding: .1rem .4rem }
.weights thead th { writing-mode: vertical-rl; transform: rotate(180deg); padding: .4rem .1rem; vertical-align: top }
.weights tbody th { text-align: right }
.weights td { border: 0; padding: 0; min-width: 1.5rem; height: 1.5rem;
  background: color-mix(in srgb, var(--one) calc(var(--weight) * 100%), var(--faint)) }
"""


def make_html(title: str, parts: Iterable[str]) -> str:
    """Put parts, which are HTML already, under a title, which is not."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    head += f"<style>{STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


class Report(NamedTuple):
    """What the report of every run tells, whatever its task."""

    title: str
    signature: str
    figures: Mapping[str, str]
    """Named for people."""
    command: str
    config: str
    """The settings, as TOML."""
    data: str = ""
    """Which data, in a sentence."""


def make_report(report: Report, sections: Iterable[str], *, style: str = "") -> str:
    """Write `report.html`: figures first, then the sections of the task, which are HTML, then command and settings."""
    data = f"<p>{escape(report.data)}</p>" if report.data else ""
    parts = [
        style,
        f"<h1>{escape(report.title)}</h1><p><small>{escape(report.signature)}</small></p>{data}",
        f"<table>{rows_html(report.figures)}</table>",
        *sections,
        f"<h2>Command</h2><pre>{escape(report.command)}</pre>",
        f"<h2>Settings</h2><pre>{escape(report.config)}</pre>",
    ]
    return make_html(report.title, parts)


def rows_html(figures: Mapping[str, str]) -> str:
    """Give rows of a table, the name of a figure before its value."""
    return "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in figures.items())


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
        coordinates = " ".join(f"{50 + 330 * x / right:.1f},{170 - 150 * (y - low) / span:.1f}" for x, y in points)
        dot = (
            f'<circle cx="{coordinates.split(",")[0]}" cy="{coordinates.split(",")[1]}" r="2"/>'
            if len(points) == 1
            else ""
        )
        lines.append(f'<g class="{style}" fill="none" stroke-width="1.8"><polyline points="{coordinates}"/>{dot}</g>')
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


def weights_table(
    source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]], *, caption: str = ""
) -> str:
    """Draw weights: a row for each word of the output, a column for each of the source; numbers on pointing.

    >>> "&lt;b&gt;" in weights_table(["<b>"], ["x"], [[1.0]])
    True
    """
    head = "".join(f"<th>{escape(word)}</th>" for word in source)
    rows = []
    for word, row in zip(target, weights, strict=False):
        cells = "".join(
            f'<td style="--weight:{weight:.3f}" title="{escape(f"{word} → {source_word}: {weight:.3f}")}"></td>'
            for source_word, weight in zip(source, row, strict=False)
        )
        rows.append(f"<tr><th>{escape(word)}</th>{cells}</tr>")
    note = f"<small>{escape(caption)}</small>" if caption else ""
    table = f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table class="weights">{table}</table>{note}</div>'
