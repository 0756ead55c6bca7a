"""The report of the demonstration: one file, without scripts and without the network."""

import io
from html import escape

from regard.inspection.drawing.quality_by_length import Curve, quality_by_length
from regard.tasks.demo import CORPUS, Demonstrated, Shown
from regard.tasks.page import make_html, weights_table


def make_demo_page(result: Demonstrated) -> str:
    """Show sentences with their attention, quality by length, and alignment error."""
    last = result.evaluations[0].lengths[-1].bin
    fixed, attention = (result.score(system, -1) for system in ("fixed", "bahdanau"))
    parts = [
        "<h1>One fixed vector, or attention</h1>",
        f"<p>Two recurrent translators learned Spanish to English from {escape(CORPUS)}, a grammar with known word "
        "links. <b>fixed</b> reads a sentence into one vector and writes from that (Sutskever et al. 2014, Cho et al. "
        "2014). <b>bahdanau</b> attends to the words of the source while it writes (Bahdanau et al. 2014). On "
        f"sentences of {escape(str(last))} words the first reaches {fixed:.1f} BLEU, the second {attention:.1f}.</p>",
        "<h2>Quality by length</h2>",
        f"<figure>{_lengths(result)}<figcaption>BLEU with its 95 % band, greedy decoding; n sentences of each length, "
        "none seen in training.</figcaption></figure>",
        _trained(result),
        "<h2>Alignment error against the gold links</h2>",
        _errors(result),
        "<h2>What it attended to</h2>",
        "<p>Each row is a word that <b>bahdanau</b> wrote, each column a word it read; the stronger the color, the "
        "more weight. Weights show what the model attended to, which is not why it wrote the word.</p>",
        *(_shown(item) for item in result.shown),
        "<h2>How it was measured</h2><ul>",
        *(f"<li>{escape(item.name)}: <code>{escape(item.signature)}</code></li>" for item in result.evaluations),
        f"<li>links read from {escape(str(result.reading))}, chosen on the validation pairs</li></ul>",
    ]
    return make_html("One fixed vector, or attention", parts)


def _lengths(result: Demonstrated) -> str:
    """Draw the figure as SVG inside the page."""
    bins = result.evaluations[0].lengths
    curves = []
    for item in result.evaluations:
        values, low, high = zip(*(length.scores["BLEU"] for length in item.lengths), strict=True)
        curves.append(Curve(name=item.name, values=values, low=low, high=high))
    figure = quality_by_length(
        curves, bins=[str(item.bin) for item in bins], sentences=[item.sentences for item in bins], metric="BLEU"
    )
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    svg = written.getvalue()
    return f'<div class="plate">{svg[svg.index("<svg") :]}</div>'


def _trained(result: Demonstrated) -> str:
    head = "<tr><th></th><th>parameters</th><th>steps</th><th>target words seen</th><th>seconds</th></tr>"
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{item['parameters']:,.0f}</td><td>{item['steps']:,.0f}</td>"
        f"<td>{item['tokens']:,.0f}</td><td>{item['seconds']:,.0f}</td></tr>"
        for name, item in result.figures.items()
    )
    return f"<table>{head}{rows}</table><p><small>Each had about the same time on one core.</small></p>"


def _errors(result: Demonstrated) -> str:
    head = "<tr><th></th><th>error</th><th>precision</th><th>recall</th></tr>"
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{100 * item.error:.1f} %</td><td>{100 * item.precision:.1f} %</td>"
        f"<td>{100 * item.recall:.1f} %</td></tr>"
        for name, item in result.errors.items()
    )
    return (
        f"<table>{head}{rows}</table><p><small>IBM Model 1 (Brown et al. 1993) counts which words go together in the "
        "training pairs; the diagonal links words that are equally far along. Error of Och and Ney (2003).</small></p>"
    )


def _shown(one: Shown) -> str:
    respelled = ", ".join(f"{typed} as {read}" for typed, read in one.read_as.items())
    rows = [("source", one.source), *([("read", respelled)] if respelled else [])]
    rows += [("reference", one.reference), *one.by_system.items()]
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table>{cells}</table>{weights_table(one.source_words, one.target_words, one.weights.tolist())}"
