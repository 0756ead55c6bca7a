r"""Why scores are divided by $\sqrt{d}$: dot products grow with the width, and a saturated softmax passes no gradient.

If the components of $q$ and $k$ are independent with mean 0 and variance 1, then
$q^\top k = \sum_{i=1}^d q_i k_i$ has variance $d$, and $q^\top k / \sqrt{d}$ has variance 1 at every width. The
derivative of the softmax is $\partial \alpha_i / \partial e_j = \alpha_i ([i = j] - \alpha_j)$: where one weight is
near one and the others near zero, all of it is near zero.

Reference: Vaswani et al. (2017), section 3.2.1 and footnote 4, arXiv:1706.03762.
"""

import torch
from matplotlib.figure import Figure

from regard.attention import Dot, ScaledDot, Score, attention
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.inspection.drawing.panels import panels

SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
NUM_KEYS = 32
SCORES: dict[str, Score] = {"scaled dot": ScaledDot(), "dot": Dot()}


def measure_scores(score: Score, *, size: int, num_queries: int) -> dict[str, float]:
    """Draw queries and keys of variance one and measure scores, weights and what gradient the softmax passes on."""
    query, key = torch.randn(num_queries, 1, size), torch.randn(num_queries, NUM_KEYS, size)
    scores = score.dense(query, key)
    weights = attention(query, key, score=score, return_weights=True).weights
    derivative = torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
    entropy = -(weights * weights.clamp_min(1e-30).log2()).sum(-1)
    return {
        "variance": scores.var().item(),
        "largest weight": weights.amax(-1).mean().item(),
        "entropy, bits": entropy.mean().item(),
        "softmax gradient": torch.linalg.matrix_norm(derivative).mean().item(),
    }


Results = dict[str, list[dict[str, float]]]


def measure(settings: Settings) -> Result:
    """Measure both scores at every width."""
    num_queries = settings.choose(full=1000, quick=200)
    result: Results = {name: [] for name in SCORES}
    for number, size in enumerate(SIZES):
        settings.watch(number / len(SIZES), f"width {size}")
        for name, score in SCORES.items():
            result[name].append(measure_scores(score, size=size, num_queries=num_queries))
    rows: list[Row] = [
        {"score": name, "width": size, **values}
        for name, all_values in result.items()
        for size, values in zip(SIZES, all_values, strict=True)
    ]
    return Result(tables={f"Random queries over {NUM_KEYS} keys": rows}, figure=_draw(result), reading=_read(result))


def _draw(results: Results) -> Figure:
    shown = {
        "variance": "variance of the scores",
        "largest weight": "largest of 32 weights",
        "softmax gradient": "norm of the softmax's derivative",
    }
    figure, axes = panels(1, 3, size=(3.9, 3.1), titles=list(shown.values()))
    for panel, what in zip(axes, shown, strict=True):
        lines = [(name, SIZES, [values[what] for values in all_values]) for name, all_values in results.items()]
        log, limits = ("xy", None) if what == "variance" else ("x", (0, None))
        draw_lines(panel, lines, xlabel="width of query and key", ylabel="", log=log, limits=limits)
        panel.set_xticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
    return figure


def _read(results: Results) -> tuple[str, str, str]:
    first, last = SIZES[0], SIZES[-1]
    plain, scaled = results["dot"], results["scaled dot"]
    ratio = plain[-1]["variance"] / last
    variance = (
        f"From width {first} to {last} the variance of dot products goes from {plain[0]['variance']:.1f} to "
        f"{plain[-1]['variance']:.0f}, {ratio:.2f} times the width; divided by its square root it stays between "
        f"{min(v['variance'] for v in scaled):.2f} and {max(v['variance'] for v in scaled):.2f}."
    )
    saturated = plain[-1]["largest weight"] > 0.9 and scaled[-1]["largest weight"] < 0.5
    weights = (
        f"At width {last} the largest of {NUM_KEYS} weights is {plain[-1]['largest weight']:.2f} on average without "
        f"the scale and {scaled[-1]['largest weight']:.2f} with it: "
    )
    weights += "the softmax has become a choice of one." if saturated else "neither softmax is saturated here."
    smaller = scaled[-1]["softmax gradient"] / plain[-1]["softmax gradient"]
    gradient = (
        f"The derivative of the softmax falls from {plain[0]['softmax gradient']:.2f} to "
        f"{plain[-1]['softmax gradient']:.3f} without the scale and stays at "
        f"{scaled[-1]['softmax gradient']:.2f} with it, "
    )
    gradient += (
        f"{smaller:.0f} times as much to learn from."
        if smaller > 1.5
        else "so that the scale makes no difference here."
    )
    return variance, weights, gradient


EXPERIMENT = Experiment(
    name="scaling",
    shows="variance of dot products against width, and how the softmax saturates without 1/sqrt(d)",
    idea="the scaled dot product",
    measure=measure,
)
