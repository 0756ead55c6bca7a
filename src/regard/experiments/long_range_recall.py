r"""What one fixed vector forgets: copying and recall over ever longer sequences, beside a model with attention.

A GRU reads pairs of a key and a word, one pair at a time. Then a key is named and its word asked for. The model with
one fixed vector answers from the last state alone, the other from a weighted sum of all states:

$$\text{fixed:}\ o = f(h_n, q), \qquad \text{attention:}\ o = f\Big(\sum_j \alpha_j h_j, q\Big), \quad
\alpha = \text{softmax}_j\big(v^\top \tanh(W q + U h_j)\big)$$

Copying: keys are the positions 1, 2, …, n in order. Associative recall: they come in random order, so that only the
content can tell which word is meant. Both models have the same encoder, are trained for the same number of steps, and
are scored by how many pairs were read, and by how long ago the one asked for was.

Reference: Cho et al. (2014), section 4, arXiv:1409.1259; Bahdanau, Cho and Bengio (2015), section 5.2.1,
arXiv:1409.0473; Graves, Wayne and Danihelka (2014), sections 4.1 and 4.3, arXiv:1410.5401, for the tasks.
"""

from itertools import product
from statistics import fmean
from typing import Literal

import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.experiments.drawing import draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings, fit
from regard.inspection.drawing.panels import MUTED, panels
from regard.layers import AdditiveAttention, RecurrentEncoder

Task = Literal["copy", "recall"]
NUM_WORDS = 8
SIZE = 48
MODELS = ("attention", "fixed vector")


class Reader(nn.Module):
    """Read pairs by a GRU, then answer one question from the last state, or by attention over all states."""

    def __init__(self, num_keys: int, *, attention: bool) -> None:
        super().__init__()
        self.key = nn.Embedding(num_keys, SIZE)
        self.word = nn.Embedding(NUM_WORDS, SIZE)
        self.encoder = RecurrentEncoder("gru", SIZE, SIZE)
        self.attention = AdditiveAttention(SIZE, SIZE, SIZE) if attention else None
        self.answer = nn.Sequential(nn.Linear(2 * SIZE, 2 * SIZE), nn.ReLU(), nn.Linear(2 * SIZE, NUM_WORDS))

    def forward(
        self,
        keys: Int[Tensor, "batch pairs"],
        words: Int[Tensor, "batch pairs"],
        questions: Int[Tensor, "batch question"],
    ) -> Float[Tensor, "batch question words"]:
        """Score every word as the answer to every key in `questions`."""
        encoded = self.encoder(self.key(keys) + self.word(words))
        query = self.key(questions)
        if self.attention is None:
            context = encoded.state[:, -1:].expand_as(query)
        else:
            context = self.attention(query, self.attention.remember(encoded.memory))
        return self.answer(torch.cat([context, query], dim=-1))  # type: ignore[no-any-return]


def draw_pairs(task: Task, *, batch_size: int, length: int) -> tuple[Tensor, Tensor]:
    """Draw keys and words, (batch, length) each."""
    order = torch.arange(length).expand(batch_size, -1)
    keys = order if task == "copy" else torch.rand(batch_size, length).argsort(-1)
    return keys, torch.randint(NUM_WORDS, (batch_size, length))


def train_reader(task: Task, *, attention: bool, length: int, steps: int, settings: Settings, begun: float) -> Reader:
    """Train on sequences of up to `length` pairs, every pair asked for."""
    model, lengths = Reader(length, attention=attention), list(range(4, length + 1, 4))
    doing = f"{task}, {'attention' if attention else 'fixed vector'}"

    def loss() -> Tensor:
        keys, words = draw_pairs(task, batch_size=32, length=lengths[int(torch.randint(len(lengths), ()))])
        return nn.functional.cross_entropy(model(keys, words, keys).flatten(0, 1), words.flatten())

    fit(model, loss, steps=steps, learning_rate=4e-3, watch=lambda share: settings.watch(begun + share / 4, doing))
    return model


@torch.no_grad()
def accuracy_by_distance(model: Reader, task: Task, *, length: int) -> list[float]:
    """Give the share of right answers about the pair read k pairs ago, k = 0, 1, …"""
    keys, words = draw_pairs(task, batch_size=512, length=length)
    right = model(keys, words, keys).argmax(-1) == words
    return right.double().mean(0).flip(0).tolist()  # type: ignore[no-any-return]


