"""`report.html`: one file, without scripts and without the network, on what a run did."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --paper: #fff; --line: #d5dae3; --dim: #5b6475;
  --one: #2458c5; --two: #c2410c }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9f0; --paper: #14171f; --line: #343b4a; --dim: #9aa4b8; --one: #7ea6ff; --two: #ff9d66 } }
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
small { color: var(--dim) }
"""


def make_page(
    *,
    title: str,
    figures: Mapping[str, str],
    metrics: Sequence[Mapping[str, Any]],
    config: str,
    command: str,
    signature: str,
) -> str:
    """Write the page from the lines of metrics.jsonl."""
    train = [line for line in metrics if line.get("event") == "train"]
    valid = [line for line in metrics if line.get("event") == "valid"]
    notes = [str(line["text"]) for line in metrics if line.get("event") == "note" and "text" in line]
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in figures.items())
    curves = [
        _figure(
            "cross-entropy, nats a token", {"train": _points(train, "cross_entropy"), "valid": _points(valid, "loss")}
        ),
        _figure("BLEU", {"valid": _points(valid, "bleu")}),
        _figure("learning rate", {"train": _points(train, "rate")}),
        _figure("target tokens a second", {"train": _points(train, "tokens_per_second")}),
    ]
    parts = [
        f"<h1>{escape(title)}</h1><p><small>{escape(signature)}</small></p>",
        f"<table>{rows}</table><h2>Curves</h2>{''.join(curves)}",
        f"<h2>Translations</h2>{_samples(valid)}",
        f"<h2>Notes</h2><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else "",
        f"<h2>Command</h2><pre>{escape(command)}</pre><h2>Settings</h2><pre>{escape(config)}</pre>",
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    head += f"<style>{_STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _points(lines: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    return [(float(line["step"]), float(line[key])) for line in lines if isinstance(line.get(key), int | float)]


def _samples(valid: Sequence[Mapping[str, Any]]) -> str:
    """Show each sample sentence with its translation at every validation: how it came about."""
    if not valid or not valid[-1].get("samples"):
        return "<p>None were made.</p>"
    tables = []
    for number, sample in enumerate(valid[-1]["samples"]):
        rows = [("source", sample["source"]), ("reference", sample["reference"])]
        before = None
        for line in valid:
            hypothesis = line["samples"][number]["hypothesis"] if number < len(line["samples"]) else ""
            if hypothesis != before:
                rows.append((f"step {line['step']:,}", hypothesis))
            before = hypothesis
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(text))}</td></tr>" for name, text in rows)
        tables.append(f"<table>{cells}</table>")
    return "".join(tables)


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
        places = " ".join(f"{50 + 330 * x / right:.1f},{170 - 150 * (y - low) / span:.1f}" for x, y in points)
        dot = f'<circle cx="{places.split(",")[0]}" cy="{places.split(",")[1]}" r="2"/>' if len(points) == 1 else ""
        lines.append(f'<g class="{style}" fill="none" stroke-width="1.8"><polyline points="{places}"/>{dot}</g>')
    axes = (
        '<path d="M50 15V170H385" fill="none" stroke="var(--line)"/>'
        f'<text x="45" y="24" text-anchor="end">{high:.3g}</text>'
        f'<text x="45" y="172" text-anchor="end">{low:.3g}</text>'
        f'<text x="385" y="186" text-anchor="end">step {right:,.0f}</text>'
    )
    keys = ", ".join(
        f'<span class="{style}-key">{escape(name)}</span>' for style, name in zip(("one", "two"), drawn, strict=False)
    )
    label = escape(f"{caption}, from {every[0][1]:.3g} to {every[-1][1]:.3g}")
    size = 'width="400" height="195" viewBox="0 0 400 195"'
    svg = f'<svg {size} role="img" aria-label="{label}">{axes}{"".join(lines)}</svg>'
    return f"<figure>{svg}<figcaption>{escape(caption)} ({keys})</figcaption></figure>"
