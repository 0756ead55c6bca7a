"""The attention of a forced output: all weights of a model, for the views to draw."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.corpora.pair import words
from regard.data.text.special import END, SPECIAL_TOKENS, START
from regard.errors import ArgumentError
from regard.inspection.readings.joined import joined
from regard.inspection.readings.rollout import rollout
from regard.inspection.readings.value_norms import value_norms
from regard.inspection.trace.attention_layers import attention_layers
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Trace
from regard.layers.attend import Attend
from regard.models.sequence.protocol import AnyModel
from regard.models.sequence.transformer import TransformerModel
from regard.tasks.token_labels import name_tokens
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import as_line, word_numbers

MAX_TOKENS = 512
"""Source tokens that the studio reads, `</s>` included: its pictures have room for so many."""
_END = SPECIAL_TOKENS[END]


class Side(NamedTuple):
    """The tokens of one side, and the words they are parts of; `</s>` counts as a word of its own."""

    ids: list[int]
    tokens: list[str]
    words: list[str]
    word_of: list[int]
    read_as: Mapping[str, str]
    """Words that were typed without their accents or case, and how they are read."""


class Weights(NamedTuple):
    """The weights of one kind of attention, all layers of it."""

    id: str
    """cross: the translation looks at the source; source, target: a side looks at itself."""
    layers: list[str]
    """Their names in the model."""
    weights: Float[Tensor, "layers heads query key"]
    mask: Bool[Tensor, "query key"] | None
    """True = could attend; none where all could."""


class Look(NamedTuple):
    """What was seen. Row i of a map that starts from the translation is from when its token i was about to be said."""

    source: Side
    target: Side
    finished: bool
    log_probabilities: Float[Tensor, "query vocabulary"]
    """Of every token after each prefix."""
    maps: list[Weights]
    norms: Float[Tensor, "layers heads source"] | None
    """Of what a weight of one would add, for the map `cross`."""
    rollout: Float[Tensor, "query source"] | None
    """Of all layers, down to the source tokens; where the model has layers of self-attention."""


def read_source(translator: Translator, text: str) -> tuple[Side, int]:
    """Give the tokens of a sentence as far as they are read, `</s>` last, and how many are not."""
    if not text.strip():
        raise ArgumentError("`text` must be a sentence; received nothing to translate. Type one.")
    tokenizer, (text, respelled) = translator.tokenizers.source, translator.read([text])[0]
    encoded = tokenizer.encode(text)
    most = min(MAX_TOKENS, translator.reach.source) - 1
    ids, word_of = encoded.ids[:most], list(encoded.words[:most])
    if not ids:
        raise ArgumentError("`text` must hold something that the model reads; received no token of it. Type words.")
    named = words(tokenizer.normalize(text))[: max(word_of) + 1]
    side = Side(
        [*ids, END], name_tokens(tokenizer, text, [*ids, END]), [*named, _END], [*word_of, len(named)], respelled
    )
    return side, len(encoded.ids) - len(ids)


def read_target(translator: Translator, tokens: Sequence[int]) -> Side:
    """Name the tokens of a translation and the words they are parts of."""
    tokenizer = translator.tokenizers.target
    if not all(0 <= token < tokenizer.size for token in tokens):
        raise ArgumentError(f"`tokens` must be numbers from 0 to {tokenizer.size - 1}; received {list(tokens)[:20]}.")
    if END in tokens[:-1]:
        raise ArgumentError(f"`tokens` must end at the first {_END}; received more after it.")
    output = [token for token in tokens if token != END]
    text = as_line(tokenizer.decode(output))
    named = words(text)
    word_of = list(word_numbers(tokenizer, output, text)) if output else []
    if output and not named:  # nothing but spaces and special tokens: each stands for itself
        named, word_of = tokenizer.pieces(output), list(range(len(output)))
    end = [len(named)] * (len(tokens) - len(output))
    return Side(list(tokens), tokenizer.pieces(list(tokens)), named + [_END] * len(end), word_of + end, {})


def look(translator: Translator, source: Side, tokens: Sequence[int]) -> Look:
    """Let the model say the tokens, and see where every layer looks meanwhile.

    A translation that is not finished has one row more than tokens, what may follow and when its last token is read,
    unless the model can say no more.
    """
    target = read_target(translator, tokens)
    finished = bool(tokens) and tokens[-1] == END
    encoded = [START, *(tokens[:-1] if finished else tokens)]
    longest = translator.reach.target
    if longest is not None and len(tokens) > longest:
        raise ArgumentError(
            f"`tokens` must be at most {longest}, as many as the model can say; received {len(tokens)}."
        )
    encoded = encoded[:longest]
    wanted: AnyModel = translator.model
    watching = record(translator.model) if looking_at_source(translator.model) else nullcontext(Trace())
    with torch.inference_mode(), watching as trace:
        memory = wanted.encode(torch.tensor([source.ids], device=translator.device))
        state = wanted.start(memory, capacity=len(encoded))
        words_in = torch.tensor([encoded], device=translator.device)
        log_probabilities, _, weights = wanted.step(words_in, state, memory, weights=True)
        norms = None if weights is None else value_norms(translator.model, memory)[0].cpu()
    maps = [] if weights is None else [_cross(weights[0], trace)]
    known = None
    if isinstance(translator.model, TransformerModel):
        maps += [_stacked("source", trace["encoder.*"]), _stacked("target", trace["decoder.*.self_attention"])]
        outcome = rollout(
            trace["encoder.*"], decoder=trace["decoder.*.self_attention"], cross=trace["decoder.*.cross_attention"]
        )
        known = outcome.values[:, : len(source.ids)].float()
    return Look(source, target, finished, log_probabilities[0].cpu(), maps, norms, known)


def looking_at_source(model: nn.Module) -> list[str]:
    """Name the layers through which a decoder looks at the source; none where it has only a fixed vector."""
    if not any(isinstance(part, Attend) for part in model.modules()):
        return []
    names = [name for name in attention_layers(model) if name.startswith("decoder")]
    return [name for name in names if "cross" in name] or names


def _cross(weights: Float[Tensor, "layers heads query key"], trace: Trace) -> Weights:
    """Take the weights from the model itself, and from the trace what was masked."""
    calls = [call for call in joined(trace) if call.weights.size(-2) == weights.size(-2)]
    names = [call.layer for call in calls if call.weights.size(-1) == weights.size(-1)]
    across = [name for name in names if "cross" in name] or names[-1:]
    masks = [call.mask[0] for call in calls if call.layer in across and call.mask is not None]
    mask = masks[0].any(0).cpu() if masks else None  # heads share it
    return Weights("cross", across, weights.cpu(), None if mask is None or bool(mask.all()) else mask)


def _stacked(name: str, trace: Trace) -> Weights:
    weights = torch.stack([call.weights[0] for call in trace]).cpu()
    mask = trace[0].mask
    dense = None if mask is None else mask[0].any(0).cpu()
    return Weights(name, trace.layers, weights, None if dense is None or bool(dense.all()) else dense)
