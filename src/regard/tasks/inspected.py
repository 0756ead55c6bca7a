"""Inspect loaded models: run one on a text, and gather the weights of its layers, with tokens as labels."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from regard.data.text.open_character import OpenCharacter
from regard.data.text.special import END, SPECIAL_TOKENS, START
from regard.data.text.text_tokenizer import TextTokenizer
from regard.data.text.tokenizer import Tokenizer
from regard.decoding.forced import force
from regard.decoding.search import Search
from regard.errors import ArgumentError, with_article
from regard.inspection.readings.joined import joined
from regard.inspection.readings.words_of_tokens import Spelling
from regard.inspection.trace.inspected import Inspection, Likely, main_layer
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Call, Trace
from regard.layers import Attend
from regard.models.language.network import LanguageNetwork
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.token_labels import name_tokens
from regard.tasks.translation.model import Translator

SHOWN = 10
"""Tokens listed as likely."""


def inspect_translator(
    translator: Translator, text: str, *, target: str | None = None, search: Search | None = None
) -> Inspection:
    """Force a translator to `target`, or to the best that `search` finds, and record what each token attends to."""
    _check_text(text)
    if len(translator.models) > 1:
        raise ArgumentError(
            f"`model` must be one model to be inspected; received {len(translator.models)} that translate together. "
            "Inspect each alone."
        )
    model, device = translator.network, translator.device
    respelled = None if target is None else translator.read([target], side="target")[0]
    if respelled is None:
        result = translator.search([text], search)[0][0]
    else:
        result = translator.force([text], [respelled.text])[0]
    output = result.hypothesis.tokens
    source = torch.tensor([[*result.source_ids.tolist(), END]], device=device)
    target_input, target_output = (torch.tensor([ids], device=device) for ids in ([START, *output[:-1]], list(output)))
    lengths = [torch.tensor([item.size(1)], device=device) for item in (source, target_output)]
    with record(model) as trace:
        forced = force(model, source, lengths[0], target_input, target_output, lengths[1])[0]
    trace = joined(trace)
    source_tokenizer, target_tokenizer = translator.tokenizers
    tokens = result.source_tokens
    spelled = (
        result.target_tokens if respelled is None else tuple(name_tokens(target_tokenizer, respelled.text, output))
    )
    read = _spelling(target_tokenizer, target_input[0].tolist(), [*target_tokenizer.pieces([START]), *spelled[:-1]])
    crossing, spellings = _label_translation(
        trace,
        _spelling(source_tokenizer, source[0].tolist(), tokens),
        read,
        _spelling(target_tokenizer, list(output), spelled),
    )
    return Inspection(
        text=text,
        tokens=tokens,
        trace=trace,
        layer=main_layer(crossing, trace.layers),
        head=translator.reading.head,
        target=result.text,
        target_tokens=spelled,
        model=str(translator),
        target_probabilities=tuple(torch.tensor(forced.log_probabilities).exp().tolist()),
        read_as={**result.read.words, **(respelled.words if respelled else {})},
        spellings=spellings,
    )


def _label_translation(
    trace: Trace, source: Spelling, read: Spelling, output: Spelling
) -> tuple[list[str], dict[str, tuple[Spelling, Spelling]]]:
    """Name queries and keys, and give the layers that attend to the source, and the words of all."""
    crossing, spellings = [], {}
    for call in trace:
        parts = call.layer.split(".")
        query, key = output, source
        if parts[0] == "encoder":
            query = source
        elif "self_attention" in parts:
            query = key = read
        else:
            crossing.append(call.layer)
        call.label(query=query.tokens, key=key.tokens)
        spellings[call.layer] = query, key
    return crossing, spellings


def _spelling(tokenizer: Tokenizer | TextTokenizer, ids: Sequence[int], tokens: Sequence[str]) -> Spelling:
    """Give tokens with how they are written as text."""
    return Spelling(ids=ids, tokens=tokens, special=range(len(SPECIAL_TOKENS)), decode=tokenizer.decode)


@torch.no_grad()
def inspect_language_model(loaded: LanguageModel, text: str = "", *, target: str | None = None) -> Inspection:
    """Let a language model read a text, and `target` behind it, and record what each token attends to."""
    model, tokenizer = loaded.model, loaded.tokenizer
    if not isinstance(model, LanguageNetwork):
        raise ArgumentError(f"`model` must attend to be inspected; received {loaded}, which counts.")
    _check_attends(model, loaded.config.model.kind, preset="gru-attention")
    text_tokens, target_tokens = tokenizer.encode(text), [] if target is None else tokenizer.encode(target)
    prompt = [END, *text_tokens, *target_tokens]
    if model.reach is not None and len(prompt) > model.reach:
        raise ArgumentError(
            f"`text` must have at most {model.reach - 1:,} tokens, with the target; received {len(prompt) - 1:,}. "
            "Shorten it."
        )
    with record(model) as trace:
        reading = model(torch.tensor([prompt], device=loaded.device))
    chances = model.output(reading.features[0]).float().softmax(-1).cpu()
    tokens = [
        tokenizer.piece(END),
        *name_tokens(tokenizer, text, text_tokens),
        *name_tokens(tokenizer, target or "", target_tokens),
    ]
    side = _spelling(tokenizer, prompt, tokens)
    trace = Trace([_last_keys(call, len(tokens)) for call in joined(trace)])
    trace.label(query=tokens, key=tokens)
    possible = torch.from_numpy(OpenCharacter(tokenizer, prompt).next_producible())
    best = chances[-1].masked_fill(~possible, 0.0).topk(min(SHOWN, int(possible.sum())))
    first = len(prompt) - len(target_tokens)
    return Inspection(
        text=text,
        tokens=tuple(tokens),
        trace=trace,
        layer=main_layer([], trace.layers),
        target=target,
        target_tokens=tuple(tokens[first:]),
        model=str(loaded),
        target_probabilities=tuple(
            chances[first - 1 + index, token].item() for index, token in enumerate(target_tokens)
        ),
        likely=tuple(map(Likely, map(tokenizer.piece, best.indices.tolist()), best.values.tolist())),
        spellings=dict.fromkeys(trace.layers, (side, side)),
    )


def _last_keys(call: Call, count: int) -> Call:
    """Leave out the empty positions of a memory: those before the text."""
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
    """Let a classifier read a text, and record what each token, and the summary of the whole, attends to."""
    _check_text(text)
    _check_attends(classifier.model, classifier.spec.kind, preset="lstm-attention")
    ids = torch.tensor([classifier.encode([text])[0].tolist()], device=classifier.device)
    with record(classifier.model) as trace:
        output = classifier.model(ids, torch.tensor([ids.size(1)]))
    read = _spelling(classifier.tokenizer, ids[0].tolist(), name_tokens(classifier.tokenizer, text, ids[0].tolist()))
    spellings = {call.layer: (read if _reads(call) else _summary_queries(call.weights.size(2)), read) for call in trace}
    for call in trace:
        query, key = spellings[call.layer]
        call.label(query=query.tokens, key=key.tokens)
    chances = output.logits[0].double().softmax(-1).tolist()
    ranked = sorted(map(Likely, classifier.labels, chances), key=lambda one: -one.probability)
    return Inspection(
        text=text,
        tokens=tuple(read.tokens),
        trace=trace,
        spellings=spellings,
        layer=main_layer([], trace.layers),
        likely=tuple(ranked),
        model=str(classifier),
    )


def _reads(call: Call) -> bool:
    """Return whether a layer of a classifier reads the text; the others sum it up."""
    return call.layer.split(".")[0] == "reader"


def _summary_queries(count: int) -> Spelling:
    """Name the queries that sum a text up."""
    names = ["text"] if count == 1 else [f"query {row}" for row in range(count)]
    return Spelling(ids=range(count), tokens=names, special=range(count), decode=str)


def _check_attends(model: nn.Module, kind: str, *, preset: str) -> None:
    """Raise where there is nothing to see."""
    if not any(isinstance(module, Attend) for module in model.modules()):
        raise ArgumentError(
            f"`model` must attend to be inspected; received {with_article(kind)} model, which has no attention. Train "
            f"one that has: `regard train --preset {preset}`."
        )


def _check_text(text: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ArgumentError(f"`text` must be text with at least one word; received {text!r}.")
