r"""How far back a gradient reaches: recurrent layers multiply it at every step, attention hands it over in one.

The state after $n$ words is $h_n = f(x_n, f(x_{n-1}, \dots))$. By the chain rule

$$\frac{\partial h_n}{\partial x_{n-k}} = \Big( \prod_{j=n-k+1}^{n} \frac{\partial h_j}{\partial h_{j-1}} \Big)
\frac{\partial h_{n-k}}{\partial x_{n-k}}$$

so that a factor below one vanishes with the distance $k$ and one above it explodes; gates are there to hold it near
one. How fast it does depends on how a layer starts. So all are started alike first, as torch starts them, every number
from $U(-1/\sqrt{d}, 1/\sqrt{d})$; and then as is usual for long texts, the RNN's matrix a rotation times a gain, the
gates that keep the state open. In attention, $c = \sum_j \alpha_j v_j$, every word is one step away. Clipping bounds an
exploding gradient's length and keeps its direction: $g \leftarrow g \cdot \min(1, c / \lVert g \rVert)$.

Reference: Bengio, Simard and Frasconi (1994); Pascanu, Mikolov and Bengio (2013), sections 2 and 3.2, arXiv:1211.5063;
Hochreiter and Schmidhuber (1997).
"""

import math
from copy import deepcopy
from typing import Literal

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.inspection.drawing.panels import PALETTE, panels
from regard.layers import MultiHeadAttention, RecurrentEncoder

SIZE = 32
LENGTH = 101
DISTANCES = (1, 5, 10, 20, 50, 100)
GAINS = (0.9, 2.0)
CLIP = 1.0
VANISHED = 1e-3
"""Share of a gradient at the farthest word, of what it is one word back, below which it counts as vanished."""
NEAR = 20
"""Words back at which the layers that start alike are compared."""
SMALL, LARGE = (f"RNN, gain {gain:g}" for gain in GAINS)
OPEN_GRU, OPEN_LSTM = "GRU, gate open", "LSTM, gate open"
ALIKE, CHOSEN = "torch's, alike", "chosen for each"


def _alike() -> dict[str, nn.Module]:
    """Make the layers as torch starts them, before training."""
    return {
        "attention": MultiHeadAttention(SIZE, 1),
        "RNN": RecurrentEncoder("rnn", SIZE, SIZE),
        "GRU": RecurrentEncoder("gru", SIZE, SIZE),
        "LSTM": RecurrentEncoder("lstm", SIZE, SIZE),
    }


def _chosen() -> dict[str, nn.Module]:
    """Make the recurrent layers with a start that is chosen for each."""
    return {SMALL: _rnn(GAINS[0]), LARGE: _rnn(GAINS[1]), OPEN_GRU: _gated("gru"), OPEN_LSTM: _gated("lstm")}


def _rnn(gain: float) -> RecurrentEncoder:
    """Make a plain recurrent layer whose recurrent matrix stretches every vector by `gain`."""
    layer = RecurrentEncoder("rnn", SIZE, SIZE)
    nn.init.orthogonal_(layer.recurrence.weight_hh_l0, gain=gain)
    for bias in (layer.recurrence.bias_ih_l0, layer.recurrence.bias_hh_l0):
        nn.init.zeros_(bias)
    return layer


def _gated(cell: Literal["gru", "lstm"]) -> RecurrentEncoder:
    """Make a gated layer with the gate that keeps the state open at first (Gers, Schmidhuber and Cummins, 2000)."""
    layer = RecurrentEncoder(cell, SIZE, SIZE)
    with torch.no_grad():
        for bias in (layer.recurrence.bias_ih_l0, layer.recurrence.bias_hh_l0):
            bias[SIZE : 2 * SIZE] = 1.0  # the LSTM's forget gate and the GRU's update gate both come second
    return layer


def _last_state(layer: nn.Module, words: Tensor) -> Tensor:
    """Give what the layer knows at the last word."""
    if isinstance(layer, RecurrentEncoder):
        return layer(words).memory[:, -1]  # type: ignore[no-any-return]
    return layer(words[:, -1:], layer.remember(words))[:, 0]  # type: ignore[no-any-return, operator]


def gradient_norms(layer: nn.Module, *, batch_size: int) -> list[float]:
    """Measure the gradient of a random direction of the last state at the word k back, for k = 0, 1, …"""
    words = (0.1 * torch.randn(batch_size, LENGTH, SIZE)).requires_grad_()  # small, so that tanh stays steep
    direction = nn.functional.normalize(torch.randn(batch_size, SIZE), dim=-1)
    [gradient] = torch.autograd.grad((_last_state(layer, words) * direction).sum(), words)
    return gradient.norm(dim=-1).mean(0).flip(0).tolist()  # type: ignore[no-any-return]


def per_step(norms: list[float]) -> float:
    """Give the factor by which the gradient changes with each step back, between distance 1 and 50."""
    return math.exp((math.log(max(norms[50], 1e-45)) - math.log(norms[1])) / 49)


def train_on_echo(
    layer: RecurrentEncoder, words: Tensor, *, clip: float | None, steps: int
) -> tuple[list[float], list[float]]:
    """Train a layer to say its first word at the end, by plain gradient descent; give losses and gradient norms."""
    losses, norms = [], []
    for _ in range(steps):
        loss = (_last_state(layer, words) - torch.tanh(words[:, 0])).square().mean()
        layer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(layer.parameters(), math.inf if clip is None else clip).item())
        with torch.no_grad():
            for parameter in layer.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=0.3)
        losses.append(loss.item())
    return losses, norms


