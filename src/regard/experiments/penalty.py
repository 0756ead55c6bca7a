r"""Several hops with the same weights, and the penalty that makes them differ.

Structured self-attention sums a sentence up in a few hops, $A = \text{softmax}(W_{s2} \tanh(W_{s1} H^\top))$, a row of
weights for each. Nothing in the task asks that they differ. The penalty does:

$$P = \lVert A A^\top - I \rVert_F^2$$

is zero only if each hop attends to one word, and no two to the same.

The task: a review speaks well or badly of food, service and price, among words that say nothing; is the majority good?

Reference: Lin et al. (2017), equations 6 to 8 and section 2.2, figures 3 and 4, arXiv:1703.03130.
"""

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.attention import Attended
from regard.experiments.experiment import Experiment, Result, Row, Settings, fit
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import StructuredSelfAttention

GOOD = ("delicious", "friendly", "cheap")
BAD = ("stale", "rude", "pricey")
FILLERS = ("the", "a", "we", "was", "it", "and", "to", "in", "on", "at", "with", "our")
WORDS = (*GOOD, *BAD, *FILLERS)
LENGTH, SIZE, NUM_HOPS = 12, 24, 3
STRENGTHS = (0.0, 0.1, 1.0)


def draw_reviews(batch_size: int) -> tuple[Tensor, Tensor]:
    """Draw words (batch, position) with one on each of food, service and price, and whether most of these are good."""
    words = torch.randint(len(GOOD) + len(BAD), len(WORDS), (batch_size, LENGTH))
    good = torch.rand(batch_size, len(GOOD)) < 0.5
    telling = torch.arange(len(GOOD)) + len(GOOD) * (~good)
    indices = torch.rand(batch_size, LENGTH).argsort(-1)[:, : len(GOOD)]
    return words.scatter(1, indices, telling), (good.sum(-1) > len(GOOD) / 2).float()


class Reviewer(nn.Module):
    """Word vectors, a few hops over them, and a linear readout."""

    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(len(WORDS), SIZE)
        self.attention = StructuredSelfAttention(SIZE, SIZE, NUM_HOPS)
        self.readout = nn.Linear(NUM_HOPS * SIZE, 1)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Score the review as a good one; give the weights of the hops."""
        attended = self.attention(self.word(words), return_weights=True)
        assert isinstance(attended, Attended)
        return self.readout(attended.context.flatten(1)).squeeze(-1), attended.weights


def train_reviewer(strength: float, *, steps: int, settings: Settings, begun: float) -> Reviewer:
    """Train with the penalty times a strength added to the loss."""
    model = Reviewer()

    def loss() -> Tensor:
        words, good = draw_reviews(64)
        score, weights = model(words)
        wrong = nn.functional.binary_cross_entropy_with_logits(score, good)
        return wrong + strength * StructuredSelfAttention.penalty(weights).mean()

    doing = f"penalty times {strength:g}"
    watch, share_each = settings.watch, 1 / len(STRENGTHS)
    fit(model, loss, steps=steps, learning_rate=1e-2, watch=lambda share: watch(begun + share * share_each, doing))
    return model


@torch.no_grad()
def describe(model: Reviewer, words: Tensor, good: Tensor) -> Row:
    """Measure how right it is, how alike two hops are (the cosine of their weights), and what they cover together."""
    score, weights = model(words)
    unit = nn.functional.normalize(weights, dim=-1)
    alike = (unit @ unit.mT)[:, *torch.triu_indices(NUM_HOPS, NUM_HOPS, 1)]
    weights_of_telling = weights.amax(1)[words < len(GOOD) + len(BAD)]
    return {
        "right": ((score > 0) == (good > 0)).double().mean().item(),
        "hops alike": alike.mean().item(),
        "penalty": StructuredSelfAttention.penalty(weights).mean().item(),
        "weight on a telling word": weights_of_telling.mean().item(),
    }


def measure(settings: Settings) -> Result:
    """Train without the penalty and with two strengths of it."""
    steps = settings.choose(full=1000, quick=100)
    words, good = draw_reviews(1000)
    models, rows = {}, list[Row]()
    for number, strength in enumerate(STRENGTHS):
        model = train_reviewer(strength, steps=steps, settings=settings, begun=number / len(STRENGTHS))
        models[strength] = model
        rows.append({"penalty times": strength, **describe(model, words, good)})
    title = f"{NUM_HOPS} hops over {LENGTH} words, {len(GOOD)} of which tell"
    return Result(tables={title: rows}, figure=_draw(models, words[:1]), reading=_read(rows))


@torch.no_grad()
def _draw(models: dict[float, Reviewer], words: Tensor) -> Figure:
    titles = ["without the penalty", *(f"penalty times {strength:g}" for strength in STRENGTHS[1:])]
    figure, axes = panels(3, 1, size=(6.4, 1.9), titles=titles)
    labels = [WORDS[word] for word in words[0].tolist()]
    hops = [f"hop {hop + 1}" for hop in range(NUM_HOPS)]
    for panel, model in zip(axes, models.values(), strict=True):
        mesh = draw_heatmap(panel, model(words)[1][0], query_labels=hops, key_labels=labels, sums=False)
        panel.set(xlabel="", ylabel="")
    color_bar(mesh, axes)
    return figure


def _read(rows: list[Row]) -> tuple[str, str, str]:
    free, mild, strong = ({name: float(value) for name, value in row.items()} for row in rows)
    first = f"Without the penalty two hops have weights with a cosine of {free['hops alike']:.2f}, with "
    first += f"{mild['penalty times']:g} times it {mild['hops alike']:.2f}: "
    first += (
        "the penalty parts them." if mild["hops alike"] < 0.7 * free["hops alike"] else "it does not part them here."
    )
    name = "weight on a telling word"
    second = (
        f"The largest weight on a telling word goes from {free[name]:.2f} to {mild[name]:.2f} and the share of right "
    )
    second += f"answers from {free['right']:.1%} to {mild['right']:.1%}: "
    second += (
        "the hops share the words out among them, at no cost."
        if mild[name] > free[name] + 0.05 and mild["right"] >= free["right"] - 0.01
        else "being apart does not by itself make them see more of what tells."
    )
    third = (
        f"With {strong['penalty times']:g} times it the hops are {strong['hops alike']:.2f} alike, but the weight on a "
    )
    third += f"telling word is {strong[name]:.2f} and {strong['right']:.1%} are right: "
    third += (
        "too strong, it pays for being apart on words that say nothing."
        if strong[name] < mild[name] - 0.05
        else "more of it does no harm here."
    )
    return first, second, third


EXPERIMENT = Experiment(
    name="penalty",
    shows="the hops of structured self-attention with and without the penalty that keeps them apart",
    idea="several hops",
    measure=measure,
)
