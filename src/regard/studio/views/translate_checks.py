"""What weights are checked against: uniform weights, leaving words out, gradients."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.text.special import END, START
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.intervene import intervene
from regard.layers.process_switches import without_cudnn
from regard.models.sequence.protocol import AnyModel
from regard.studio.attention import Side, looking_at_source
from regard.tasks.translation.model import Translator

MAX_CHECKED = 64
"""Tokens of a side up to which this is measured: it takes as many readings as there are tokens."""


class Honesty(NamedTuple):
    """Measured beside the weights, for every token of a translation; see `measure`."""

    removal: Float[Tensor, "target source"] | None
    gradient: Float[Tensor, "target source"] | None
    uniform: list[float] | None
    """Log-probability of each token under uniform weights; none where the model does not attend to the source."""
    skipped: str
    """Why nothing was measured, if so."""


def measure(translator: Translator, source: Side, tokens: Sequence[int]) -> Honesty:
    """Measure what else could be said of each source token, for each token of the translation.

    - `removal`: how far the prediction moves when the token is taken out of the sentence; see `removal`.
    - `gradient`: how much the log-probability of the token said depends on it; see `gradient_times_input`.
    - `uniform`: what the model would think of its own words if every layer looked everywhere alike.

    `</s>` is never taken out: the last column of `removal` is zero.
    """
    longest = max(len(source.ids), len(tokens))
    if longest > MAX_CHECKED or len(source.ids) < 3 or not tokens:
        reason = f"more than {MAX_CHECKED} tokens" if longest > MAX_CHECKED else "a single word"
        return Honesty(None, None, None, f"Not measured for {reason}.")
    finished = tokens[-1] == END
    encoded = torch.tensor([START, *(tokens[:-1] if finished else tokens)], device=translator.device)
    output = torch.tensor(list(tokens), device=translator.device)
    read = torch.tensor(source.ids, device=translator.device)
    return Honesty(
        removal(translator, read, encoded)[: len(output)],
        gradient_times_input(translator, read, encoded, output),
        _uniform(translator, read, encoded, output),
        "",
    )


@torch.no_grad()
def removal(translator: Translator, source: Tensor, heard: Tensor) -> Float[Tensor, "target source"]:
    r"""Take out one source token at a time and measure the change of every prediction.

    $$\Delta_{ij} = \mathrm{TVD}(p(y_i \mid y_{<i}, x), p(y_i \mid y_{<i}, x_{-j}))$$

    Reference: Jain and Wallace (2019), section 4.1, arXiv:1902.10186; all sentences without a word are read at once.
    """
    length = len(source)
    left = [torch.cat([source[:index], source[index + 1 :]]) for index in range(length - 1)]
    whole = _predict(translator, source[None], heard[None])
    without = _predict(translator, torch.stack(left), heard.expand(length - 1, -1))
    changes = total_variation(whole.expand_as(without), without).mT  # target source
    return torch.cat([changes, torch.zeros_like(changes[:, :1])], dim=1).cpu()


def gradient_times_input(
    translator: Translator, source: Tensor, heard: Tensor, said: Tensor
) -> Float[Tensor, "target source"]:
    r"""Multiply each source token's embedding with the gradient of what was said with respect to it.

    $$g_{ij} = \left\lvert x_j^\top \frac{\partial \log p(y_i \mid y_{<i}, x)}{\partial x_j} \right\rvert$$

    The sentence is read once for each token said, all in one batch, so that one backward pass gives all rows.

    Reference: Jain and Wallace (2019), section 4.1, arXiv:1902.10186, with the input as factor: Denil et al. (2014).
    """
    count = len(said)
    embedded: list[Tensor] = []

    def catch(module: nn.Module, inputs: object, output: Tensor) -> Tensor:
        embedded.append(output.detach().requires_grad_())
        return embedded[0]

    model = translator.network
    handle = model.source.register_forward_hook(catch)
    try:
        with torch.enable_grad(), without_cudnn:
            logits = model(source.expand(count, -1), None, heard.expand(count, -1))
            rows = torch.arange(count, device=said.device)
            chosen = logits[rows, rows].log_softmax(-1)[rows, said]
            (gradient,) = torch.autograd.grad(chosen.sum(), embedded)
    finally:
        handle.remove()
    return (gradient * embedded[0]).sum(-1).abs().detach().cpu()


@torch.no_grad()
def _uniform(translator: Translator, source: Tensor, heard: Tensor, said: Tensor) -> list[float] | None:
    """Give the log-probabilities of what was said if all looks at the source were uniform over what they may see."""
    model = translator.network
    names = looking_at_source(model)
    if not names:
        return None
    with intervene(model, weights=dict.fromkeys(names, "uniform")):
        result = _predict(translator, source[None], heard[None])[0]
    return [float(result[index, token]) for index, token in enumerate(said.tolist())]


def _predict(translator: Translator, source: Tensor, heard: Tensor) -> Float[Tensor, "rows target vocabulary"]:
    """Give the log-probabilities after each prefix."""
    model: AnyModel = translator.model
    memory = model.encode(source)
    log_probabilities, _, _ = model.step(heard, model.start(memory, capacity=heard.size(1)), memory)
    return log_probabilities