def measure(settings: Settings) -> Result:
    """Measure gradients against distance, then train an exploding layer with and without clipping."""
    batch_size, steps = settings.choose(full=(64, 150), quick=(16, 120))
    norms: Norms = {ALIKE: {}, CHOSEN: {}}
    for number, (start, name, layer) in enumerate(
        (start, name, layer)
        for start, layers in ((ALIKE, _alike()), (CHOSEN, _chosen()))
        for name, layer in layers.items()
    ):
        settings.watch(number / 10, f"gradients of {name}")
        norms[start][name] = gradient_norms(layer, batch_size=batch_size)
    trained, exploding, words = {}, _rnn(GAINS[1]), torch.randn(16, 40, SIZE)
    for number, (name, clip) in enumerate((("without clipping", None), (f"clipped at {CLIP:g}", CLIP))):
        settings.watch((8 + number) / 10, f"training {name}")
        trained[name] = train_on_echo(deepcopy(exploding), words, clip=clip, steps=steps)
    return Result(tables=_tables(norms, trained), figure=_draw(norms, trained), reading=_read(norms, trained))


Norms = dict[str, dict[str, list[float]]]
"""By start and layer, the gradient's norm at each distance."""
Trained = dict[str, tuple[list[float], list[float]]]


def _tables(norms: Norms, trained: Trained) -> dict[str, list[Row]]:
    gradients: list[Row] = [
        {"start": start, "layer": name}
        | {f"distance {distance}": values[distance] for distance in DISTANCES}
        | {"factor per step": per_step(values)}
        for start, layers in norms.items()
        for name, values in layers.items()
    ]
    training: list[Row] = [
        {
            LARGE: name,
            "largest gradient": max(result),
            "first loss": losses[0],
            "lowest loss": min(losses),
            "last loss": losses[-1],
        }
        for name, (losses, result) in trained.items()
    ]
    return {"Gradient of the last state at a word so far back": gradients, "Training the exploding one": training}


def _draw(norms: Norms, trained: Trained) -> Figure:
    titles = ["gradients, all started alike", "gradients, each start chosen", "learning where gradients explode"]
    figure, (left, middle, right) = panels(1, 3, size=(4.2, 3.4), titles=titles)
    for axes, start, colors in ((left, ALIKE, PALETTE), (middle, CHOSEN, [PALETTE[1], PALETTE[4], *PALETTE[2:4]])):
        farthest = 2 * NEAR if start == ALIKE else DISTANCES[-1]
        lines = [
            (name, list(range(1, farthest + 1)), [max(value, 1e-12) for value in result[1 : farthest + 1]])
            for name, result in norms[start].items()
        ]
        draw_lines(axes, lines, xlabel="words back", ylabel="gradient norm", log="y", colors=colors, markers=False)
    curves = [(name, list(range(len(losses))), losses) for name, (losses, _) in trained.items()]
    draw_lines(right, curves, xlabel="step of gradient descent", ylabel="loss", markers=False, limits=(0, None))
    return figure


def kept(norms: dict[str, list[float]], distance: int = DISTANCES[-1]) -> dict[str, float]:
    """Give what is left of each gradient so far back, as a share of what it is one word back."""
    return {name: result[distance] / result[1] for name, result in norms.items()}


def _read(norms: Norms, trained: Trained) -> tuple[str, str, str]:
    far, result = kept(norms[CHOSEN]), kept(norms[ALIKE], NEAR)
    plain = f"Started alike, {NEAR} words back there is {result['RNN']:.1e} of the RNN's gradient one word back, "
    plain += f"{result['GRU']:.1e} of the GRU's, {result['LSTM']:.1e} of the LSTM's and {result['attention']:.1g} of "
    plain += "attention's: "
    plain += (
        "gates keep more of it, attention most."
        if result["RNN"]
        < min(result["GRU"], result["LSTM"])
        <= max(result["GRU"], result["LSTM"])
        < result["attention"]
        else "which is not the order of the lecture."
    )
    named = {"the RNN": far[SMALL], "the GRU": far[OPEN_GRU], "the LSTM": far[OPEN_LSTM]}
    return plain, judge(named | {"attention": kept(norms[ALIKE])["attention"]}), _read_clipping(trained)


def judge(left: dict[str, float]) -> str:
    """Describe what is left of each gradient, which of them have vanished, and whether attention keeps most."""
    gone = [f"{name}'s" for name, share in left.items() if share < VANISHED]
    stayed = [f"{name}'s" for name, share in left.items() if share >= VANISHED]
    shares = _list([f"{share:.1g} of {name}'s" for name, share in left.items()])
    verdicts = [f"{_list(names)} {did}" for names, did in ((gone, "vanished"), (stayed, "did not")) if names]
    text = f"With a start chosen for each, what is left over {DISTANCES[-1]} words is {shares}; "
    text += f"taking less than {VANISHED:g} for none, {_list(verdicts)}: "
    if max(left, key=left.__getitem__) == "attention" and left["attention"] >= VANISHED:
        return text + "attention keeps most, since every word is one step away."
    return text + "which is not what the lecture says of attention."


def _list(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _read_clipping(trained: Trained) -> str:
    (without, result), (clipped, _) = trained.values()
    text = f"With a gain of {GAINS[1]:g} gradients grow to a norm of {max(result):.3g}; "
    text += f"without clipping the loss goes from {without[0]:.2f} to {without[-1]:.2f}, clipped at {CLIP:g} to "
    text += f"{clipped[-1]:.2f}" + (
        ": the direction was right, the step too long."
        if clipped[-1] < without[-1]
        else ": clipping did not help here."
    )
    return text


EXPERIMENT = Experiment(
    name="vanishing-gradients",
    shows="how a gradient fades or explodes with distance in RNN, GRU and LSTM, and does neither in attention",
    idea="why attention",
    measure=measure,
)
