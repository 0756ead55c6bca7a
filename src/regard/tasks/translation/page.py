"""`report.html`: one file, without scripts and without the network, on what a run did."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from regard.tasks.page import Report, curves_html, make_report, weights_table


def make_page(report: Report, metrics: Sequence[Mapping[str, Any]], *, samples: str = "Translations") -> str:
    """Write the page from the lines of metrics.jsonl; `samples` is what the sample outputs are called."""
    valid = [line for line in metrics if line.get("event") == "valid"]
    notes = [str(line["text"]) for line in metrics if line.get("event") == "note" and "text" in line]
    sections = [
        f"<h2>Curves</h2>{curves_html(metrics)}<h2>{escape(samples)}</h2>{_samples(valid)}",
        f"<h2>Notes</h2><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else "",
    ]
    return make_report(report, sections)


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
        tables.append(f"<table>{cells}</table>{_attention(sample.get('looks'))}")
    return "".join(tables)


def _attention(weights: Mapping[str, Any] | None) -> str:
    """Draw what the model attends to: a row for each token of the output, a column for each of the source."""
    if not weights:
        return ""
    return weights_table(
        [str(token) for token in weights["source"]],
        [str(token) for token in weights["target"]],
        [[float(weight) for weight in row] for row in weights["weights"]],
        caption="What it attended to for each word at the last validation: weights, not reasons.",
    )
