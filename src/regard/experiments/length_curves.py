"""The paper's figure on a text of the user's: BLEU by source length of a fixed vector, attention and a Transformer.

The first two are trained on sentences of up to 30 and of up to 50 words, the Transformer on the longer ones. In the
paper's table, over all test sentences, attention trained to 50 words is best, then attention trained to 30, which beats
the fixed vector trained to 50, which beats the fixed vector trained to 30.

Reference: Bahdanau, Cho and Bengio (2015), figure 2 and table 1, arXiv:1409.0473.
Differs: one layer of some hundred units, a smaller text, minutes instead of days.
"""

from itertools import pairwise
from typing import NamedTuple

from matplotlib.figure import Figure

from regard.evaluation.by_length import FEW
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Result, Row, Settings
from regard.experiments.text_models import Model, TextRuns, bahdanau, too_early_clause, train_models, transformer
from regard.experiments.text_worker import Measured
from regard.inspection.drawing.panels import PALETTE, panels

SHORT, LONG = 30, 50
"""Most words of the sentences that models are trained on."""


class _Kind(NamedTuple):
    name: str
    longest: int
    color: str


KINDS = {
    f"attention-{LONG}": _Kind("attention", LONG, PALETTE[0]),
    f"attention-{SHORT}": _Kind("attention", SHORT, PALETTE[5]),
    f"fixed-{LONG}": _Kind("fixed vector", LONG, PALETTE[1]),
    f"fixed-{SHORT}": _Kind("fixed vector", SHORT, PALETTE[4]),
    f"transformer-{LONG}": _Kind("Transformer", LONG, PALETTE[6]),
}
RANKED = (f"attention-{LONG}", f"attention-{SHORT}", f"fixed-{LONG}", f"fixed-{SHORT}")
"""The paper's order, best first."""


def models(size: int) -> list[Model]:
    """List what is trained."""
    presets = {"attention": ("bahdanau", bahdanau), "fixed vector": ("fixed", bahdanau)}
    presets["Transformer"] = ("transformer-tiny", transformer)
    return [
        Model(
            name=name,
            preset=presets[kind.name][0],
            settings={**presets[kind.name][1](size), "data": {"clean": {"max_words": kind.longest}}},
        )
        for name, kind in KINDS.items()
    ]


def measure_on_text(settings: Settings, text: TextRuns) -> Result:
    """Train five models, as many at a time as there are jobs, and score all by length."""
    figures = train_models(models(text.on_text.size), text, seed=settings.seed, watch=settings.watch)
    title = f"BLEU by source length, {next(iter(figures.values())).signature}"
    return Result(
        tables={title: [_row(*item) for item in figures.items()], "Test sentences": [_counts(figures)]},
        figure=_draw(figures),
        reading=_read(figures),
    )


def _row(name: str, item: Measured) -> Row:
    kind = KINDS[name]
    row: Row = {"model": kind.name, "trained on": f"up to {kind.longest} words"}
    row |= {f"{length} words": value for length, value in item.by_length.items()}
    row |= {"all": item.bleu, "perplexity": item.perplexity, "parameters": item.parameters}
    return row | {"steps": item.steps, "seconds": item.seconds}


def _counts(figures: dict[str, Measured]) -> Row:
    return dict(next(iter(figures.values())).sentences)


def _draw(figures: dict[str, Measured]) -> Figure:
    figure, [axes] = panels(1, 1, size=(6.5, 3.8), titles=["BLEU by source length"])
    bins = _bins(figures)
    across = list(range(len(bins)))
    lines = [
        (f"{KINDS[name].name}, to {KINDS[name].longest}", across, [item.by_length[length] for length in bins])
        for name, item in figures.items()
    ]
    colors = [KINDS[name].color for name in figures]
    draw_lines(axes, lines, xlabel="words in the source", ylabel="BLEU", colors=colors, limits=(0, None))
    axes.set_xticks(across, bins)
    return figure


def _bins(figures: dict[str, Measured]) -> list[str]:
    """Give the bins that have enough sentences, or all where none has."""
    sentences = next(iter(figures.values())).sentences
    return [length for length, count in sentences.items() if count >= FEW] or list(sentences)


def _read(figures: dict[str, Measured]) -> tuple[str, str, str]:
    bins = _bins(figures)
    return _read_lengths(figures, bins), _read_order(figures), _read_transformer(figures, bins[-1])


def _read_lengths(figures: dict[str, Measured], bins: list[str]) -> str:
    """Compare what the fixed vector and attention lose from their best length to the longest."""
    lost, shown = list[float](), list[str]()
    for name in (f"fixed-{LONG}", f"attention-{LONG}"):
        scores = figures[name].by_length
        best = max(scores[length] for length in bins)
        lost.append(1 - scores[bins[-1]] / max(best, 1e-9))
        shown.append(f"from {best:.1f} to {scores[bins[-1]]:.1f}")
    holds = "holds" if lost[0] > lost[1] else "does not hold"
    return (
        f"From their best length to {bins[-1]} words the fixed vector trained to {LONG} words goes {shown[0]} BLEU and "
        f"attention {shown[1]}: that the fixed vector loses the larger share, as in the paper, {holds} here."
    )


def _read_order(figures: dict[str, Measured]) -> str:
    wrong = [f"{one} over {other}" for one, other in pairwise(RANKED) if figures[one].bleu <= figures[other].bleu]
    best_first = sorted(RANKED, key=lambda name: -figures[name].bleu)
    order = ", ".join(f"{name} {figures[name].bleu:.1f}" for name in best_first)
    verdict = f"does not hold for {' and '.join(wrong)}" if wrong else "holds"
    early = too_early_clause(figures)
    return f"Over all sentences the order is {order}; the paper's, {', '.join(RANKED)}, {verdict}{early}."


def _read_transformer(figures: dict[str, Measured], longest: str) -> str:
    one, other = figures[f"transformer-{LONG}"], figures[f"attention-{LONG}"]
    sizes = f"{one.parameters / 1e6:.1f} million parameters against {other.parameters / 1e6:.1f}"
    times = f"{one.seconds:.0f} s of training against {other.seconds:.0f}"
    return (
        f"Beside attention the Transformer has {sizes} and {times}. It reaches {one.bleu:.1f} BLEU against "
        f"{other.bleu:.1f}, at {longest} words {one.by_length[longest]:.1f} against {other.by_length[longest]:.1f}, so "
        f"it is {'ahead' if one.bleu > other.bleu else 'behind'} in so short a training."
    )
