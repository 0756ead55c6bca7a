r"""How many steps must wait for one another: recurrent, convolutional and attention layers over $n$ words of width $d$.

| layer | steps one after the other | path between first and last word | multiply-adds |
| --- | --- | --- | --- |
| recurrent | $n$ | $n$ | $2nd^2$ |
| convolution, kernel $k$ | 1 | $2(n-1)/(k-1)$ layers; dilated, about $\log_k n$ | $knd^2$ |
| attention | 1 | 1 | $4nd^2 + 2n^2d$ |

In the figure every cell of three layers unrolled over eight words carries the number of the earliest step at which it
can be computed, given that a cell waits for those it reads. Path: how many cells a word passes on its way to the other
end. Multiply-adds count the maps of query, key, value and output too, which the paper leaves out.

Reference: Vaswani et al. (2017), table 1 and section 4, arXiv:1706.03762; Gehring et al. (2017), arXiv:1705.03122.
"""

import time
from typing import Literal, get_args

import torch
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.inspection.drawing.figures import WEIGHTS
from regard.inspection.drawing.panels import INK, MUTED, panels
from regard.layers import MultiHeadAttention, RecurrentEncoder

Kind = Literal["attention", "recurrent", "convolution", "dilated convolution"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KERNEL = 3
SIZE = 64


def cells_read(kind: Kind, layer: int, place: int, length: int) -> list[tuple[int, int]]:
    """Name the cells that cell (layer, position) reads; layer 0 are the words.

    >>> cells_read("recurrent", 1, 3, length=8)
    [(0, 3), (1, 2)]
    """
    if kind == "recurrent":
        return [(layer - 1, place)] + [(layer, place - 1)] * (place > 0)
    if kind == "attention":
        return [(layer - 1, other) for other in range(length)]
    step = KERNEL ** (layer - 1) if kind == "dilated convolution" else 1
    reach = range(-(KERNEL // 2) * step, KERNEL // 2 * step + 1, step)
    return [(layer - 1, place + offset) for offset in reach if 0 <= place + offset < length]


def earliest_steps(kind: Kind, *, length: int, num_layers: int) -> list[list[int]]:
    """Give for each cell, layer by layer, the earliest step at which it can be computed; words are there at step 0.

    >>> earliest_steps("recurrent", length=4, num_layers=2)
    [[1, 2, 3, 4], [2, 3, 4, 5]]
    >>> earliest_steps("attention", length=4, num_layers=2)
    [[1, 1, 1, 1], [2, 2, 2, 2]]
    """
    steps = [[0] * length]
    for layer in range(1, num_layers + 1):
        steps.append([0] * length)
        for index in range(length):
            steps[layer][index] = 1 + max(
                steps[above][other] for above, other in cells_read(kind, layer, index, length)
            )
    return steps[1:]


def path_length(kind: Kind, length: int) -> int:
    """Count the cells that the first word passes on its way to a cell above the last, in as many layers as needed.

    >>> [path_length(kind, 100) for kind in KINDS]
    [1, 100, 99, 5]
    """
    if kind == "recurrent":
        return length
    if kind == "attention":
        return 1
    layers = reach = 0
    while reach < length - 1:
        reach += KERNEL // 2 * (KERNEL**layers if kind == "dilated convolution" else 1)
        layers += 1
    return layers


def multiply_adds(kind: Kind, length: int, size: int) -> int:
    """Count the multiplications of one layer."""
    match kind:
        case "recurrent":
            return 2 * length * size**2
        case "attention":
            return 4 * length * size**2 + 2 * length**2 * size
        case _:
            return KERNEL * length * size**2


class _Convolution(nn.Module):
    """A convolution over words, with as many out as in."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(SIZE, SIZE, KERNEL, padding=dilation * (KERNEL // 2), dilation=dilation)

    def forward(self, words: Tensor) -> Tensor:
        """Mix neighbors."""
        return self.convolution(words.mT).mT  # type: ignore[no-any-return]


def _layer(kind: Kind) -> nn.Module:
    match kind:
        case "recurrent":
            return RecurrentEncoder("rnn", SIZE, SIZE)
        case "attention":
            return MultiHeadAttention(SIZE, 1)
        case "convolution":
            return _Convolution(1)
        case "dilated convolution":
            return _Convolution(KERNEL)


@torch.no_grad()
def milliseconds(kind: Kind, length: int, *, rounds: int) -> float:
    """Time one layer on one sequence: the fastest of some rounds, which other work disturbs least."""
    layer, words, taken = _layer(kind).eval(), torch.randn(1, length, SIZE), []
    for _ in range(rounds + 2):
        begun = time.perf_counter()
        layer(words)
        taken.append(1000 * (time.perf_counter() - begun))
    return min(taken[2:])


Timed = dict[Kind, dict[int, float]]


def measure(settings: Settings) -> Result:
    """Count and time each layer at each length."""
    lengths, rounds = settings.choose(full=((32, 128, 512, 2048), 15), quick=((32, 128, 512), 5))
    timed: Timed = {kind: {} for kind in KINDS}
    for number, kind in enumerate(KINDS):
        for length in lengths:
            settings.watch(number / len(KINDS), f"timing {kind}, {length} words")
            timed[kind][length] = milliseconds(kind, length, rounds=rounds)
    rows: list[Row] = [
        {
            "layer": kind,
            "words": length,
            "steps in a row": earliest_steps(kind, length=length, num_layers=1)[0][-1],
            "path": path_length(kind, length),
            "multiply-adds": multiply_adds(kind, length, SIZE),
            "milliseconds": timed[kind][length],
        }
        for kind in KINDS
        for length in lengths
    ]
    title = f"One layer {SIZE} wide, kernel {KERNEL}, one sequence, {torch.get_num_threads()} thread(s)"
    return Result(tables={title: rows}, figure=_draw(timed), reading=_read(timed))


def _draw(timed: Timed) -> Figure:
    titles = [f"{kind}: earliest step" for kind in KINDS[:3]]
    titles += ["path between the ends", "multiply-adds", "milliseconds, measured"]
    figure, axes = panels(2, 3, size=(4.1, 2.6), titles=titles)
    for panel, kind in zip(axes[:3], KINDS[:3], strict=True):
        _draw_grid(panel, earliest_steps(kind, length=8, num_layers=3))
    lengths = list(timed["attention"])
    for panel, values in zip(
        axes[3:],
        (
            {kind: [float(path_length(kind, length)) for length in lengths] for kind in KINDS},
            {kind: [float(multiply_adds(kind, length, SIZE)) for length in lengths] for kind in KINDS[:3]},
            {kind: [timed[kind][length] for length in lengths] for kind in KINDS[:3]},
        ),
        strict=True,
    ):
        lines = [(name.removesuffix(" convolution"), lengths, result) for name, result in values.items()]
        draw_lines(panel, lines, xlabel="words", ylabel="", log="xy")
        panel.set_xticks(lengths, [str(length) for length in lengths])
    return figure


def _draw_grid(axes: Axes, steps: list[list[int]]) -> None:
    """Draw cells with their numbers, the first layer at the bottom and the words below it."""
    axes.pcolormesh(steps, cmap=WEIGHTS, norm=LogNorm(0.7, 60), edgecolors="white", linewidth=1.5)
    for layer, row in enumerate(steps):
        for index, step in enumerate(row):
            axes.text(index + 0.5, layer + 0.5, str(step), ha="center", va="center", fontsize=10, color=INK)
    axes.set_yticks([layer + 0.5 for layer in range(len(steps))], [f"layer {layer + 1}" for layer in range(len(steps))])
    axes.set_xticks([index + 0.5 for index in range(len(steps[0]))], [str(index + 1) for index in range(len(steps[0]))])
    axes.set_xlabel("word", color=MUTED, fontsize=9)
    axes.spines[["left", "bottom"]].set_visible(False)


def _read(timed: Timed) -> tuple[str, str, str]:
    first, *_, last = timed["attention"]
    steps = {kind: earliest_steps(kind, length=last, num_layers=1)[0][-1] for kind in KINDS}
    waits = (
        f"Over {last} words one recurrent layer takes {steps['recurrent']} steps that wait for one another, a "
        f"convolution {steps['convolution']} and attention {steps['attention']}."
    )
    path = (
        f"From the first word to the last it is {path_length('recurrent', last)} cells through the recurrent layer, "
        f"{path_length('convolution', last)} layers of convolution with kernel {KERNEL}, "
        f"{path_length('dilated convolution', last)} if dilated, and {path_length('attention', last)} of attention."
    )
    pays = multiply_adds("attention", last, SIZE) / multiply_adds("recurrent", last, SIZE)
    faster = {length: timed["recurrent"][length] / timed["attention"][length] for length in (first, last)}

    def describe(ratio: float) -> str:
        return f"{ratio:.1f} times as fast" if ratio >= 1 else f"{1 / ratio:.1f} times as slow"

    price = (
        f"The price is {pays:.0f} times the recurrent layer's multiply-adds at {last} words; here attention was "
        f"{describe(faster[first])} at {first} words and {describe(faster[last])} at {last}"
    )
    price += ", so its square has overtaken the waiting." if faster[last] < 1 else ", so not waiting still pays."
    return waits, path, price


EXPERIMENT = Experiment(
    name="sequential-operations",
    shows="steps that wait for one another, path between two words, multiply-adds and time of three kinds of layer",
    idea="why self-attention",
    measure=measure,
)
