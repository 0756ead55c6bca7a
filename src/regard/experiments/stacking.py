r"""Why there is a feed-forward layer between attention layers: without it, a stack only averages again.

For given weights $A_1, A_2$ two attention layers are one, and so is any number of them:

$$A_2 (A_1 X V_1) V_2 = (A_2 A_1)\, X\, (V_1 V_2)$$

The only nonlinearity is the softmax inside the weights. So here a stack is trained with weights that the words decide
(softmax) and with weights that nothing decides (the plain average), each with nothing and with a feed-forward layer
between; every layer is added to its input. The task: each word has two bits, is odd if they differ, and every position
predicts whether odd words are the majority, so that a nonlinearity is needed before mixing. Then, untrained: how
different the words of a sentence still are after many layers, which fades if nothing is added to the average.

Reference: Vaswani et al. (2017), section 3.3, arXiv:1706.03762; Dong, Cordonnier and Loukas (2021), theorem 2.2,
arXiv:2103.03404, for the collapse.
"""

from itertools import product

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.attention import Mean, Softmax
from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings, fit
from regard.inspection.drawing.panels import panels
from regard.layers import FeedForward, MultiHeadAttention

SIZE, NUM_HEADS, LENGTH = 32, 4, 7
DEPTHS = (1, 2, 4)
COLLAPSE = (0, 1, 2, 4, 8, 16)
WEIGHTS = {"softmax": Softmax(), "average": Mean()}
BETWEEN = ("nothing", "feed-forward")


class Stack(nn.Module):
    """Layers of attention with or without a feed-forward layer after each, added to their input or not."""

    def __init__(self, depth: int, *, weights: str, between: str, added: bool = True) -> None:
        super().__init__()
        self.enter = nn.Linear(2, SIZE)
        attentions = [MultiHeadAttention(SIZE, NUM_HEADS, normalize=WEIGHTS[weights]) for _ in range(depth)]
        self.layers = nn.ModuleList()
        for attention in attentions:
            self.layers.append(attention)
            if between == "feed-forward":
                self.layers.append(FeedForward(SIZE, 2 * SIZE))
        self.leave = nn.Linear(SIZE, 1)
        self.added = added

    def states(self, states: Tensor) -> Tensor:
        """Run the layers."""
        for layer in self.layers:
            states = states + layer(states) if self.added else layer(states)
        return states

    def forward(self, bits: Tensor) -> Tensor:
        """Score the claim that odd words are the majority, at every position."""
        return self.leave(self.states(self.enter(bits))).squeeze(-1)  # type: ignore[no-any-return]


def draw_bits(batch_size: int) -> tuple[Tensor, Tensor]:
    """Draw two bits for each word, and say at each position whether odd words are the majority."""
    bits = torch.randint(2, (batch_size, LENGTH, 2)).float() * 2 - 1
    odd = bits[..., 0] * bits[..., 1] < 0
    majority = odd.double().mean(-1, keepdim=True) > 0.5
    return bits, majority.float().expand(-1, LENGTH)


def train_stack(stack: Stack, *, steps: int, settings: Settings, begun: float, doing: str) -> float:
    """Train on fresh words and give the share of right answers."""

    def loss() -> Tensor:
        bits, majority = draw_bits(64)
        return nn.functional.binary_cross_entropy_with_logits(stack(bits), majority)

    runs = len(DEPTHS) * 4
    fit(stack, loss, steps=steps, watch=lambda share: settings.watch(begun + share / runs, doing))
    with torch.no_grad():
        bits, majority = draw_bits(1000)
        return float(((stack(bits) > 0) == (majority > 0)).double().mean())


@torch.no_grad()
def difference(states: Tensor) -> float:
    """Measure how much of the words' vectors is not their common mean."""
    return float((states - states.mean(1, keepdim=True)).norm() / states.norm())


@torch.no_grad()
def fade(*, between: str, added: bool) -> list[float]:
    """Give the difference between words after each number of layers in COLLAPSE, untrained."""
    words = torch.randn(32, LENGTH, SIZE)
    stack = Stack(max(COLLAPSE), weights="softmax", between=between, added=added)
    per_layer = len(stack.layers) // max(COLLAPSE)
    result = []
    for depth in COLLAPSE:
        states = words
        for layer in stack.layers[: depth * per_layer]:
            states = states + layer(states) if added else layer(states)
            states = states / states.norm() * words.norm()  # so that nothing overflows; the ratio stays
        result.append(difference(states))
    return result


