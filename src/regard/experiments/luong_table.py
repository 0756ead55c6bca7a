"""The paper's table of attention models: every score, global and local, by perplexity, BLEU and alignment error.

All are stacked LSTMs of one size with input feeding, which differ in how a source position is scored, and in whether
all of them are attended to (global), or a window that moves along (local-m) or whose center is predicted (local-p).
Bahdanau's model and a Transformer are beside them. The vocabulary is of words, so that some are unknown; they are
replaced by the source word attended to.

In the paper, on WMT English to German, local-p with the bilinear score is best, dot and local-m follow, and the global
bilinear score is behind them; replacing unknown words helps every model; local attention aligns better than global.

Reference: Luong, Pham and Manning (2015), tables 4 and 6, arXiv:1508.04025.
Differs: one layer of some hundred units, a smaller text, minutes instead of days; unknown words are copied where the
paper has a dictionary.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib.figure import Figure

from regard.experiments.drawing import draw_bars
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.experiments.text_models import (
    Model,
    TextRuns,
    bahdanau,
    recurrent,
    too_early_clause,
    train_models,
    transformer,
)
from regard.experiments.text_worker import Measured
from regard.inspection.drawing.panels import PALETTE, panels
from regard.tasks.recipe import OnText

GLOBAL = ("location", "dot", "general", "concat")
LOCAL = ("local-m", "local-p")
OTHERS = ("bahdanau", "transformer")
PAPER = {"location": 18.1, "dot": 18.6, "general": 17.3, "local-m": 18.6, "local-p": 19.0}
"""BLEU in the paper's table 4, before unknown words are replaced; local ones with the bilinear score."""


def models(size: int) -> list[Model]:
    """List what is trained."""
    luong = [Model(name=name, preset=f"luong-{name}", settings=recurrent(size)) for name in (*GLOBAL, *LOCAL)]
    return [
        *luong,
        Model(name="bahdanau", preset="bahdanau", settings=bahdanau(size)),
        Model(name="transformer", preset="transformer-tiny", settings=transformer(size)),
    ]


def measure(settings: Settings) -> Result:
    """Train eight models on a text, or for a short while on the built-in corpus, and measure all of them."""
    if settings.text is not None:
        return _measure(settings, settings.text)
    pairs, steps, size, tested = settings.choose(full=(4_000, 300, 96, 100), quick=(60, 4, 16, 10))
    builtin = {
        "data": {"corpus": "builtin:es-en", "size": pairs, "seed": settings.seed},
        "tokenizer": {"kind": "word", "joint": False, "min_frequency": 1, "vocabulary_size": 500},
        "model": {"dropout": 0.0},
        "train": {
            "steps": steps,
            "batch_tokens": 1024,
            "label_smoothing": 0.0,
            "validate_every": steps,
            "valid_sentences": 20,
            "threads": 1,
            "schedule": {"kind": "linear", "rate": 4e-3, "warm_up": 1},
        },
    }
    with TemporaryDirectory() as folder:
        on_text = OnText(size=size, tested=tested, beam=1)
        return _measure(settings, TextRuns(folder=Path(folder), settings=builtin, on_text=on_text))


def _measure(settings: Settings, text: TextRuns) -> Result:
    figures = train_models(models(text.on_text.size), text, seed=settings.seed, watch=settings.watch)
    title = f"Attention models, {next(iter(figures.values())).signature}"
    rows = [_row(*item) for item in figures.items()]
    return Result(tables={title: rows}, figure=_draw(figures), reading=_read(figures))


def _row(name: str, item: Measured) -> Row:
    row: Row = {
        "attention": _title(name),
        "perplexity": item.perplexity,
        "BLEU": item.bleu,
        "after replacement": item.replaced,
    }
    if item.error is not None:
        row["alignment error"] = item.error
    if name in PAPER:
        row["BLEU in the paper"] = PAPER[name]
    return row | {"parameters": item.parameters, "steps": item.steps, "seconds": item.seconds}


def _title(name: str) -> str:
    if name in OTHERS:
        return {"bahdanau": "Bahdanau, additive", "transformer": "Transformer"}[name]
    return f"global, {name}" if name in GLOBAL else f"{name}, general"


def _draw(figures: dict[str, Measured]) -> Figure:
    names = [_title(name) for name in figures]
    colors = [PALETTE[0] if name in GLOBAL else PALETTE[1] if name in LOCAL else PALETTE[6] for name in figures]
    errors = {name: item.error for name, item in figures.items() if item.error is not None}
    titles = ["BLEU after replacement"] + ["alignment error, %"] * bool(errors)
    figure, axes = panels(1, len(titles), size=(5.0, 3.4), titles=titles)
    draw_bars(axes[0], names, [item.replaced for item in figures.values()], xlabel="BLEU", digits=1, colors=colors)
    if errors:
        shown = [_title(name) for name in errors]
        shades = [color for color, name in zip(colors, figures, strict=True) if name in errors]
        draw_bars(axes[1], shown, [100 * value for value in errors.values()], xlabel="AER, %", digits=1, colors=shades)
    return figure


def _read(figures: dict[str, Measured]) -> tuple[str, str, str]:
    orders = [(one, other) for one in PAPER for other in PAPER if PAPER[one] > PAPER[other]]
    wrong = [f"{one} over {other}" for one, other in orders if figures[one].bleu <= figures[other].bleu]
    ranked = sorted(figures, key=lambda name: -figures[name].bleu)
    first = f"By BLEU the order is {', '.join(f'{name} {figures[name].bleu:.1f}' for name in ranked)}; "
    holding = len(orders) - len(wrong)
    first += f"{holding} of the paper's {len(orders)} orders {'holds' if holding == 1 else 'hold'}"
    first += f"{', not ' if wrong else ''}{', '.join(wrong)}{too_early_clause(figures)}."
    gains = {name: item.replaced - item.bleu for name, item in figures.items()}
    least, most = min(gains, key=gains.__getitem__), max(gains, key=gains.__getitem__)
    second = (
        f"Replacing unknown words by the source word attended to changes BLEU by {gains[least]:+.2f} ({least}) to "
        f"{gains[most]:+.2f} ({most}): that it helps every model, as in the paper, "
        f"{'holds' if gains[least] > 0 else 'does not hold'} here."
    )
    return first, second, _read_errors(figures)


def _read_errors(figures: dict[str, Measured]) -> str:
    errors = {name: item.error for name, item in figures.items() if item.error is not None}
    perplexity = min(figures, key=lambda name: figures[name].perplexity)
    third = f"The lowest perplexity is that of {perplexity}, {figures[perplexity].perplexity:.2f}; "
    if not errors:
        return third + "no word links were given, so that alignments are not measured."
    best = min(errors, key=errors.__getitem__)
    local, around = (min(errors[name] for name in names if name in errors) for names in (LOCAL, GLOBAL))
    return third + (
        f"the lowest alignment error that of {best}, {100 * errors[best]:.1f} %; the best local model errs by "
        f"{100 * local:.1f} % and the best global one by {100 * around:.1f} %: that local attention aligns better, as "
        f"in the paper, {'holds' if local < around else 'does not hold'} here."
    )


EXPERIMENT = Experiment(
    name="luong-table",
    shows="Luong's scores, global and local, beside Bahdanau and a Transformer: BLEU, unknown words, alignments",
    idea="kinds of attention",
    measure=measure,
    on_text=True,
)
