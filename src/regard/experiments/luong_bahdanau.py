r"""Luong's attention against Bahdanau's: what a comparison costs, and what a translator learns with it in how long.

Bahdanau compares every state with every source word through a layer of its own, Luong by a product:

$$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j) \qquad \text{against} \qquad e_{ij} = s_i^\top h_j \quad \text{or} \quad
s_i^\top W h_j$$

The product is cheaper, since no hidden layer is made for each pair of words. The translators differ in more than that,
as they do in the papers: Bahdanau's reads by a GRU in both directions, Luong's by an LSTM backward, and feeds what it
attended to into its next step.

Reference: Bahdanau, Cho and Bengio (2015), section A.1.2, arXiv:1409.0473; Luong, Pham and Manning (2015), sections
3.1, 3.3 and 4, arXiv:1508.04025.
"""

import time

import torch
from matplotlib.figure import Figure
from torch import nn

from regard.data.builtin import corpus
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.experiments.translators import (
    CORPUS,
    Trained,
    bleu,
    draw_pairs,
    learn_words,
    smoothed,
    telling,
    time_steps,
    train_preset,
)
from regard.inspection.drawing.panels import panels
from regard.layers import AdditiveAttention, LuongAttention

SIZE = 128
BAHDANAU, DOT, GENERAL = "bahdanau", "luong-dot", "luong-general"


def _layers() -> dict[str, nn.Module]:
    return {
        BAHDANAU: AdditiveAttention(SIZE, SIZE, SIZE),
        DOT: LuongAttention(SIZE, SIZE, score="dot"),
        GENERAL: LuongAttention(SIZE, SIZE, score="general"),
    }


@torch.no_grad()
def milliseconds(layer: nn.Module, length: int, *, times: int) -> float:
    """Measure how long 20 queries of 8 sentences take over so many source words, at best."""
    query, memory = torch.randn(8, 20, SIZE), torch.randn(8, length, SIZE)
    remembered, measured = layer.remember(memory), []  # type: ignore[operator]
    for _ in range(times):
        begun = time.perf_counter()
        layer(query, remembered)
        measured.append(time.perf_counter() - begun)
    return 1000 * min(measured)


def measure(settings: Settings) -> Result:
    """Time the comparison alone, then train three translators for as many steps."""
    lengths, times = settings.choose(full=((10, 30, 100, 300), 15), quick=((10, 30), 3))
    size, steps, tested = settings.choose(full=(4_000, 350, 100), quick=(40, 4, 4))
    alone = {name: {n: milliseconds(layer, n, times=times) for n in lengths} for name, layer in _layers().items()}
    pairs, trained = draw_pairs(size, seed=settings.seed), dict[str, Trained]()
    tokenizers = learn_words(pairs)
    for number, name in enumerate(alone):
        trained[name] = train_preset(
            name,
            pairs,
            tokenizers=tokenizers,
            steps=steps,
            watch=telling(settings, f"training {name}", number / 3.2, 1 / 3.2),
        )
    steps_alone = time_steps(trained, pairs[:400], rounds=times)
    test = corpus(CORPUS, split="test", size=tested, seed=settings.seed)
    rows: list[Row] = [
        {
            "model": name,
            "milliseconds a step": steps_alone[name],
            "seconds": result.seconds,
            "loss": smoothed(result.losses)[-1],
            "BLEU": bleu(result.translator, test),
        }
        for name, result in trained.items()
    ]
    times_alone: list[Row] = [
        {"score of": name} | {f"{n} words": t for n, t in by.items()} for name, by in alone.items()
    ]
    return Result(
        tables={f"Translators after {steps} steps": rows, "Milliseconds of attention alone": times_alone},
        figure=_draw(alone, trained),
        reading=_read(alone, rows),
    )


def _draw(alone: dict[str, dict[int, float]], trained: dict[str, Trained]) -> Figure:
    figure, (left, right) = panels(1, 2, size=(4.7, 3.3), titles=["attention alone", "training a translator"])
    lines = [(name, list(by), list(by.values())) for name, by in alone.items()]
    draw_lines(left, lines, xlabel="source words", ylabel="milliseconds", log="xy")
    curves = [(name, result.ended, smoothed(result.losses)) for name, result in trained.items()]
    draw_lines(right, curves, xlabel="seconds", ylabel="loss per token", markers=False)
    return figure


def _read(alone: dict[str, dict[int, float]], rows: list[Row]) -> tuple[str, str, str]:
    longest = max(alone[DOT])
    ratio = alone[BAHDANAU][longest] / alone[GENERAL][longest]
    first = (
        f"Over {longest} source words Bahdanau's comparison takes {alone[BAHDANAU][longest]:.3g} ms, Luong's product "
    )
    first += f"{alone[DOT][longest]:.2g} and with a matrix {alone[GENERAL][longest]:.2g}: "
    first += f"{ratio:.0f} times as long." if ratio > 1 else "no longer than a product."
    measured = {str(row["model"]): row for row in rows}
    second = (
        "A step of training the whole translator takes " + _list(measured, "milliseconds a step", "{:.0f} ms") + ": "
    )
    second += (
        "at sentences of up to 20 words the comparison is a small part of it."
        if float(measured[BAHDANAU]["milliseconds a step"]) < 1.3 * float(measured[GENERAL]["milliseconds a step"])
        else "the comparison shows."
    )
    best = max(measured, key=lambda name: float(measured[name]["BLEU"]))
    third = f"After as many steps they reach {_list(measured, 'BLEU', '{:.0f} BLEU')}; "
    third += f"{best} is best in this run, of one seed."
    return first, second, third


def _list(measured: dict[str, Row], column: str, form: str) -> str:
    texts = [f"{form.format(float(row[column]))} ({name})" for name, row in measured.items()]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


EXPERIMENT = Experiment(
    name="luong-bahdanau",
    shows="what Luong's and Bahdanau's comparisons cost, and what translators learn with them in how long",
    idea="kinds of attention",
    measure=measure,
)
