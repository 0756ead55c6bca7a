"""Attribution: what a prediction depends on, measured beside the weights of attention.

Translations, captions, answers and labels of images are measured in three ways: without a part of the input
(`occlusion`), by `gradient_times_input`, and with uniform weights. Labels of texts are measured with uniform weights
only, and language models not at all. `inspection/readings` has the measures; here is what each task reads and predicts.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from regard.data.scenes.batches import pad_rows
from regard.data.text.special import END, START
from regard.decoding import Search, decode
from regard.inspection.readings.gradient_times_input import gradient_times_input, replaced_output
from regard.inspection.readings.occlusion import cells_of, cover_each, occlusion, without_each
from regard.inspection.readings.uniform import predict_with_uniform_weights
from regard.inspection.readings.word_shares import gradient_shares
from regard.inspection.trace.attention_layers import layers_with
from regard.models.classification.network import Network
from regard.models.sequence.protocol import AnyModel
from regard.models.vision.captions import as_source
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import source_layers

GRID = (8, 8)
"""Cells that are covered one by one where a network's weights are not over positions of the image."""
Predict = Callable[[Tensor], Tensor]
"""From images, colors from 0 to 1, to log-probabilities: (images, outputs, choices)."""


class Attribution(NamedTuple):
    """For each output, a token or a label: what it depends on."""

    occlusion: Float[Tensor, "outputs ..."]
    """How far the prediction moves, in total variation, without the part: a source token, or a cell of the image."""
    gradient: Float[Tensor, "outputs ..."]
    """How far the log-probability of the output would move if the network were linear there."""
    uniform: list[float] | None
    """Log-probability of each output with uniform weights; None where no layer attends from the outputs to the input,
    as in a Vision Transformer, which attends within the image."""
    signed: Float[Tensor, "outputs ..."] | None = None
    """The gradient with its sign, of translations: above zero where the token speaks for the output."""


def attribute_translation(translator: Translator, source: Sequence[int], tokens: Sequence[int]) -> Attribution:
    """Measure for each token of a translation what it depends on in the source, both in token numbers.

    `source` ends in `</s>`, which is never taken out: the last column of `occlusion` is zero.
    """
    device = translator.device
    inputs = [START, *(tokens[:-1] if tokens[-1] == END else tokens)][: len(tokens)]
    target_input, source_input = torch.tensor([inputs], device=device), torch.tensor(list(source), device=device)

    def predict(sources: Tensor) -> Tensor:
        model: AnyModel = translator.model
        memory = model.encode(sources)
        state = model.start(memory, capacity=target_input.size(1))
        log_probabilities: Tensor = model.step(target_input.expand(len(sources), -1), state, memory)[0]
        return log_probabilities

    changes = occlusion(predict, source_input[None], without_each(source_input)[:-1])
    uniform = predict_with_uniform_weights(
        translator.network, lambda: predict(source_input[None])[0], layers=source_layers(translator.model)
    )
    signed = _gradient_of_tokens(translator, source_input, target_input, torch.tensor(list(tokens), device=device))
    return Attribution(
        torch.cat([changes, torch.zeros_like(changes[:, :1])], dim=1).cpu(),
        signed.abs(),
        _chosen(uniform, tokens),
        signed,
    )


def _gradient_of_tokens(
    translator: Translator, source: Tensor, target_input: Tensor, output: Tensor
) -> Float[Tensor, "target source"]:
    """Give gradient × input of each source token's embedding: the sentence once for each output, in one batch."""
    model, count = translator.network, len(output)
    rows = torch.arange(count, device=output.device)
    sources = source.expand(count, -1)

    def predict(embedding: Tensor) -> Tensor:
        with replaced_output(model.source, embedding):
            logits = model(sources, None, target_input.expand(count, -1))
        log_probabilities: Tensor = logits[rows, rows].log_softmax(-1)[rows, output]
        return log_probabilities

    with torch.no_grad():
        embedding = model.source(sources)
    return gradient_times_input(predict, embedding).sum(-1).cpu()


def attribute_answer(answerer: QuestionAnswerer, pixels: UInt8[Tensor, "3 height width"], question: str) -> Attribution:
    """Measure for one question what its answer depends on in the image."""
    result = answerer.ask_pixels(pixels, [question])[0]
    tokens, lengths = pad_rows([torch.tensor(answerer.tokenizer.encode(question).ids[: answerer.max_length]).numpy()])

    def predict(images: Tensor) -> Tensor:
        count = len(images)
        owners = torch.arange(count, device=images.device)
        rows = tokens.to(images.device).expand(count, -1)
        logits: Tensor = answerer.model(images, rows, lengths.expand(count), owners).logits
        return logits.log_softmax(-1).unsqueeze(1)

    output = [answerer.answers.index(result.answer)]
    image = _image(pixels, answerer.device)
    return attribute_image(answerer.model, predict, image, output, grid=_grid(result.attention.weights))


