"""What weights over places are checked against: covering each place, gradients, uniform weights."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from regard.data.scenes.batches import pad_rows
from regard.data.text.special import END, START
from regard.decoding import Search, decode
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.intervene import intervene
from regard.models.vision.captions import as_source
from regard.studio.recording import attending
from regard.tasks.captions.model import Captioner
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import QuestionAnswerer

GRID = (8, 8)
"""Cells that are covered one by one where a network's own places are not looked at."""
Predict = Callable[[Tensor], Tensor]
"""From pictures, colors from 0 to 1, to log-probabilities: (pictures, words, choices)."""


class Checks(NamedTuple):
    """Measured beside the weights: for each word that was said, or the one answer."""

    covered: Float[Tensor, "words rows columns"]
    """How far the prediction moves when the place is painted over in the picture's mean color."""
    gradient: Float[Tensor, "words rows columns"]
    """How far it would, if the network were a straight line there."""
    uniform: list[float] | None
    """Log-probability of what was said if every look at the picture were uniform; none where no word looks at it."""


def check_answer(thing: QuestionAnswerer, pixels: UInt8[Tensor, "3 height width"], question: str) -> Checks:
    """Measure for one question, whose answer counts as one word."""
    result = thing.ask_pixels(pixels, [question])[0]
    tokens, lengths = pad_rows([torch.tensor(thing.tokenizer.encode(question).ids[: thing.max_length]).numpy()])

    def predict(images: Tensor) -> Tensor:
        count = len(images)
        owners = torch.arange(count, device=images.device)
        rows = tokens.to(images.device).expand(count, -1)
        logits: Tensor = thing.model(images, rows, lengths.expand(count), owners).logits
        return logits.log_softmax(-1).unsqueeze(1)

    output = [thing.answers.index(result.answer)]
    return _check(thing.model, predict, _image(pixels, thing.device), output, _grid(result.attention.weights))


def check_caption(thing: Captioner, pixels: UInt8[Tensor, "3 height width"]) -> Checks:
    """Measure for each word of the caption that the model says."""
    weights = thing.caption_pixels(pixels)[0].attention.weights
    source = as_source(pixels.unsqueeze(0)).to(thing.device)
    search = Search(beam=1, max_length=thing.max_length + 1)
    output = decode(thing.model, source, search=search, start=START, end=END)[0][0].tokens
    ids = [token for token in output if token != END]
    if not ids:
        nothing = torch.zeros(0, *GRID)
        return Checks(nothing, nothing, None)
    encoded = torch.tensor([START, *ids[:-1]], device=thing.device)

    def predict(images: Tensor) -> Tensor:
        logits: Tensor = thing.model(images, encoded.expand(len(images), -1))
        return logits.log_softmax(-1)

    return _check(thing.model, predict, _image(pixels, thing.device), ids, _grid(weights))


def check_label(thing: ImageClassifier, pixels: UInt8[Tensor, "channels height width"]) -> Checks:
    """Measure for the label; the network's own maps are of several sizes, and these have one."""

    def predict(images: Tensor) -> Tensor:
        logits: Tensor = thing.model(images)
        return logits.log_softmax(-1).unsqueeze(1)

    image = _image(pixels, thing.device)
    with torch.no_grad():
        output = [int(predict(image)[0, 0].argmax())]
    grid = (min(GRID[0], image.size(2)), min(GRID[1], image.size(3)))
    return _check(thing.model, predict, image, output, grid)


def _check(model: nn.Module, predict: Predict, image: Tensor, said: Sequence[int], grid: tuple[int, int]) -> Checks:
    return Checks(
        covering(predict, image, grid),
        gradient_of_covering(predict, image, said, grid),
        _uniform(model, predict, image, said),
    )


@torch.no_grad()
def covering(
    predict: Predict, image: Float[Tensor, "1 channels height width"], grid: tuple[int, int]
) -> Float[Tensor, "words rows columns"]:
    r"""Paint over one place at a time in the picture's mean color, and measure the change of every prediction.

    $$\Delta_{ij} = \mathrm{TVD}(p(y_i \mid y_{<i}, x), p(y_i \mid y_{<i}, x_{-j}))$$

    Reference: Zeiler and Fergus (2014), section 4.2, arXiv:1311.2901.
    Differs: the distance of the whole prediction, not the probability of one label; the color is the picture's mean.
    """
    cells = _cells(image, grid)
    mean = image.mean((2, 3), keepdim=True)
    after = predict(torch.where(cells.unsqueeze(1), mean, image))  # places words choices
    before = predict(image).expand_as(after)
    changes: Tensor = total_variation(before, after).mT.unflatten(-1, grid)
    return changes.float().cpu()


def gradient_of_covering(
    predict: Predict, image: Float[Tensor, "1 channels height width"], said: Sequence[int], grid: tuple[int, int]
) -> Float[Tensor, "words rows columns"]:
    r"""Say how much covering a place would change what was said, to first order.

    $$g_{ij} = \Big\lvert \sum_{p \in j} (x_p - \bar x)^\top \frac{\partial \log p(y_i \mid y_{<i}, x)}{\partial x_p}
    \Big\rvert$$

    where $p$ are the pixels of place $j$ and $\bar x$ is the mean color: gradient times input, counted from the mean
    color. The picture is read once for each word, all in one batch, so that one backward pass gives all.

    Reference: Simonyan, Vedaldi and Zisserman (2014), section 3, arXiv:1312.6034.
    """
    count = len(said)
    images = image.detach().expand(count, -1, -1, -1).clone().requires_grad_()
    rows = torch.arange(count, device=image.device)
    with torch.enable_grad():
        chosen = predict(images)[rows, rows, torch.tensor(list(said), device=image.device)]
        (gradient,) = torch.autograd.grad(chosen.sum(), images)
    parts = (gradient * (image - image.mean((2, 3), keepdim=True))).sum(1)  # words height width
    sums = torch.einsum("whx,chx->wc", parts, _cells(image, grid).to(parts.dtype))
    changes: Tensor = sums.abs().unflatten(-1, grid)
    return changes.detach().float().cpu()


@torch.no_grad()
def _uniform(model: nn.Module, predict: Predict, image: Tensor, said: Sequence[int]) -> list[float] | None:
    """Give the log-probabilities of what was said if words looked at all places alike."""
    names = attending(model, "cross")
    if not names:
        return None
    with intervene(model, weights=dict.fromkeys(names, "uniform")):
        result = predict(image)[0]
    return [float(result[index, item]) for index, item in enumerate(said)]


def _cells(image: Tensor, grid: tuple[int, int]) -> Tensor:
    """Give for each place, row by row, which pixels lie in it: (places, height, width)."""
    height, width = image.shape[2:]
    rows = torch.arange(height, device=image.device) * grid[0] // height
    columns = torch.arange(width, device=image.device) * grid[1] // width
    index = rows[:, None] * grid[1] + columns[None]
    return index[None] == torch.arange(grid[0] * grid[1], device=image.device)[:, None, None]


def _image(pixels: Tensor, device: torch.device) -> Tensor:
    return (pixels.float() / 255).unsqueeze(0).to(device)


def _grid(weights: Tensor) -> tuple[int, int]:
    """Give the places of a map, or the usual ones where all places were averaged into one."""
    rows, columns = weights.shape[-2:]
    return (rows, columns) if rows * columns > 1 else GRID
