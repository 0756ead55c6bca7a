r"""How a source word is reached by the gradient of a target word: through all states between, or through attention.

Before training, a decoder with a fixed vector knows source word $x_j$ only through the encoder's last state $h_n$,

$$\frac{\partial s_i}{\partial x_j} = \frac{\partial s_i}{\partial h_n}
\Big( \prod_{k=j+1}^{n} \frac{\partial h_k}{\partial h_{k-1}} \Big) \frac{\partial h_j}{\partial x_j}, \qquad
\text{with attention besides} \quad \frac{\partial c_i}{\partial h_j} = \alpha_{ij} I + \dots$$

where $c_i = \sum_j \alpha_{ij} h_j$: one step from the decoder to every source word, whatever the length. Both decoders
read the same forward GRU, so that neither has a second way back.

Reference: Bahdanau, Cho and Bengio (2015), sections 2.1 and 3.1, arXiv:1409.0473; Luong, Pham and Manning (2015),
section 3, arXiv:1508.04025, for the forward encoder.
"""

import torch
from matplotlib.figure import Figure
from torch import Tensor

from regard.config.attention import AdditiveSpec, FixedVectorSpec
from regard.config.model import RecurrentSpec
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.inspection.drawing.panels import panels
from regard.models.sequence.build import Model, build_model

SIZE = 32
VOCABULARY = 50
FIXED, ATTENTION = "fixed vector", "attention"
SPECS = {
    ATTENTION: RecurrentSpec(
        direction="forward", embedding_size=SIZE, hidden_size=SIZE, attention=AdditiveSpec(), wiring="previous"
    ),
    FIXED: RecurrentSpec(direction="forward", embedding_size=SIZE, hidden_size=SIZE, attention=FixedVectorSpec()),
}


def source_gradients(model: Model, source: Tensor, target: Tensor) -> Tensor:
    """Measure the gradient of each target word's log-probability at each source word's embedding, (target, source)."""
    caught: list[Tensor] = []

    def catch(_: object, __: object, output: Tensor) -> Tensor:
        caught.append(output.detach().requires_grad_())
        return caught[0]

    handle = model.source.register_forward_hook(catch)
    try:
        logits = model(source, torch.full((len(source),), source.size(1)), target)
    finally:
        handle.remove()
    chosen = logits.log_softmax(-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    rows = [torch.autograd.grad(chosen[:, step].sum(), caught, retain_graph=True)[0] for step in range(target.size(1))]
    norms: Tensor = torch.stack(rows).norm(dim=-1).mean(1)
    return norms


Gradients = dict[str, dict[int, Tensor]]
"""By model, then by the words of the source: gradients, (target, source)."""


def measure(settings: Settings) -> Result:
    """Build both models untrained, and measure gradients for sources of several lengths."""
    lengths, batch = settings.choose(full=((10, 20, 40), 64), quick=((5, 10, 20), 8))
    measured: Gradients = {name: {} for name in SPECS}
    for number, (name, spec) in enumerate(SPECS.items()):
        model = build_model(spec, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
        for length in lengths:
            settings.watch(number / 2, f"gradients of {name}, {length} words")
            source, target = (torch.randint(4, VOCABULARY, (batch, count)) for count in (length, length))
            measured[name][length] = source_gradients(model, source, target)
    return Result(
        tables={"Gradient of a target word at a source word": _rows(measured)},
        figure=_draw(measured),
        reading=_read(measured),
    )


def first_to_last(gradients: Tensor) -> float:
    """Give the gradient at the first source word as a share of that at the last, for the first target word."""
    return float(gradients[0, 0] / gradients[0, -1])


def _rows(measured: Gradients) -> list[Row]:
    return [
        {
            "model": name,
            "source words": length,
            "first word, first step": float(gradients[0, 0]),
            "last word, first step": float(gradients[0, -1]),
            "first / last": first_to_last(gradients),
            "first word, last step": float(gradients[-1, 0]),
        }
        for name, by_length in measured.items()
        for length, gradients in by_length.items()
    ]


def _draw(measured: Gradients) -> Figure:
    longest = max(measured[FIXED])
    titles = [f"first target word, {longest} source words", "first source word, by target word"]
    figure, (left, right) = panels(1, 2, size=(4.7, 3.3), titles=titles)
    positions = list(range(1, longest + 1))
    first = [(name, positions, by_length[longest][0].tolist()) for name, by_length in measured.items()]
    later = [(name, positions, by_length[longest][:, 0].tolist()) for name, by_length in measured.items()]
    draw_lines(left, first, xlabel="source word", ylabel="gradient norm", log="y", markers=False)
    draw_lines(right, later, xlabel="target word", ylabel="gradient norm", log="y", markers=False)
    return figure


def _read(measured: Gradients) -> tuple[str, str, str]:
    longest, shortest = max(measured[FIXED]), min(measured[FIXED])
    shares = {name: first_to_last(by_length[longest]) for name, by_length in measured.items()}
    first = f"When the first target word is predicted after {longest} source words, "
    first += "the gradient at the first source word is "
    first += (
        f"{shares[FIXED]:.1g} of that at the last through a fixed vector and {shares[ATTENTION]:.2g} with attention."
    )
    ends = {
        name: [float(by_length[count][-1, 0]) for count in (shortest, longest)] for name, by_length in measured.items()
    }
    second = (
        f"From the last target word back to the first source word it falls from {ends[FIXED][0]:.0e} at {shortest} "
    )
    second += (
        f"words to {ends[FIXED][1]:.0e} at {longest} through the fixed vector, and from {ends[ATTENTION][0]:.0e} to "
    )
    second += f"{ends[ATTENTION][1]:.0e} with attention."
    ratio = ends[ATTENTION][1] / max(ends[FIXED][1], 1e-45)
    third = f"There attention's gradient is {ratio:,.0f} times as large: "
    third += (
        "one step leads from every target word to every source word, and learning can begin there."
        if ratio > 10
        else "at this length the way through the states is still open."
    )
    return first, second, third


EXPERIMENT = Experiment(
    name="gradient-to-source",
    shows="the gradient from a decoder step to each source word, through a fixed vector and through attention",
    idea="why attention",
    measure=measure,
)
