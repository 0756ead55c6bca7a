"""Inspect loaded models: run one on a text, and gather where its layers looked, with tokens as labels."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from regard.data.special import END, START
from regard.decoding.forced import force
from regard.decoding.search import Search
from regard.errors import ArgumentError
from regard.inspection.inspected import Inspection, Likely, main_layer
from regard.inspection.joined import joined
from regard.inspection.record import record
from regard.inspection.trace import Call, Trace
from regard.models.language.network import LanguageNetwork
from regard.tasks.classifier import Classifier
from regard.tasks.continuation import NEVER
from regard.tasks.language_model import LanguageModel
from regard.tasks.translator import Translator

SHOWN = 10
"""Tokens listed as likely."""


def inspect_translator(
    translator: Translator, text: str, *, target: str | None = None, search: Search | None = None
) -> Inspection:
    """Let a translator say `target`, or the best that `search` finds, and see where it looks for each token."""
    _check_text(text)
    if len(translator.models) > 1:
        raise ArgumentError(
            f"`model` must be one model to be inspected; received {len(translator.models)} that translate together. "
            "Inspect each alone."
        )
    found = translator.search([text], search)[0][0] if target is None else translator.force([text], [target])[0]
    said, model, place = found.hypothesis.tokens, translator.model, translator.device
    source = torch.tensor([[*found.source_ids.tolist(), END]], device=place)
    before, spoken = (torch.tensor([ids], device=place) for ids in ([START, *said[:-1]], list(said)))
    lengths = [torch.tensor([one.size(1)], device=place) for one in (source, spoken)]
    with record(model) as trace:
        heard = force(model, source, lengths[0], before, spoken, lengths[1])[0]
    trace = joined(trace)
    read = translator.tokenizers.target.pieces(before[0].tolist())
    crossing = _label_translation(trace, found.source_tokens, read, found.target_tokens)
    return Inspection(
        text=text,
        tokens=found.source_tokens,
        trace=trace,
        layer=main_layer(crossing, trace.layers),
        target=found.text,
        target_tokens=found.target_tokens,
        target_probabilities=tuple(torch.tensor(heard.log_probabilities).exp().tolist()),
    )


def _label_translation(trace: Trace, source: Sequence[str], read: Sequence[str], said: Sequence[str]) -> list[str]:
    """Name queries and keys, and give the layers that look at the source."""
    crossing = []
    for call in trace:
        parts = call.layer.split(".")
        if parts[0] == "encoder":
            call.label(query=source, key=source)
        elif "self_attention" in parts:
            call.label(query=read, key=read)
        else:
            call.label(query=said, key=source)
            crossing.append(call.layer)
    return crossing


@torch.no_grad()
def inspect_language_model(loaded: LanguageModel, text: str = "", *, target: str | None = None) -> Inspection:
    """Let a language model read a text, and `target` behind it, and see what each token looks back at."""
    model, tokenizer = loaded.model, loaded.tokenizer
    if not isinstance(model, LanguageNetwork):
        raise ArgumentError(f"`model` must attend to be inspected; received {loaded}, which counts.")
    more = [] if target is None else tokenizer.encode(target)
    told = [END, *tokenizer.encode(text), *more]
    if model.reach is not None and len(told) > model.reach:
        raise ArgumentError(
            f"`text` must have at most {model.reach - 1:,} tokens, with the target; received {len(told) - 1:,}. "
            "Shorten it."
        )
    with record(model) as trace:
        heard = model(torch.tensor([told], device=loaded.device))
    chances = model.output(heard.features[0]).float().softmax(-1).cpu()
    tokens = [tokenizer.piece(token) for token in told]
    trace = Trace([_last_keys(call, len(tokens)) for call in joined(trace)])
    trace.label(query=tokens, key=tokens)
    following = chances[-1].clone()
    following[list(NEVER)] = 0.0
    best = following.topk(min(SHOWN, len(following) - len(NEVER)))
    first = len(told) - len(more)
    return Inspection(
        text=text,
        tokens=tuple(tokens),
        trace=trace,
        layer=main_layer([], trace.layers),
        target=target,
        target_tokens=tuple(tokens[first:]),
        target_probabilities=tuple(chances[first - 1 + place, token].item() for place, token in enumerate(more)),
        likely=tuple(map(Likely, map(tokenizer.piece, best.indices.tolist()), best.values.tolist())),
    )


def _last_keys(call: Call, count: int) -> Call:
    """Leave out the places of a memory that nothing was put in: those before the text."""
    if call.weights.size(-1) <= count:
        return call
    return replace(
        call,
        scores=call.scores[..., -count:],
        weights=call.weights[..., -count:],
        value_norms=call.value_norms[..., -count:],
        mask=None if call.mask is None else call.mask[..., -count:],
    )


@torch.no_grad()
def inspect_classifier(classifier: Classifier, text: str) -> Inspection:
    """Let a classifier read a text, and see what each token, and the summary of the whole, looks at."""
    _check_text(text)
    ids = torch.tensor([classifier.encode([text])[0].tolist()], device=classifier.device)
    with record(classifier.model) as trace:
        said = classifier.model(ids, torch.tensor([ids.size(1)]))
    tokens = classifier.tokenizer.pieces(ids[0].tolist())
    for call in trace:
        rows = call.weights.size(2)
        own = ["text"] if rows == 1 else [f"look {row}" for row in range(rows)]
        call.label(query=tokens if _reads(call) else own, key=tokens)
    chances = said.logits[0].double().softmax(-1).tolist()
    ranked = sorted(map(Likely, classifier.labels, chances), key=lambda one: -one.probability)
    return Inspection(
        text=text, tokens=tuple(tokens), trace=trace, layer=main_layer([], trace.layers), likely=tuple(ranked)
    )


def _reads(call: Call) -> bool:
    """Say whether a layer of a classifier reads the text; the others sum it up."""
    return call.layer.split(".")[0] == "reader"


def _check_text(text: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ArgumentError(f"`text` must be text with at least one word; received {text!r}.")
