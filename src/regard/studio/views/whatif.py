"""The view What if: force weights, hide or replace source words, and show what the model would output instead."""

from collections.abc import Sequence

import torch
from fastapi import APIRouter, Request
from jaxtyping import Float
from torch import Tensor

from regard.data.text.special import END, START, UNKNOWN
from regard.errors import ArgumentError
from regard.inspection.readings.distance import total_variation
from regard.inspection.readings.other_distributions import CAVEAT, Other, another_distribution, uniform_distribution
from regard.inspection.trace.intervene import intervene
from regard.models.sequence.protocol import AnyModel
from regard.studio.models import Models, Opened
from regard.studio.schema.parts import Sentence
from regard.studio.schema.what_if import (
    BeforeAfter,
    BeginAnswer,
    ChangeAnswer,
    ChangeRequest,
    Decoded,
    Distance,
    Replacement,
    StepRequest,
    TokensAnswer,
    WeightsAnswer,
    WeightsRequest,
)
from regard.studio.tensors import pack
from regard.studio.text_models import TextModel, text_model
from regard.studio.views.translate import write_attention, write_side
from regard.studio.views.whatif_text import begin_text, change_text, suggest_text
from regard.tasks.language.model import LanguageModel
from regard.tasks.token_labels import name_tokens
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import as_line
from regard.tasks.translation_attention import Side, attention_of, read_source, read_target, source_layers
from regard.tasks.what_if import Intervention, decode_prefix, decode_step

CANDIDATES = 6
"""Likeliest tokens that are shown, before and after."""
SEARCH_STEPS = 200
SUGGESTIONS = 20


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/whatif")

    @made.post("/begin")
    async def begin_with(body: Sentence, request: Request) -> BeginAnswer:
        opened = find_changeable(models, body.model)
        return await opened.ask(request, lambda thing: begin_any(thing, body.text))

    @made.post("/change")
    async def change(body: ChangeRequest, request: Request) -> ChangeAnswer:
        opened = find_changeable(models, body.model)
        if opened.kind == "language":
            return await opened.ask(request, lambda thing: change_text(text_model(thing), body))
        return await opened.ask(request, lambda translator: change_step(translator, body))

    @made.post("/another")
    async def another(body: WeightsRequest, request: Request) -> WeightsAnswer:
        opened = models.find(body.model, Translator)
        return await opened.ask(request, lambda translator: search_weights(translator, body))

    @made.post("/tokens")
    async def tokens(body: Sentence, request: Request) -> TokensAnswer:
        opened = find_changeable(models, body.model)
        if opened.kind == "language":
            listed = await opened.ask(request, lambda thing: suggest_text(text_model(thing), body.text))
        else:
            listed = await opened.ask(request, lambda translator: suggest(translator, body.text))
        return TokensAnswer(tokens=listed)

    return made


def find_changeable(models: Models, name: str) -> Opened:
    """Give the open translator or language model of that name, or the first translator, or language model, for ""."""
    opened = next((item for item in models.all("language") if item.name == name), None)
    if opened is None and not name and not models.all("translator"):
        opened = next(iter(models.all("language")), None)
    return opened or models.find(name, Translator)


def begin_any(thing: Translator | TextModel | LanguageModel, text: str) -> BeginAnswer:
    """Decode undisturbed, with a translator or with a language model."""
    return begin(thing, text) if isinstance(thing, Translator) else begin_text(text_model(thing), text)


def begin(translator: Translator, text: str) -> BeginAnswer:
    """Translate greedily and undisturbed, and write what the model attended to."""
    source, cut = read_source(translator, text)
    tokens = decode_step(translator, source.ids, []).tokens
    attention = write_attention(attention_of(translator, source, tokens), translator)
    return BeginAnswer(attention=attention, tokens=tokens, text=write(translator, tokens), cut=cut)


def change_step(translator: Translator, body: ChangeRequest) -> ChangeAnswer:
    """Decode from the step on, once undisturbed and once as requested, and write both."""
    source, prefix = _read(translator, body)
    read, intervention = _intervention(translator, body, source)
    before = decode_step(translator, source.ids, prefix, to_end=False)
    if before.weights is not None and body.head >= before.weights.size(1):
        raise ArgumentError(f"`head` must be from 0 to {before.weights.size(1) - 1}, or −1; received {body.head}.")
    after = decode_step(translator, read.ids, prefix, intervention)
    return ChangeAnswer(
        source=write_side(read),
        candidates=_candidates(translator, before.log_probabilities, after.log_probabilities),
        change=float(total_variation(before.log_probabilities, after.log_probabilities)),
        own=None if before.weights is None else pack(before.weights),
        weights=None if after.weights is None else pack(after.weights),
        before=_output(translator, body.tokens),
        after=_output(translator, after.tokens),
    )


def _intervention(translator: Translator, body: ChangeRequest, source: Side) -> tuple[Side, Intervention]:
    """Give the source as it is read, and what is done to the attention to it."""
    for name, positions in (("pinned", [item.position for item in body.pinned]), ("hidden", body.hidden)):
        _check_positions(name, positions, len(source.ids))
    intervention = Intervention(
        pinned={item.position: item.share for item in body.pinned},
        hidden=tuple(body.hidden),
        layers=tuple(_layers(translator, body.layer)),
        head=None if body.head < 0 else body.head,
        onward=body.onward,
    )
    return replace_tokens(translator, source, body.replaced), intervention