def attribute_caption(captioner: Captioner, pixels: UInt8[Tensor, "3 height width"]) -> Attribution:
    """Measure for each word of the caption what it depends on in the image."""
    weights = captioner.caption_pixels(pixels)[0].attention.weights
    source = as_source(pixels.unsqueeze(0)).to(captioner.device)
    search = Search(beam=1, max_length=captioner.max_length + 1)
    output = decode(captioner.model, source, search=search, start=START, end=END)[0][0].tokens
    ids = [token for token in output if token != END]
    if not ids:
        return Attribution(torch.zeros(0, *GRID), torch.zeros(0, *GRID), None)
    target_input = torch.tensor([START, *ids[:-1]], device=captioner.device)

    def predict(images: Tensor) -> Tensor:
        logits: Tensor = captioner.model(images, target_input.expand(len(images), -1))
        return logits.log_softmax(-1)

    return attribute_image(captioner.model, predict, _image(pixels, captioner.device), ids, grid=_grid(weights))


def attribute_label(classifier: ImageClassifier, pixels: UInt8[Tensor, "channels height width"]) -> Attribution:
    """Measure what the label depends on in the image; a network's own maps may have several sizes, these have one."""

    def predict(images: Tensor) -> Tensor:
        logits: Tensor = classifier.model(images)
        return logits.log_softmax(-1).unsqueeze(1)

    image = _image(pixels, classifier.device)
    with torch.no_grad():
        output = [int(predict(image)[0, 0].argmax())]
    grid = (min(GRID[0], image.size(2)), min(GRID[1], image.size(3)))
    return attribute_image(classifier.model, predict, image, output, grid=grid)


def attribute_image(
    model: nn.Module,
    predict: Predict,
    image: Float[Tensor, "1 channels height width"],
    output: Sequence[int],
    *,
    grid: tuple[int, int],
) -> Attribution:
    r"""Measure what each output depends on in an image, cell by cell of a grid.

    A cell is covered in the mean color, from which the gradient is counted too:

    $$g_{ij} = \Big\lvert \sum_{p \in j} (x_p - \bar x)^\top \frac{\partial \log p(y_i \mid y_{<i}, x)}{\partial x_p}
    \Big\rvert$$

    where $p$ are the pixels of cell $j$ and $\bar x$ is the mean color.
    """
    count, chosen = len(output), torch.tensor(list(output), device=image.device)
    rows = torch.arange(count, device=image.device)
    products = gradient_times_input(
        lambda images: predict(images)[rows, rows, chosen],
        image.expand(count, -1, -1, -1),
        baseline=image.mean((2, 3), keepdim=True),
    )
    parts = products.sum(1)  # outputs height width
    sums = torch.einsum("whx,chx->wc", parts, cells_of(image, grid).to(parts.dtype))
    covered = occlusion(predict, image, cover_each(image, grid))
    layers = layers_with(model, "cross")
    uniform = predict_with_uniform_weights(model, lambda: predict(image)[0], layers=layers)
    return Attribution(
        covered.unflatten(-1, grid).float().cpu(),
        sums.abs().unflatten(-1, grid).float().cpu(),
        _chosen(uniform, output),
    )


@torch.no_grad()
def label_with_uniform_weights(classifier: Classifier, text: str, label: str) -> float | None:
    """Give the probability of a label if every layer of a text classifier had uniform weights."""
    ids = torch.tensor([classifier.encode([text])[0].tolist()], device=classifier.device)
    logits = predict_with_uniform_weights(
        classifier.model, lambda: classifier.model(ids, torch.tensor([ids.size(1)])).logits[0]
    )
    return None if logits is None else float(logits.double().softmax(-1)[classifier.labels.index(label)])


def _chosen(log_probabilities: Tensor | None, output: Sequence[int]) -> list[float] | None:
    if log_probabilities is None:
        return None
    return [float(log_probabilities[index, token]) for index, token in enumerate(output)]


def _image(pixels: Tensor, device: torch.device) -> Tensor:
    return (pixels.float() / 255).unsqueeze(0).to(device)


def _grid(weights: Tensor) -> tuple[int, int]:
    """Give the positions of a map, or the usual cells where all positions were averaged into one."""
    rows, columns = weights.shape[-2:]
    return (rows, columns) if rows * columns > 1 else GRID


def signed_shares(classifier: Classifier, text: str) -> list[float] | None:
    """Give each word its share of gradient times input with its sign: for the label, or against it.

    None for a model that is no network. See `gradient_shares`.
    """
    if not isinstance(classifier.model, Network):
        return None
    encoded = classifier.tokenizer.encode(text)
    ids, words = encoded.ids[: classifier.max_length], encoded.words[: classifier.max_length]
    tokens = torch.tensor([ids], device=classifier.device)
    of_tokens = gradient_shares(classifier.model, tokens, torch.tensor([len(ids)]), signed=True)[0].double().tolist()
    shares = [0.0] * (max(words, default=-1) + 1)
    for word, share in zip(words, of_tokens, strict=True):
        shares[word] += share
    return shares
