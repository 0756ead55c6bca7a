"""Pages in one file, without script and network: a style for light, dark and narrow screens, and tables of weights."""

from collections.abc import Iterable, Sequence
from html import escape

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
.looks { border-collapse: separate; border-spacing: 1px; margin: 0 }
.looks th { border: 0; font-weight: 400; font-size: .85rem; padding: .1rem .4rem }
.looks thead th { writing-mode: vertical-rl; transform: rotate(180deg); padding: .4rem .1rem; vertical-align: top }
.looks tbody th { text-align: right }
.looks td { border: 0; padding: 0; min-width: 1.5rem; height: 1.5rem;
  background: color-mix(in srgb, var(--one) calc(var(--weight) * 100%), var(--faint)) }
"""


def make_html(title: str, parts: Iterable[str]) -> str:
    """Put parts, which are HTML already, under a title, which is not."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    head += f"<style>{STYLE}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def weights_table(
    source: Sequence[str], target: Sequence[str], weights: Sequence[Sequence[float]], *, caption: str = ""
) -> str:
    """Draw weights: a row for each word that was said, a column for each of the source; numbers on pointing.

    >>> "&lt;b&gt;" in weights_table(["<b>"], ["x"], [[1.0]])
    True
    """
    head = "".join(f"<th>{escape(word)}</th>" for word in source)
    rows = []
    for word, row in zip(target, weights, strict=False):
        cells = "".join(
            f'<td style="--weight:{weight:.3f}" title="{escape(f"{word} → {known}: {weight:.3f}")}"></td>'
            for known, weight in zip(source, row, strict=False)
        )
        rows.append(f"<tr><th>{escape(word)}</th>{cells}</tr>")
    output = f"<small>{escape(caption)}</small>" if caption else ""
    table = f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table class="looks">{table}</table>{output}</div>'
