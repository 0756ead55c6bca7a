r"""Which input influences which output: the influence map of a layer, from its derivative.

$$I_{ij} = \Big\lVert \frac{\partial y_i}{\partial x_j} \Big\rVert_F$$

where $x_j$ is word $j$ and $y_i$ the output at position $i$. A dense layer over the whole sentence depends on every
word, with parameters for every pair of positions; a convolution on its neighbors; a recurrent layer on the words
before, less with distance; attention on every word, with the same parameters for every pair. Its strength depends on
the words.

Reference: Vaswani et al. (2017), section 4, arXiv:1706.03762; Simonyan, Vedaldi and Zisserman (2014), section 3,
arXiv:1312.6034, for derivatives as a measure of influence.
"""

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from regard.attention import Causal
from regard.experiments.experiment import Experiment, Result, Row, Settings
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import MultiHeadAttention, RecurrentEncoder

SIZE = 16
THRESHOLD = 1e-3
"""Mean influence, as a share of the largest, from which an input counts as influencing an output."""


class Dense(nn.Module):
    """One linear map from the whole sentence to the whole sentence."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.map = nn.Linear(length * SIZE, length * SIZE)

    def forward(self, words: Tensor) -> Tensor:
        """Map all words at once."""
        return self.map(words.flatten(1)).view_as(words)  # type: ignore[no-any-return]


class Convolution(nn.Module):
    """A map of each word with its neighbors, the same at every position."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Conv1d(SIZE, SIZE, 3, padding=1)

    def forward(self, words: Tensor) -> Tensor:
        """Map each word with its neighbors."""
        return self.map(words.mT).mT  # type: ignore[no-any-return]


class Recurrent(nn.Module):
    """A recurrent layer, reading from left to right."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = RecurrentEncoder("rnn", SIZE, SIZE)

    def forward(self, words: Tensor) -> Tensor:
        """Give the state after each word."""
        return self.encoder(words).memory  # type: ignore[no-any-return]


class Attending(nn.Module):
    """Self-attention with one head and sharp scores, over all words or those so far."""

    def __init__(self, *, causal: bool = False) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(SIZE, 1)
        self.mask = Causal() if causal else None
        with torch.no_grad():  # as after training: untrained scores are so small that all words weigh the same
            self.attention.query.weight *= 2

    def forward(self, words: Tensor) -> Tensor:
        """Let each word attend to the others."""
        return self.attention(words, mask=self.mask)  # type: ignore[no-any-return]


def layers(length: int) -> dict[str, nn.Module]:
    """Make one of each kind."""
    return {
        "dense": Dense(length),
        "convolution": Convolution(),
        "recurrent": Recurrent(),
        "attention": Attending(),
        "causal attention": Attending(causal=True),
    }


def influence(layer: nn.Module, words: Float[Tensor, "length size"]) -> Float[Tensor, "output input"]:
    """Measure how strongly each output depends on each input, as the norm of its derivative."""
    jacobian = torch.autograd.functional.jacobian(lambda sentence: layer(sentence[None])[0], words)
    assert isinstance(jacobian, Tensor)
    return jacobian.square().sum((1, 3)).sqrt()  # output size input size


def measure(settings: Settings) -> Result:
    """Map the influence in each layer, for some sentences."""
    length, num_sentences = settings.choose(full=(10, 24), quick=(6, 4))
    sentences = torch.randn(num_sentences, length, SIZE)
    maps: dict[str, Tensor] = {}
    rows: list[Row] = []
    for number, (name, layer) in enumerate(layers(length).items()):
        settings.watch(number / 5, name)
        maps[name] = torch.stack([influence(layer, words) for words in sentences])
        rows.append({"layer": name, **describe(maps[name]), "parameters": _count(layer)})
    title = f"Influence over {length} words, {num_sentences} random sentences"
    return Result(tables={title: rows}, figure=_draw(maps), reading=_read(rows, length))


def describe(maps: Float[Tensor, "sentence output input"]) -> Row:
    """Measure the share of pairs with influence, its strength from afar, and what another sentence changes."""
    mean, (first, second) = maps.mean(0), maps[:2]
    length = mean.size(0)
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    connected = mean > THRESHOLD * mean.max()
    far, near = (connected & (distance >= length // 2)), (connected & (distance == 1))
    return {
        "pairs with influence": connected.double().mean().item(),
        "far / near": (mean[far].mean() / mean[near].mean()).item() if far.any() else 0.0,
        "change by sentence": ((first - second).norm() / first.norm()).item(),
    }


def _count(layer: nn.Module) -> int:
    return sum(parameter.numel() for parameter in layer.parameters())


def _draw(maps: dict[str, Tensor]) -> Figure:
    titles = [*maps, "attention, another sentence"]
    figure, axes = panels(2, 3, size=(3.3, 3.2), titles=titles)
    for panel, table in zip(axes, [*(result[0] for result in maps.values()), maps["attention"][1]], strict=True):
        words = [str(index + 1) for index in range(table.size(0))]
        mesh = draw_heatmap(panel, table / table.max(), query_labels=words, key_labels=words, numbers=False, sums=False)
        panel.set_xlabel("input")
        panel.set_ylabel("output")
    color_bar(mesh, axes, label="influence, of the largest")
    return figure


def _read(rows: list[Row], length: int) -> tuple[str, str, str]:
    by_name = {str(row["layer"]): row for row in rows}

    def number(name: str, column: str) -> float:
        return float(by_name[name][column])

    dense, local, before, all_words = (
        f"{number(name, 'pairs with influence'):.0%}" for name in ("dense", "convolution", "recurrent", "attention")
    )
    pairs = f"Of all pairs of {length} words, a dense layer connects {dense}, a convolution {local}, "
    pairs += f"a recurrent layer {before} and attention {all_words}."
    near, ahead = number("recurrent", "far / near"), number("attention", "far / near")
    far = (
        f"From half a sentence away a word has {near:.0%} of the influence of the word before in the recurrent layer, "
    )
    far += f"in attention {ahead:.0%}" + (": distance costs it nothing." if ahead > 0.8 and near < 0.8 else ".")
    fixed, moved = number("dense", "change by sentence"), number("attention", "change by sentence")
    words = (
        f"Another sentence changes the dense layer's map by {fixed:.0%} and attention's by {moved:.0%}: "
        + (
            "the words decide which word influences which"
            if moved > 0.1 > fixed
            else "the words make little difference"
        )
        + f", with {by_name['attention']['parameters']:,} parameters against {by_name['dense']['parameters']:,}."
    )
    return pairs, far, words


EXPERIMENT = Experiment(
    name="influence",
    shows="which input influences which output in dense, convolutional, recurrent and attention layers",
    idea="why self-attention",
    measure=measure,
)
