r"""What attention knows of order: nothing by itself, and at lengths never trained, what its positions allow.

Self-attention gives the same vectors in another order if its input comes in another order: for every permutation $P$,

$$f(P X) = P f(X)$$

unless the words say where they stand: by waves or learned vectors added to them (sinusoidal, learned), by vectors or
numbers for their distance (relative, ALiBi), or by turning queries and keys (rotary).

The task is to say the word before. Two causal blocks are trained on short sequences and asked about longer ones. The
vectors of learned positions that training never reached are as they were drawn.

Reference: Vaswani et al. (2017), section 3.5, arXiv:1706.03762; Gehring et al. (2017), arXiv:1705.03122; Shaw et al.
(2018), arXiv:1803.02155; Su et al. (2021), arXiv:2104.09864; Press et al. (2022), arXiv:2108.12409; Kazemnejad et al.
(2023), arXiv:2305.19466, for none at all.
"""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.attention import Causal, Mask
from regard.experiments.drawing import draw_bars, draw_lines
from regard.experiments.experiment import Experiment, Result, Row, Settings, fit
from regard.inspection.drawing.panels import FAINT, MUTED, PALETTE, panels
from regard.layers import (
    AlibiBias,
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    TransformerEncoderBlock,
)

Kind = Literal["none", "sinusoidal", "learned", "relative", "rotary", "ALiBi"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NUM_WORDS, SIZE, NUM_HEADS = 16, 32, 4
TRAINED = 16
LENGTHS = (8, 16, 24, 32, 48, 64, 96)


class Blocks(nn.Module):
    """Two Transformer blocks over words with positions of one kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.word = nn.Embedding(NUM_WORDS, SIZE)
        self.positions = _added(kind)
        self.blocks = nn.ModuleList(
            TransformerEncoderBlock(
                MultiHeadAttention(SIZE, NUM_HEADS, position=_position(kind)), FeedForward(SIZE, 2 * SIZE)
            )
            for _ in range(2)
        )
        self.readout = nn.Linear(SIZE, NUM_WORDS)

    def forward(
        self, words: Int[Tensor, "batch length"], *, mask: Mask | None = None
    ) -> Float[Tensor, "batch length words"]:
        """Score every word at every position."""
        states = self.positions(self.word(words))
        for block in self.blocks:
            states = block(states, mask=mask)
        return self.readout(states)  # type: ignore[no-any-return]


def _added(kind: Kind) -> nn.Module:
    """Make what is added to the words."""
    if kind == "sinusoidal":
        return SinusoidalPositions(SIZE)
    return LearnedPositions(max(LENGTHS), SIZE) if kind == "learned" else nn.Identity()


def _position(kind: Kind) -> nn.Module | None:
    """Make what acts inside attention."""
    match kind:
        case "relative":
            return RelativePositions(8, SIZE // NUM_HEADS)
        case "rotary":
            return RotaryPositions()
        case "ALiBi":
            return AlibiBias(NUM_HEADS)
        case _:
            return None


@torch.no_grad()
def order_matters(model: Blocks) -> float:
    """Measure how far the output of permuted words is from the permuted output, relative to its length."""
    words, order = torch.randint(NUM_WORDS, (64, TRAINED)), torch.randperm(TRAINED)
    plain = model(words)[:, order]
    return float((model(words[:, order]) - plain).norm() / plain.norm())


def train_blocks(model: Blocks, *, steps: int, settings: Settings, begun: float, doing: str) -> None:
    """Train to say the word before, at up to the trained length."""

    def loss() -> Tensor:
        words = torch.randint(NUM_WORDS, (32, TRAINED))
        return nn.functional.cross_entropy(model(words, mask=Causal())[:, 1:].flatten(0, 1), words[:, :-1].flatten())

    watch = settings.watch
    fit(model, loss, steps=steps, learning_rate=5e-3, watch=lambda share: watch(begun + share / len(KINDS), doing))


@torch.no_grad()
def accuracy(model: Blocks, length: int) -> float:
    """Give the share of right answers in the second half of sequences of a length."""
    words = torch.randint(NUM_WORDS, (200, length))
    right = model(words, mask=Causal()).argmax(-1)[:, 1:] == words[:, :-1]
    return float(right[:, length // 2 :].double().mean())


def measure(settings: Settings) -> Result:
    """Permute, train, and ask about longer sequences, for each kind of position."""
    steps, lengths = settings.choose(full=(600, LENGTHS), quick=(100, (8, 16, 32, 64)))
    orders: dict[str, float] = {}
    result: dict[str, dict[int, float]] = {}
    for number, kind in enumerate(KINDS):
        model = Blocks(kind).eval()
        orders[kind] = order_matters(model)
        train_blocks(model, steps=steps, settings=settings, begun=number / len(KINDS), doing=kind)
        result[kind] = {length: accuracy(model, length) for length in lengths}
    rows: list[Row] = []
    for name, scores in result.items():
        row: Row = {"positions": name, "change by order": orders[name]}
        rows.append(row | {f"{length} words": value for length, value in scores.items()})
    title = f"Effect of word order, then the share of right answers; trained on {TRAINED} words"
    return Result(tables={title: rows}, figure=_draw(orders, result), reading=_read(orders, result))


def _draw(orders: dict[str, float], results: dict[str, dict[int, float]]) -> Figure:
    titles = ["how much the order changes, untrained", "saying the word before, at longer lengths"]
    figure, (left, right) = panels(1, 2, size=(5.0, 3.4), titles=titles, widths=[1, 1.4])
    draw_bars(left, list(orders), list(orders.values()), xlabel="relative change of the output")
    left.set_xlim(0, 1.15 * max(orders.values()))
    lines = [(kind, list(values), list(values.values())) for kind, values in results.items()]
    draw_lines(right, lines, xlabel="words", ylabel="share of right answers", limits=(0, 1), colors=PALETTE)
    right.axvspan(right.get_xlim()[0], TRAINED, color=FAINT, alpha=0.4, linewidth=0)
    right.annotate(
        "trained", (TRAINED, 0.03), xytext=(-3, 0), textcoords="offset points", ha="right", fontsize=8, color=MUTED
    )
    return figure


def _read(orders: dict[str, float], results: dict[str, dict[int, float]]) -> tuple[str, str, str]:
    others = [value for kind, value in orders.items() if kind != "none"]
    blind = orders["none"] < 1e-4 < min(others)
    first = (
        f"In another order the words give the same vectors, to {orders['none']:.0e}, if nothing says where they stand; "
        f"with positions the output changes by {min(others):.0%} to {max(others):.0%}"
    )
    first += ": attention alone sees a set." if blind else ", so these numbers do not show that attention sees a set."
    far = max(results["none"])
    learned = [kind for kind, values in results.items() if values[TRAINED] > 0.9]
    second = (
        f"At the trained {TRAINED} words {_join(learned, results, TRAINED)} say the word before in nine cases of ten."
    )
    kept = [kind for kind in learned if results[kind][far] > 0.9]
    lost = [kind for kind in learned if kind not in kept]
    third = f"At {far} words "
    third += f"{_join(kept, results, far)} still do" if kept else "none of them still does"
    third += f"; {_join(lost, results, far)} do not: they meet lengths never trained." if lost else "; none was lost."
    return first, second, third


def _join(kinds: list[str], results: dict[str, dict[int, float]], length: int) -> str:
    parts = [f"{'none at all' if kind == 'none' else kind} ({results[kind][length]:.0%})" for kind in kinds]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) if parts else "none"


EXPERIMENT = Experiment(
    name="positions",
    shows="attention without positions cannot see order; which kinds of position reach beyond the trained length",
    idea="positions",
    measure=measure,
)
