"""The attention of a translation that the model is made to output: all weights, with the words of both sides."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.corpora.pair import words
from regard.data.text.special import END, SPECIAL_TOKENS, START
from regard.errors import ArgumentError
from regard.inspection.readings.joined import joined
from regard.inspection.readings.rollout import rollout
from regard.inspection.readings.value_norms import value_norms
from regard.inspection.trace.attention_layers import layers_with
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Trace
from regard.models.sequence.protocol import AnyModel
from regard.models.sequence.transformer import TransformerModel
from regard.tasks.token_labels import name_tokens
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import as_line, word_numbers

MAX_TOKENS = 512
"""Source tokens that are read, `</s>` included: maps of more cannot be drawn."""
_END = SPECIAL_TOKENS[END]


MapName = Literal["cross", "source", "target"]


class Side(NamedTuple):
    """The tokens of one side, and the words they are parts of; `</s>` counts as a word of its own."""

    ids: list[int]
    tokens: list[str]
    words: list[str]
    word_of: list[int]
    read_as: Mapping[str, str]
    """Words that were typed without their accents or case, and how they are read."""


class AttentionMaps(NamedTuple):
    """The weights of one kind of attention, all layers of it."""

    id: MapName
    """cross: the translation attends to the source; source, target: a side attends to itself."""
    layers: list[str]
    """Their names in the model."""
    weights: Float[Tensor, "layers heads query key"]
    mask: Bool[Tensor, "query key"] | None
    """True = could attend; None where all could."""


class TranslationAttention(NamedTuple):
    """What was recorded. Row i of a map that starts from the translation is from when token i was to be predicted."""

    source: Side
    target: Side
    finished: bool
    log_probabilities: Float[Tensor, "query vocabulary"]
    """Of every token after each prefix."""
    maps: list[AttentionMaps]
    norms: Float[Tensor, "layers heads source"] | None
    """Of what a weight of one would add, for the map `cross`."""
    rollout: Float[Tensor, "query source"] | None
    """Of all layers, down to the source tokens; where the model has layers of self-attention."""


def read_source(translator: Translator, text: str) -> tuple[Side, int]:
    """Give the tokens of a sentence as far as they are read, `</s>` last, and how many are not."""
    if not text.strip():
        raise ArgumentError("Type a sentence first.")
    tokenizer, (text, respelled) = translator.tokenizers.source, translator.read([text])[0]
    encoded = tokenizer.encode(text)
    most = min(MAX_TOKENS, translator.reach.source) - 1
    ids, word_of = encoded.ids[:most], list(encoded.words[:most])
    if not ids:
        raise ArgumentError("The model reads no token of this text. Type words of its language.")
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


def attention_of(translator: Translator, source: Side, tokens: Sequence[int]) -> TranslationAttention:
    """Force the model to output the tokens, and record what every layer attends to meanwhile.

    A translation that is not finished has one row more than tokens, what may follow and when its last token is read,
    unless the model can output no more.
    """
    target = read_target(translator, tokens)
    finished = bool(tokens) and tokens[-1] == END
    target_input = [START, *(tokens[:-1] if finished else tokens)]
    longest = translator.reach.target
    if longest is not None and len(tokens) > longest:
        raise ArgumentError(
            f"`tokens` must be at most {longest}, as many as the model can output; received {len(tokens)}."
        )
    target_input = target_input[:longest]
    model: AnyModel = translator.model
    recorder = record(translator.model) if source_layers(translator.model) else nullcontext(Trace())
    with torch.inference_mode(), recorder as trace:
        memory = model.encode(torch.tensor([source.ids], device=translator.device))
        state = model.start(memory, capacity=len(target_input))
        inputs = torch.tensor([target_input], device=translator.device)
        log_probabilities, _, weights = model.step(inputs, state, memory, weights=True)
        norms = None if weights is None else value_norms(translator.model, memory)[0].cpu()
    maps = [] if weights is None else [_cross(weights[0], trace)]
    rolled = None
    if isinstance(translator.model, TransformerModel):
        maps += [_stacked("source", trace["encoder.*"]), _stacked("target", trace["decoder.*.self_attention"])]
        outcome = rollout(
            trace["encoder.*"], decoder=trace["decoder.*.self_attention"], cross=trace["decoder.*.cross_attention"]
        )
        rolled = outcome.values[:, : len(source.ids)].float()
    return TranslationAttention(source, target, finished, log_probabilities[0].cpu(), maps, norms, rolled)


def source_layers(model: nn.Module) -> list[str]:
    """Name the layers through which a decoder attends to the source; none where it has only a fixed vector."""
    names = [name for name in layers_with(model) if name.startswith("decoder")]
    return [name for name in names if "cross" in name] or names


def _cross(weights: Float[Tensor, "layers heads query key"], trace: Trace) -> AttentionMaps:
    """Take the weights from the model itself, and from the trace what was masked."""
    calls = [call for call in joined(trace) if call.weights.size(-2) == weights.size(-2)]
    names = [call.layer for call in calls if call.weights.size(-1) == weights.size(-1)]
    across = [name for name in names if "cross" in name] or names[-1:]
    masks = [call.mask[0] for call in calls if call.layer in across and call.mask is not None]
    mask = masks[0].any(0).cpu() if masks else None  # heads share it
    return AttentionMaps("cross", across, weights.cpu(), None if mask is None or bool(mask.all()) else mask)


def _stacked(name: MapName, trace: Trace) -> AttentionMaps:
    weights = torch.stack([call.weights[0] for call in trace]).cpu()
    mask = trace[0].mask
    dense = None if mask is None else mask[0].any(0).cpu()
    return AttentionMaps(name, trace.layers, weights, None if dense is None or bool(dense.all()) else dense)