def search_weights(translator: Translator, body: WeightsRequest) -> WeightsAnswer:
    """Search for weights far from those of the step, as it was changed, that leave its prediction; try uniform ones."""
    source, prefix = _read(translator, body)
    read, intervention = _intervention(translator, body, source)
    names = _layers(translator, body.layer)
    layer = names[max(len(names) - 2, 0)]  # where several are chosen, the one an alignment is read from
    model: AnyModel = translator.model
    with torch.no_grad():
        memory, state = decode_prefix(translator, read.ids, prefix)
    last = torch.tensor([[START, *prefix][-1:]], device=translator.device)

    def run() -> Tensor:
        log_probabilities: Tensor = model.step(last, state, memory)[0]
        return log_probabilities[0]

    with intervention.applied(translator, len(read.ids)):
        with torch.no_grad():
            weights = model.step(last, state, memory, weights=True)[2]
            before = run()[-1].cpu()
        assert weights is not None
        position = source_layers(translator.model).index(layer)
        outcome = another_distribution(
            translator.model, run, layer=layer, tolerance=body.tolerance, steps=SEARCH_STEPS, seed=0
        )
        with torch.no_grad(), intervene(translator.model, weights={layer: outcome.forced}):
            after = run()[-1].cpu()
        flat = uniform_distribution(translator.model, run, layer=layer, tolerance=body.tolerance)
    return WeightsAnswer(
        layer=position,
        own=pack(weights[0, position, :, -1]),
        other=pack(outcome.forced[0, :, -1]),
        steps=SEARCH_STEPS,
        caveat=CAVEAT,
        candidates=_candidates(translator, before, after),
        uniform=_distance(flat),
        **_distance(outcome).parts(),
    )


def write(translator: Translator, tokens: Sequence[int]) -> str:
    """Write tokens as a line of text."""
    return as_line(translator.tokenizers.target.decode(list(tokens)))


def replace_tokens(translator: Translator, source: Side, replaced: Sequence[Replacement]) -> Side:
    """Put other tokens at some positions; each text must be one token, in a sentence or in the vocabulary."""
    _check_positions("replaced", [item.position for item in replaced], len(source.ids) - 1)
    ids, tokens, tokenizer = list(source.ids), list(source.tokens), translator.tokenizers.source
    for item in replaced:
        text = translator.read([item.text])[0].text
        exact = tokenizer.backend.token_to_id(text)
        token_ids = tokenizer.encode(text).ids
        if len(token_ids) == 1:
            ids[item.position] = token_ids[0]
        elif exact is not None:
            ids[item.position] = UNKNOWN if exact in tokenizer.untrained else exact
        else:
            parts = ", ".join(tokenizer.pieces(token_ids[:8])) or "nothing"
            raise ArgumentError(
                f'`replaced` must be one token of the model; received "{item.text[:40]}", which is {len(token_ids)}: '
                f"{parts}. Take one that is suggested."
            )
        tokens[item.position] = name_tokens(tokenizer, text, [ids[item.position]])[0]
    return source._replace(ids=ids, tokens=tokens)


def suggest(translator: Translator, begun: str) -> list[str]:
    """Give tokens of the source vocabulary that begin so, shortest first; `▁`, a space, need not be typed."""
    begun = begun.strip().casefold()
    tokenizer = translator.tokenizers.source
    names = [name for name, number in tokenizer.backend.get_vocab().items() if number not in tokenizer.untrained]
    outcome = [name for name in names if name.removeprefix("▁").casefold().startswith(begun)]
    return sorted(outcome, key=lambda name: (len(name), name))[:SUGGESTIONS]


def _read(translator: Translator, body: StepRequest) -> tuple[Side, list[int]]:
    """Give the source and what comes before the step."""
    source, _ = read_source(translator, body.text)
    read_target(translator, body.tokens)  # which refuses what is no translation
    if body.step > len(body.tokens) or body.tokens[: body.step][-1:] == [END]:
        raise ArgumentError(
            f"`step` must be one of the {len(body.tokens)} steps of the translation; received {body.step}."
        )
    longest = translator.reach.target
    if longest is not None and body.step >= longest:
        raise ArgumentError(f"`step` must be below {longest}, as many as the model can output; received {body.step}.")
    return source, body.tokens[: body.step]


def _layers(translator: Translator, layer: int) -> list[str]:
    """Name the layers that are meant."""
    names = source_layers(translator.model)
    if not names:
        raise ArgumentError("`model` must attend to its source; received one that reads it into a fixed vector.")
    if layer >= len(names):
        raise ArgumentError(f"`layer` must be from 0 to {len(names) - 1}, or −1 for all; received {layer}.")
    return names if layer < 0 else [names[layer]]


def _check_positions(name: str, positions: Sequence[int], length: int) -> None:
    wrong = [index for index in positions if not 0 <= index < length]
    if wrong:
        raise ArgumentError(f"`{name}` must be source positions from 0 to {length - 1}; received {wrong[0]}.")


def _candidates(
    translator: Translator, before: Float[Tensor, " vocabulary"], after: Float[Tensor, " vocabulary"]
) -> list[BeforeAfter]:
    """Give the likeliest tokens of both predictions, with both probabilities, likeliest before first."""
    count = min(CANDIDATES, before.numel())
    chosen = dict.fromkeys([*before.topk(count).indices.tolist(), *after.topk(count).indices.tolist()])
    ids = list(chosen)
    pieces = translator.tokenizers.target.pieces(ids)
    first, second = before.exp(), after.exp()
    return [
        BeforeAfter(id=number, token=name, before=float(first[number]), after=float(second[number]))
        for number, name in zip(ids, pieces, strict=True)
    ]


def _output(translator: Translator, tokens: list[int]) -> Decoded:
    pieces = translator.tokenizers.target.pieces(tokens)
    return Decoded(tokens=pieces, ids=tokens, text=write(translator, tokens))


def _distance(other: Other) -> Distance:
    return Distance(
        divergence=other.divergence,
        change=other.change,
        tolerance=other.tolerance,
        within_tolerance=other.within_tolerance,
    )
