r"""Attention before it had the name: guess a value at $x$ from noisy points $(x_i, y_i)$, weighted by nearness.

$$f(x) = \sum_i \alpha(x, x_i) y_i, \qquad \alpha(x, x_i) = \begin{cases} 1/n & \text{average} \\
\text{softmax}_i\big(-(x - x_i)^2 / 2\sigma^2\big) & \text{Nadaraya-Watson} \end{cases}$$

The query is $x$, the keys are the $x_i$ and the values the $y_i$. The width $\sigma$ is 1, or learned from the points
alone: each is guessed from the others, and the squared error descended.

Reference: Nadaraya (1964); Watson (1964); Zhang et al., Dive into Deep Learning, section 11.2.
"""

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.experiments.drawing import dress, name_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings, fit
from regard.inspection.drawing.figures import draw_heatmap
from regard.inspection.drawing.panels import MUTED, PALETTE, panels
from regard.layers import AttentionPooling

NOISE = 0.5
REACH = 5.0


def truth(inputs: Tensor) -> Tensor:
    """Give the curve that the points scatter around."""
    return 2 * torch.sin(inputs) + inputs**0.8


def pool(pooling: AttentionPooling, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Guess the value at each query; give the weights too."""
    result = pooling(query[None, :, None], key[None, :, None], value[None, :, None])
    return result.pooled[0, :, 0], result.weights[0]


def learn_width(key: Tensor, value: Tensor, *, steps: int, settings: Settings) -> AttentionPooling:
    """Learn the width by guessing each point from the others."""
    pooling, others = AttentionPooling("kernel"), ~torch.eye(len(key), dtype=torch.bool)
    keys, values = (side.expand(len(key), -1).unsqueeze(-1) for side in (key, value))  # a row for each left out

    def loss() -> Tensor:
        guess = pooling(key[:, None, None], keys, values, mask=others).pooled[:, 0, 0]
        return nn.functional.mse_loss(guess, value)

    fit(pooling, loss, steps=steps, learning_rate=0.05, watch=lambda share: settings.watch(share, "learning the width"))
    return pooling


def measure(settings: Settings) -> Result:
    """Guess the curve by four poolings and compare with the truth."""
    num_points, steps = settings.choose(full=(50, 200), quick=(50, 60))
    key = torch.rand(num_points).sort().values * REACH
    value = truth(key) + NOISE * torch.randn(num_points)
    poolings = {
        "average": AttentionPooling("average"),
        "nearest point": AttentionPooling("one-hot"),
        "kernel, width 1": AttentionPooling("kernel"),
        "kernel, learned width": learn_width(key, value, steps=steps, settings=settings),
    }
    queries = torch.linspace(0, REACH, 101)
    rows: list[Row] = []
    guesses, weights = {}, {}
    with torch.no_grad():
        for name, pooling in poolings.items():
            guesses[name], weights[name] = pool(pooling, queries, key, value)
            effective = 1 / weights[name].square().sum(-1).mean()
            rows.append(
                {
                    "pooling": name,
                    "error": (guesses[name] - truth(queries)).square().mean().item(),
                    "points that count": effective.item(),
                    "width": _width(pooling),
                }
            )
    figure = _draw(queries, key, value, guesses, weights)
    return Result(tables={f"{num_points} points with noise {NOISE:g}": rows}, figure=figure, reading=_read(rows))


def _width(pooling: AttentionPooling) -> float | str:
    return pooling.log_bandwidth.exp().item() if pooling.kind == "kernel" else "–"


def _draw(inputs: Tensor, key: Tensor, value: Tensor, guesses: dict[str, Tensor], weights: dict[str, Tensor]) -> Figure:
    titles = ["guesses from noisy points", "weights, width 1", "weights, learned width"]
    figure, (left, *maps) = panels(1, 3, size=(4.3, 3.3), titles=titles, widths=[1.6, 1, 1])
    left.scatter(key.tolist(), value.tolist(), s=9, color=MUTED, alpha=0.6, linewidth=0)
    lines = [("truth", inputs.tolist(), truth(inputs).tolist())]
    lines += [(name, inputs.tolist(), guess.tolist()) for name, guess in guesses.items() if name != "nearest point"]
    colors = (MUTED, *PALETTE[1:3], PALETTE[0])
    for number, (_, across, up) in enumerate(lines):
        left.plot(across, up, color=colors[number], linewidth=1.8, linestyle="--" if number == 0 else "-")
    dress(left, xlabel="x", ylabel="y")
    name_lines(left, lines, colors=colors)
    for axes, name in zip(maps, ("kernel, width 1", "kernel, learned width"), strict=True):
        shown = weights[name][::4]
        draw_heatmap(axes, shown / shown.max(), numbers=False, sums=False)
        axes.set_aspect("auto")
        axes.set_xlabel("point, from left to right")
        axes.set_ylabel("x asked for")
        axes.set_yticks([0.5, shown.size(0) / 2, shown.size(0) - 0.5], ["0", f"{REACH / 2:g}", f"{REACH:g}"])
        axes.set_xticks([0.5, shown.size(1) - 0.5], ["1", str(shown.size(1))])
    return figure


def _read(rows: list[Row]) -> tuple[str, str, str]:
    error = {str(row["pooling"]): float(row["error"]) for row in rows}
    counted = {str(row["pooling"]): float(row["points that count"]) for row in rows}
    average, fixed, learned = error["average"], error["kernel, width 1"], error["kernel, learned width"]
    first = f"The average misses the curve by a mean square of {average:.2f}, weights by nearness by {fixed:.2f}"
    first += ": near points are better evidence." if fixed < average else ": near points are no better evidence here."
    width = float(rows[-1]["width"])
    second = f"The width learned from the points is {width:.2f}, and the error {learned:.3f}"
    second += ", lower than with width 1." if learned < fixed else ", no lower than with width 1."
    third = (
        f"A guess then rests on about {counted['kernel, learned width']:.1f} points instead of "
        f"{counted['kernel, width 1']:.1f}; one point alone, the nearest, errs by {error['nearest point']:.2f}"
    )
    third += ", since its noise is not averaged." if error["nearest point"] > learned else ", which is enough here."
    return first, second, third


EXPERIMENT = Experiment(
    name="kernel-regression",
    shows="noisy points pooled by average, by a Gaussian of nearness, and by one whose width is learned",
    idea="attention as pooling",
    measure=measure,
)
