r"""Why queries and keys are learned: the word that matters need not be like the one that asks.

Parameter-free self-attention, $Y = \text{softmax}(X X^\top) X$, weighs by likeness. Here every word has a partner in
the sentence and carries a number; each is to say its partner's. A word's vector is its meaning $\pm u_k$ beside its
number. In one task partners are alike, $(u_k, u_k)$; in the other they are opposite, $(u_k, -u_k)$, and the likeness
that weighed the partner most now weighs it least. With $Q = X W^Q$ and $K = X W^K$ the layer can learn
$W^Q W^{K\top} \approx -c I$.

All models have the same linear readout, trained; no word attends to itself.

Reference: Vaswani et al. (2017), section 3.2, arXiv:1706.03762; Cheng, Dong and Lapata (2016), arXiv:1601.06733.
"""

from itertools import product
from typing import Literal

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.attention import Attended
from regard.experiments.drawing import draw_bars
from regard.experiments.experiment import Experiment, Result, Row, Settings, fit
from regard.inspection.drawing.figures import draw_heatmap
from regard.inspection.drawing.panels import MUTED, PALETTE, panels
from regard.layers import SelfAttention

Task = Literal["alike", "opposite"]
MEANING = 16
NUM_NUMBERS = 8
NUM_PAIRS = 4
STRENGTH = 3.0
"""How long the vector of a meaning is; its square is the score of two words alike."""