Learned = dict[tuple[str, str], dict[int, float]]
FADING = {
    "attention alone": ("nothing", False),
    "feed-forward between": ("feed-forward", False),
    "both, added to their input": ("feed-forward", True),
}


def measure(settings: Settings) -> Result:
    """Train stacks of each kind and depth, and watch untrained words fade."""
    steps, depths = settings.choose(full=(300, DEPTHS), quick=(80, DEPTHS[:2]))
    learned: Learned = {}
    for number, (weights, between) in enumerate(product(WEIGHTS, BETWEEN)):
        learned[weights, between] = {}
        for index, depth in enumerate(depths):
            stack = Stack(depth, weights=weights, between=between)
            begun = (number * len(depths) + index) / (4 * len(depths))
            doing = f"{weights}, {between} between, depth {depth}"
            learned[weights, between][depth] = train_stack(
                stack, steps=steps, settings=settings, begun=begun, doing=doing
            )
    faded = {name: fade(between=between, added=added) for name, (between, added) in FADING.items()}
    return Result(tables=_tables(learned, faded), figure=_draw(learned, faded), reading=_read(learned, faded))


def _tables(learned: Learned, faded: dict[str, list[float]]) -> dict[str, list[Row]]:
    trained: list[Row] = [
        {"weights": weights, "between layers": between}
        | {f"{depth} layer{'s' * (depth > 1)}": value for depth, value in result.items()}
        for (weights, between), result in learned.items()
    ]
    untrained: list[Row] = [
        {"layers": name} | {f"after {depth}": value for depth, value in zip(COLLAPSE, values, strict=True)}
        for name, values in faded.items()
    ]
    return {
        "Share of right answers, trained; guessing gives 0.5": trained,
        "How different the words still are, untrained": untrained,
    }


def _draw(learned: Learned, faded: dict[str, list[float]]) -> Figure:
    titles = ["is the majority odd? trained", "how different words still are, untrained"]
    figure, (left, right) = panels(1, 2, size=(5.1, 3.3), titles=titles)
    lines = [
        (f"{weights}, {between}", list(result), list(result.values())) for (weights, between), result in learned.items()
    ]
    draw_lines(left, lines, xlabel="attention layers", ylabel="share of right answers", limits=(0.45, 1))
    left.set_xticks(lines[0][1])
    curves = [(name, list(COLLAPSE), [max(value, 1e-8) for value in values]) for name, values in faded.items()]
    draw_lines(right, curves, xlabel="attention layers", ylabel="difference from their mean", log="y")
    return figure


def _read(learned: Learned, faded: dict[str, list[float]]) -> tuple[str, str, str]:
    depth = max(learned["average", "nothing"])
    plain, bent = learned["average", "nothing"][depth], learned["average", "feed-forward"][depth]
    first = (
        f"Where weights are fixed, {depth} layers with nothing between are right in {plain:.0%} of cases and with a "
    )
    first += f"feed-forward layer between in {bent:.0%}: " + (
        "the first are one linear layer, however many they are." if bent > plain + 0.15 else "no clear difference here."
    )
    alone, shallow = learned["softmax", "nothing"][depth], learned["softmax", "nothing"][1]
    second = (
        f"With softmax weights and nothing between, one layer is right in {shallow:.0%} and {depth} in {alone:.0%}: "
    )
    second += (
        "the softmax is a nonlinearity too, so for a task this small attention alone does learn it."
        if alone > 0.9
        else "the nonlinearity of the softmax is not enough."
    )
    pure, kept = faded["attention alone"], faded["both, added to their input"]
    third = (
        f"Untrained, {COLLAPSE[-1]} layers of attention alone leave {pure[-1]:.0e} of the difference between words, "
    )
    third += f"and with feed-forward layers and everything added to its input {kept[-1]:.2g}: "
    third += "averages of averages forget." if pure[-1] < 0.01 * kept[-1] else "no collapse to be seen."
    return first, second, third


EXPERIMENT = Experiment(
    name="stacking",
    shows="attention layers with and without a nonlinearity between them: what they learn, and how words fade",
    idea="the Transformer block",
    measure=measure,
)
