"""What if a model attended to something else: a step of decoding, or a label, with weights pinned or keys hidden."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.text.special import END, START
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.pin import pin_weights
from regard.models.sequence.protocol import AnyModel
from regard.tasks.classification.model import Classifier
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import source_layers

MAX_OUTPUT = 640
"""Tokens of an output, at most."""
SUMMARY = "summarize"
"""What the names of layers begin with that make one vector of a text; the others read it."""


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """What is done to the attention to the source."""

    pinned: Mapping[int, float] = field(default_factory=dict)
    """For some source positions the share of the row's weight that they get; the others share what is left."""
    hidden: tuple[int, ...] = ()
    """Source positions that no layer and head may attend to."""
    layers: tuple[str, ...] = ()
    """The layers whose weights are pinned."""
    head: int | None = None
    """Which head's weights are pinned; None for all."""
    onward: bool = False
    """At all later steps too, and not at the first one alone."""

    @contextmanager
    def applied(self, translator: Translator, length: int) -> Iterator[None]:
        """Intervene while the context lasts; the source has `length` positions."""
        pinned = {index: share for index, share in self.pinned.items() if index not in self.hidden}
        if not pinned and not self.hidden:
            yield
            return
        mask = torch.ones(1, length, dtype=torch.bool, device=translator.device)
        mask[0, list(self.hidden)] = False
        change = partial(pin_weights, shares=pinned, hidden=self.hidden, head=self.head)
        model = translator.model
        with intervene(
            model,
            weights=dict.fromkeys(self.layers, change) if pinned else None,
            mask=dict.fromkeys(source_layers(model), mask) if self.hidden else None,
        ):
            yield


class DecodedStep(NamedTuple):
    """One step, and the translation it led to."""

    log_probabilities: Float[Tensor, " vocabulary"]
    """Of every token at the step."""
    weights: Float[Tensor, "layers heads source"] | None
    """As they were used at the step; None where the model does not attend."""
    tokens: list[int]
    """The prefix, and what the model outputs after it."""


def decode_step(
    translator: Translator,
    source: Sequence[int],
    prefix: Sequence[int],
    intervention: Intervention | None = None,
    *,
    to_end: bool = True,
) -> DecodedStep:
    """Decode the prefix undisturbed, intervene in the next step, and go on greedily, unless not `to_end`."""
    model: AnyModel = translator.model
    intervention = intervention or Intervention()
    longest = max_length(translator, len(source)) if to_end else 0
    with torch.inference_mode():
        memory, state = decode_prefix(translator, source, prefix)
        last = torch.tensor([[START, *prefix][-1:]], device=translator.device)
        with intervention.applied(translator, len(source)):
            log_probabilities, state, weights = model.step(last, state, memory, weights=True)
            first = log_probabilities[0, -1]
            begun = [*prefix, int(first.argmax())]
            continued = _continue(translator, begun, state, memory, longest) if intervention.onward else None
        continued = _continue(translator, begun, state, memory, longest) if continued is None else continued
    return DecodedStep(first.cpu(), None if weights is None else weights[0, :, :, -1].cpu(), continued)


def decode_prefix(translator: Translator, source: Sequence[int], prefix: Sequence[int]) -> tuple[Any, Any]:
    """Encode the source and decode all but the last token of the prefix; give memory and state."""
    model: AnyModel = translator.model
    memory = model.encode(torch.tensor([list(source)], device=translator.device))
    state = model.start(memory)
    target_input = [START, *prefix][:-1]
    if target_input:
        _, state, _ = model.step(torch.tensor([target_input], device=translator.device), state, memory)
    return memory, state


def max_length(translator: Translator, length: int) -> int:
    """Give how many tokens are output at most for a source of that length."""
    return min(2 * length + 20, MAX_OUTPUT, translator.reach.target or MAX_OUTPUT)


def _continue(translator: Translator, tokens: list[int], state: Any, memory: Any, longest: int) -> list[int]:
    """Append the likeliest token until the end."""
    model: AnyModel = translator.model
    tokens, device = list(tokens), translator.device
    while tokens[-1] != END and len(tokens) < longest:
        last_token = torch.tensor([tokens[-1:]], device=device)
        log_probabilities, state, _ = model.step(last_token, state, memory)
        tokens.append(int(log_probabilities[0, -1].argmax()))
    return tokens


class LabeledText(NamedTuple):
    """The label of a text, and the weights of its summary."""

    log_probabilities: Float[Tensor, " labels"]
    weights: Float[Tensor, " tokens"]
    """The mean over the queries that sum it up."""
    tokens: list[str]


def label_text(
    classifier: Classifier, text: str, *, pinned: Mapping[int, float] | None = None, hidden: Sequence[int] = ()
) -> LabeledText:
    """Label a text with shares of its summary's weights pinned to some tokens, and others hidden from all layers."""
    shares = {index: share for index, share in (pinned or {}).items() if index not in hidden}
    ids = torch.tensor([classifier.encode([text])[0].tolist()], device=classifier.device)
    mask = torch.ones(1, ids.size(1), dtype=torch.bool, device=classifier.device)
    mask[0, list(hidden)] = False
    with intervene(
        classifier.model,
        weights={f"{SUMMARY}*": partial(pin_weights, shares=shares, hidden=hidden)} if shares else None,
        mask={"*": mask} if hidden else None,
    ):
        trace = [call for call in classifier.inspect(text).trace if call.layer.startswith(SUMMARY)]
        with torch.inference_mode():
            logits = classifier.model(ids, torch.tensor([ids.size(1)])).logits[0]
    weights = torch.stack([call.weights[0].mean((0, 1)) for call in trace]).mean(0)
    tokens = [str(item) for item in trace[0].key_labels or range(len(weights))]
    return LabeledText(logits.double().log_softmax(-1).cpu(), weights.cpu(), tokens)