def draw_sentences(task: Task, batch_size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw words (batch, position, size), the numbers they carry and the position of each one's partner."""
    meanings = STRENGTH * nn.functional.normalize(torch.randn(batch_size, NUM_PAIRS, MEANING), dim=-1)
    sign = 1 if task == "alike" else -1
    words = torch.cat([meanings, sign * meanings], dim=1)
    numbers = torch.randint(NUM_NUMBERS, (batch_size, 2 * NUM_PAIRS))
    words = torch.cat([words, nn.functional.one_hot(numbers, NUM_NUMBERS).float()], dim=-1)
    order = torch.rand(batch_size, 2 * NUM_PAIRS).argsort(-1)
    index = order.argsort(-1)  # where each went
    partner = index.roll(NUM_PAIRS, -1).gather(1, order)
    return words.take_along_dim(order[..., None], 1), numbers.gather(1, order), partner


class Sayer(nn.Module):
    """One layer of self-attention, then a linear readout."""

    def __init__(self, *, learned: bool) -> None:
        super().__init__()
        size = MEANING + NUM_NUMBERS
        self.attention = SelfAttention(size if learned else None)
        self.readout = nn.Linear(size, NUM_NUMBERS)

    def attend(self, words: Tensor) -> Attended:
        """Let every word attend to the others, not to itself."""
        others = ~torch.eye(words.size(1), dtype=torch.bool)
        attended = self.attention(words, mask=others, return_weights=True)
        assert isinstance(attended, Attended)
        return attended

    def forward(self, words: Tensor) -> Tensor:
        """Score each number as the partner's."""
        return self.readout(self.attend(words).context)  # type: ignore[no-any-return]


def train_sayer(task: Task, *, learned: bool, steps: int, settings: Settings, begun: float) -> Sayer:
    """Train on fresh sentences."""
    model = Sayer(learned=learned)

    def loss() -> Tensor:
        words, numbers, partner = draw_sentences(task, 64)
        return nn.functional.cross_entropy(model(words).flatten(0, 1), numbers.gather(1, partner).flatten())

    doing = f"{task}, {'learned' if learned else 'parameter-free'}"
    fit(model, loss, steps=steps, learning_rate=1e-2, watch=lambda share: settings.watch(begun + share / 4, doing))
    return model


@torch.no_grad()
def score_sayer(model: Sayer, task: Task) -> tuple[float, float]:
    """Give the share of right answers, and the mean weight on the partner."""
    words, numbers, partner = draw_sentences(task, 1000)
    right = model(words).argmax(-1) == numbers.gather(1, partner)
    weights = model.attend(words).weights
    return right.double().mean().item(), weights.gather(-1, partner[..., None]).mean().item()


MODELS = ("parameter-free", "query, key, value")


def measure(settings: Settings) -> Result:
    """Train both models on both tasks."""
    steps = settings.choose(full=800, quick=100)
    rows: list[Row] = []
    opposite = {}
    tasks: tuple[Task, ...] = ("alike", "opposite")
    for number, (task, name) in enumerate(product(tasks, MODELS)):
        model = train_sayer(task, learned=name != MODELS[0], steps=steps, settings=settings, begun=number / 4)
        right, weight = score_sayer(model, task)
        rows.append({"partner is": task, "attention": name, "right": right, "weight on partner": weight})
        if task == "opposite":
            opposite[name] = model
    title = f"{2 * NUM_PAIRS} words; chance is {1 / NUM_NUMBERS:g} right, and a weight of {1 / (2 * NUM_PAIRS - 1):.3f}"
    return Result(tables={title: rows}, figure=_draw(rows, opposite), reading=_read(rows))


@torch.no_grad()
def _draw(rows: list[Row], opposite: dict[str, Sayer]) -> Figure:
    titles = ["share of right answers", *(f"opposite: {name}" for name in opposite)]
    figure, (left, *maps) = panels(1, 3, size=(4.0, 3.4), titles=titles)
    names = [f"{row['partner is']},\n{row['attention']}" for row in rows]
    draw_bars(left, names, _column(rows, "right"), xlabel="right", colors=PALETTE[1::-1])
    left.axvline(1 / NUM_NUMBERS, color=MUTED, linewidth=0.8, linestyle=":")
    left.set_xlim(0, 1.12)
    words, _, partner = draw_sentences("opposite", 1)
    labels = _names(partner[0])
    for axes, model in zip(maps, opposite.values(), strict=True):
        draw_heatmap(
            axes, model.attend(words).weights[0], query_labels=labels, key_labels=labels, numbers=False, sums=False
        )
        axes.set_xlabel("attends to")
        axes.set_ylabel("word")
    return figure


def _names(partner: Tensor) -> list[str]:
    """Name each word by its pair: +a and −a belong together."""
    names: dict[int, str] = {}
    for index, other in enumerate(partner.tolist()):
        if index not in names:
            letter = "abcdefgh"[len(names) // 2]
            names[index], names[other] = f"+{letter}", f"−{letter}"
    return [names[index] for index in range(len(names))]


def _column(rows: list[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def _read(rows: list[Row]) -> tuple[str, str, str]:
    (alike_free, alike_learned, free, learned), chance = _column(rows, "right"), 1 / NUM_NUMBERS
    _, _, weight, learned_weight = _column(rows, "weight on partner")
    first = (
        f"Where partners are alike, parameter-free attention is right in {alike_free:.1%} of cases and learned "
        f"attention in {alike_learned:.1%}: "
        + ("likeness is enough." if alike_free > 0.8 else "likeness alone is not enough.")
    )
    second = (
        f"Where they are opposite, parameter-free attention is right in {free:.1%}, where guessing gives {chance:.1%}"
    )
    second += f", and puts a weight of {weight:.1g} on the partner: " + (
        "it must fail, since similarity points away from the partner."
        if weight < 0.05 and free < 0.5
        else "it does not fail as it should."
    )
    third = (
        f"Learned queries and keys are right in {learned:.1%}, with a weight of {learned_weight:.2f} on the partner: "
    )
    third += (
        "what belongs together is learned, not given." if learned > free + 0.3 else "here they have not learned it."
    )
    return first, second, third


EXPERIMENT = Experiment(
    name="dissimilar",
    shows="a task where the word that matters is unlike the one that asks: likeness fails, query-key-value learns",
    idea="query, key and value",
    measure=measure,
)
