"""The view Compare: two models, or two heads of one, on the same sentence; quality by length; training as it goes."""

from functools import partial

from fastapi import APIRouter, Request

from regard.data.text.special import END
from regard.decoding.search import Search
from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.schema.compare import (
    CurveAnswer,
    CurveRequest,
    LengthsAnswer,
    NamesRequest,
    PairAnswer,
    PairOutput,
    PairRequest,
    RunsAnswer,
)
from regard.studio.schema.parts import EmptyRequest
from regard.studio.schema.translate import AttentionAnswer
from regard.studio.views.compare_curves import read_on, run_folders, state_of
from regard.studio.views.compare_lengths import Lengths
from regard.studio.views.translate import write_attention
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import as_line
from regard.tasks.translation_attention import attention_of, read_source
from regard.tasks.what_if import MAX_OUTPUT, max_length


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/compare")
    lengths = Lengths(models)

    @made.post("/attention")
    async def attention(body: PairRequest, request: Request) -> PairAnswer:
        return await attend_with_both(models, body, request)

    @made.post("/measure")
    def measure(body: NamesRequest) -> LengthsAnswer:
        lengths.begin(body.models)
        return lengths.answer(body.models)

    @made.post("/lengths")
    def measured(body: NamesRequest) -> LengthsAnswer:
        return lengths.answer(body.models)

    @made.post("/runs")
    def runs(body: EmptyRequest) -> RunsAnswer:
        return RunsAnswer(runs=[state_of(name, folder) for name, folder in run_folders(models).items()])

    @made.post("/curve")
    def curve(body: CurveRequest) -> CurveAnswer:
        folders = run_folders(models)
        if body.run not in folders:
            raise ArgumentError(
                f'`run` must be one that the studio was started with; received "{body.run[:80]}". '
                f"{'Known: ' + ', '.join(folders) if folders else 'None is'}."
            )
        return read_on(state_of(body.run, folders[body.run]), folders[body.run].metrics, body.offset, body.file)

    return made


async def attend_with_both(models: Models, body: PairRequest, request: Request) -> PairAnswer:
    """Let both models translate, then force both to the same output, and record what each attends to."""
    both = [models.find(name, Translator) for name in (body.model, body.other or body.model)]
    different = list({item.name: item for item in both}.values())
    outputs = [await item.ask(request, lambda translator: _translate(translator, body.text)) for item in different]
    outputs = outputs if len(outputs) == 2 else outputs * 2
    target = body.target
    if body.forced != "target":
        target = outputs[body.forced == "second"].text
        for item in different:
            target = await item.ask(request, partial(_shortened, target=target))
    attended = [
        await item.ask(request, partial(_force, name=item.name, text=body.text, target=target)) for item in different
    ]
    return PairAnswer(
        models=(both[0].name, both[1].name),
        outputs=(outputs[0], outputs[1]),
        target=target,
        attention=(attended[0], attended[-1]),
    )


def _translate(translator: Translator, text: str) -> PairOutput:
    """Give the best of a beam."""
    source, cut = read_source(translator, text)
    longest = max_length(translator, len(source.ids))
    best = translator.search([text], Search(max_length=longest), max_source_length=len(source.ids))[0][0]
    return PairOutput(text=best.text, score=best.score, log_probability=best.log_probability, cut=cut)


def _force(translator: Translator, *, name: str, text: str, target: str) -> AttentionAnswer:
    """Record what a model attends to as it is forced to output a text, and the probabilities of its tokens."""
    source, _ = read_source(translator, text)
    tokens = [*translator.tokenizers.target.encode(translator.read([target], side="target")[0].text).ids, END]
    most = _most(translator)
    if len(tokens) > most:
        raise ArgumentError(
            f"`target` must have at most {most - 1} tokens of {name}; received {len(tokens) - 1}. Shorten it."
        )
    return write_attention(attention_of(translator, source, tokens), translator)


def _shortened(translator: Translator, *, target: str) -> str:
    """Leave out the end of an output that is too long for a model with `</s>`."""
    tokenizer = translator.tokenizers.target
    ids = tokenizer.encode(target).ids
    count = min(len(ids), _most(translator) - 1)
    while len(tokenizer.encode(target).ids) >= _most(translator):  # half a character may be written as more
        target, count = as_line(tokenizer.decode(ids[:count])), count - 1
    return target


def _most(translator: Translator) -> int:
    """Give how many tokens a translator may output, `</s>` included."""
    return min(MAX_OUTPUT, translator.reach.target or MAX_OUTPUT)
