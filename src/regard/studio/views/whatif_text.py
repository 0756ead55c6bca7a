"""What if, for language models: force weights, mask or replace words, and show what comes next instead."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.readings.distance import total_variation
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.pin import pin_weights
from regard.inspection.trace.record import record
from regard.studio.schema.translate import AttentionAnswer, Side
from regard.studio.schema.what_if import (
    BeforeAfter,
    BeginAnswer,
    ChangeAnswer,
    ChangeRequest,
    Decoded,
    Replacement,
)
from regard.studio.tensors import pack
from regard.studio.text_models import TextModel
from regard.studio.views.read import next_tokens, read_ids, write_maps, write_tokens

CONTINUED = 16
"""Words that are generated after the step, at most."""
CANDIDATES = 6


class Step(NamedTuple):
    """A query that leads to a word: what is read, what follows it, and the row of the query."""

    ids: list[int]
    output: list[int]
    row: int


def begin_text(model: TextModel, text: str) -> BeginAnswer:
    """Read a text undisturbed, or generate an output for it, and write what the model attends to."""
    ids, cut = read_ids(model, text)
    _check_predicts(model)
    output = model.generate(ids) if model.reads == "both" else []
    run = model.run(ids, output)
    assert run.log_probabilities is not None
    steps = output if model.reads == "both" else ids
    leads = steps if model.reads != "causal" else [*ids[1:], None]
    names = ["…" if token is None else model.piece(token) for token in leads]
    count = len(steps)
    main = next(item for item in run.maps if item.id in ("text", "cross"))
    attention = AttentionAnswer(
        source=write_tokens(model, ids, text),
        target=Side(
            ids=[-1 if token is None else token for token in leads],
            tokens=names,
            words=names,
            word_of=list(range(count)),
            read_as={},
            unknown=[],
        ),
        finished=True,
        log_probabilities=[],
        candidates=[next_tokens(model, row) for row in run.log_probabilities[:count]],
        maps=[write_maps(main._replace(weights=main.weights[:, :, :count]))],
        norms=None,
        rollout=None,
    )
    return BeginAnswer(attention=attention, tokens=list(steps), text=model.decode(steps), cut=cut)


def change_text(model: TextModel, body: ChangeRequest) -> ChangeAnswer:
    """Predict the word of a step once undisturbed and once as requested, go on greedily, and write both."""
    ids, _ = read_ids(model, body.text)
    _check_predicts(model)
    step = _step(model, ids, body)
    read = _replaced(model, step.ids, body.replaced)
    plain = body.model_copy(update={"pinned": [], "hidden": [], "replaced": []})
    before, own, kept = _decode(model, step, plain)
    after, weights, changed = _decode(model, step._replace(ids=read), body)
    width = len(ids)
    return ChangeAnswer(
        source=write_tokens(model, [*read, *ids[len(read) :]], body.text),
        candidates=_candidates(model, before, after),
        change=float(total_variation(before, after)),
        own=pack(_padded(own, width)),
        weights=pack(_padded(weights, width)),
        before=_output(model, step, kept),
        after=_output(model, step._replace(ids=read), changed),
    )


def suggest_text(model: TextModel, begun: str) -> list[str]:
    """Give the text itself, where it is one token of the model."""
    ids = model.ids(begun)[model.first :]
    return [model.piece(ids[0])] if len(ids) == 1 else []


def _check_predicts(model: TextModel) -> None:
    if model.reads == "encoder":
        raise ArgumentError("`model` must predict words to be changed; received an encoder. Choose another model.")


def _step(model: TextModel, ids: list[int], body: ChangeRequest) -> Step:
    steps = len(body.tokens) if model.reads == "both" else len(ids)
    if body.step >= steps:
        raise ArgumentError(f"`step` must be one of the {steps} steps of the text; received {body.step}.")
    for name, positions in (("pinned", [item.position for item in body.pinned]), ("hidden", body.hidden)):
        wrong = [index for index in positions if not 0 <= index < len(ids)]
        if wrong:
            raise ArgumentError(f"`{name}` must be positions from 0 to {len(ids) - 1}; received {wrong[0]}.")
    layers = len(model.leading)
    if body.layer >= layers:
        raise ArgumentError(f"`layer` must be from 0 to {layers - 1}, or −1 for all; received {body.layer}.")
    if model.reads == "both":
        return Step(ids, list(body.tokens[: body.step]), body.step)
    return Step(ids[: body.step + 1] if model.reads == "causal" else ids, [], body.step)


def _decode(model: TextModel, step: Step, body: ChangeRequest) -> tuple[Tensor, Tensor, list[int]]:
    """Give the prediction of the step, the weights of its query, and what is generated from there on."""
    continued: list[int] = []
    first, weights = _predict(model, step, body, continued)
    if model.reads == "masked":
        return first, weights, [int(first.argmax())]
    row = first
    while len(continued) < CONTINUED and len(step.ids) + len(step.output) + len(continued) < model.reach:
        continued.append(int(row.argmax()))
        if continued[-1] in model.ends:
            break
        row, _ = _predict(model, step, body, continued)
    return first, weights, continued


def _predict(
    model: TextModel, step: Step, body: ChangeRequest, continued: Sequence[int]
) -> tuple[Float[Tensor, " vocabulary"], Float[Tensor, "layers heads key"]]:
    """Predict the next word, with what is done to the step, and to later ones where it holds onward."""
    reached = [item for item in body.pinned if item.position < len(step.ids)]  # later ones are masked in any case
    shares = {item.position: item.share for item in reached if item.position not in body.hidden}
    chosen = model.leading if body.layer < 0 else [model.leading[body.layer]]
    rows = slice(step.row, None) if body.onward else slice(step.row, step.row + 1)
    head = None if body.head < 0 else body.head

    def pin(weights: Tensor) -> Tensor:
        if head is not None and head >= weights.size(1):
            raise ArgumentError(f"`head` must be from 0 to {weights.size(1) - 1}, or −1; received {head}.")
        result = weights.clone()
        result[:, :, rows] = pin_weights(weights[:, :, rows], shares=shares, hidden=tuple(body.hidden), head=head)
        return result

    with ExitStack() as stack:
        if shares:
            stack.enter_context(intervene(model.model, weights=dict.fromkeys(chosen, pin)))
        if body.hidden:
            mask = _mask(model, step, body, len(continued))
            stack.enter_context(intervene(model.model, mask=dict.fromkeys(model.leading, mask)))
        trace = stack.enter_context(record(model.model, layers=list(model.leading)))
        log_probabilities = model.predict(step.ids, [*step.output, *continued])
    weights = torch.stack([call.weights[0, :, step.row] for call in trace]).float().cpu()
    return log_probabilities[step.row if model.reads == "masked" else -1], weights


def _mask(model: TextModel, step: Step, body: ChangeRequest, continued: int) -> Tensor:
    """Hide positions from every query but their own: from later ones, where a text is read in order."""
    queries = len(step.output) + continued + (1 if model.reads == "both" else len(step.ids))
    keys = len(step.ids) if model.reads == "both" else queries
    mask = torch.ones(queries, keys, dtype=torch.bool, device=next(model.model.parameters()).device)
    for index in [item for item in body.hidden if item < len(step.ids)]:
        mask[:, index] = False
        if model.reads != "both":
            mask[index, index] = True
    return mask


def _replaced(model: TextModel, ids: list[int], replaced: Sequence[Replacement]) -> list[int]:
    """Put other tokens at some positions; each text must be one token."""
    result = list(ids)
    for item in replaced:
        own = model.ids(item.text)[model.first :]
        special = {token for token in own if token in model.ends}
        plain = [token for token in own if token not in special]
        if item.position >= len(ids) or len(plain) != 1:
            raise ArgumentError(
                f'`replaced` must be one token of the model; received "{item.text[:40]}", which is {len(plain)}. '
                "Take another word."
            )
        result[item.position] = plain[0]
    return result


def _padded(weights: Float[Tensor, "layers heads key"], width: int) -> Float[Tensor, "layers heads width"]:
    """Give zeros to positions that are not read yet."""
    result = weights.new_zeros(*weights.shape[:2], width)
    count = min(width, weights.size(-1))
    result[..., :count] = weights[..., :count]
    return result


def _candidates(model: TextModel, before: Tensor, after: Tensor) -> list[BeforeAfter]:
    count = min(CANDIDATES, before.numel())
    ids = list(dict.fromkeys([*before.topk(count).indices.tolist(), *after.topk(count).indices.tolist()]))
    first, second = before.exp(), after.exp()
    return [
        BeforeAfter(id=item, token=model.piece(item), before=float(first[item]), after=float(second[item]))
        for item in ids
    ]


def _output(model: TextModel, step: Step, continued: list[int]) -> Decoded:
    ids = [*step.output, *continued] if model.reads == "both" else [*step.ids[model.first :], *continued]
    ids = continued if model.reads == "masked" else ids
    return Decoded(tokens=[model.piece(item) for item in ids], ids=ids, text=model.decode(ids))