Results = dict[tuple[Task, str], dict[int, list[float]]]
"""By task and model, then by how many pairs were read: the share of right answers by distance."""


def measure(settings: Settings) -> Result:
    """Train four models, two for each task, and score them by length and distance."""
    length, steps = settings.choose(full=(24, 1500), quick=(12, 150))
    result: Results = {}
    tasks: tuple[Task, ...] = ("copy", "recall")
    for number, (task, name) in enumerate(product(tasks, MODELS)):
        model = train_reader(
            task, attention=name == "attention", length=length, steps=steps, settings=settings, begun=number / 4
        )
        result[task, name] = {
            pairs: accuracy_by_distance(model, task, length=pairs) for pairs in range(4, length + 1, 4)
        }
    return Result(tables=_tables(result), figure=_draw(result), reading=_read(result))


def _tables(results: Results) -> dict[str, list[Row]]:
    by_length: list[Row] = []
    by_distance: list[Row] = []
    for (task, name), scores in results.items():
        names: Row = {"task": task, "model": name}
        by_length.append(names | {f"{pairs} pairs": fmean(values) for pairs, values in scores.items()})
        longest = max(scores)
        far = (0, longest // 4, longest // 2, 3 * longest // 4, longest - 1)
        by_distance.append(names | {f"{distance} back": scores[longest][distance] for distance in far})
    return {
        "Share of right answers, by how many pairs were read": by_length,
        f"The same after {longest} pairs, by how long ago the pair was read": by_distance,
    }


def _draw(results: Results) -> Figure:
    titles = ["by how many pairs were read", f"by how long ago, of {max(results['copy', 'attention'])}"]
    figure, (left, right) = panels(1, 2, size=(5.0, 3.3), titles=titles)
    lengths = [
        (f"{task}, {name}", list(scores), [fmean(values) for values in scores.values()])
        for (task, name), scores in results.items()
    ]
    distances = [
        (f"{task}, {name}", list(range(max(scores))), scores[max(scores)]) for (task, name), scores in results.items()
    ]
    for axes, lines, what in ((left, lengths, "pairs read"), (right, distances, "pairs read since")):
        draw_lines(axes, lines, xlabel=what, ylabel="share of right answers", limits=(0, 1))
        axes.axhline(1 / NUM_WORDS, color=MUTED, linewidth=0.8, linestyle=":")
        corner = (axes.get_xlim()[0], 1 / NUM_WORDS)
        axes.annotate("chance", corner, xytext=(4, 3), textcoords="offset points", fontsize=8, color=MUTED)
    left.set_xticks(lengths[0][1])
    return figure


def _read(results: Results) -> tuple[str, str, str]:
    shortest, longest = min(results["copy", "attention"]), max(results["copy", "attention"])

    def describe(name: str, pairs: int) -> str:
        copied, recalled = (fmean(results[task, name][pairs]) for task in ("copy", "recall"))
        return f"{copied:.0%} of words copied and {recalled:.0%} recalled"

    fixed = f"One vector of {SIZE} numbers gives {describe('fixed vector', shortest)} after {shortest} pairs, "
    fixed += f"{describe('fixed vector', longest)} after {longest}."
    attention = f"Attention over the states of the same GRU gives {describe('attention', shortest)} after {shortest}, "
    attention += f"{describe('attention', longest)} after {longest}."
    lost = {
        name: fmean(
            fmean(results[task, name][shortest]) - fmean(results[task, name][longest]) for task in ("copy", "recall")
        )
        for name in MODELS
    }
    last = f"With {longest - shortest} pairs more to remember the fixed vector loses {100 * lost['fixed vector']:.0f} "
    last += f"points and attention {100 * lost['attention']:.0f}: "
    last += (
        "what does not fit into one vector need not, if attention can still reach the states."
        if lost["fixed vector"] > lost["attention"] + 0.1
        else "at this length one vector is enough, and this run does not show what attention is for."
    )
    return fixed, attention, last


EXPERIMENT = Experiment(
    name="long-range-recall",
    shows="copying and associative recall over ever more pairs: one fixed vector forgets, attention retrieves them",
    idea="why attention",
    measure=measure,
)
