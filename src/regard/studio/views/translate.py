"""The view Translate: search, and the attention of any hypothesis."""

import math

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from regard.data.text.special import UNKNOWN
from regard.decoding.search import Search
from regard.decoding.tree import BeamTree
from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.schema.translate import (
    AttentionAnswer,
    ChecksAnswer,
    MapAnswer,
    NextToken,
    Node,
    OtherWeights,
    Output,
    OutputRequest,
    RowAnswer,
    RowRequest,
    SearchAnswer,
    SearchRequest,
    Side,
)
from regard.studio.tensors import pack, pack_map
from regard.tasks.attribution import attribute_translation
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import (
    MAX_TOKENS,
    AttentionMaps,
    TranslationAttention,
    attention_of,
    read_source,
    read_target,
    source_layers,
)
from regard.tasks.translation_attention import (
    Side as SideOfTranslation,
)
from regard.tasks.what_if import max_length

CANDIDATES = 8
PRUNED = 3
MAX_TREE = 64
"""Steps of a tree that are sent."""
MAX_CHECKED = 64
"""Tokens of a side up to which weights are checked: it takes as many readings as there are tokens."""


def router(models: Models) -> APIRouter:
    """Give the view's verbs."""
    made = APIRouter(prefix="/translate")

    @made.post("/search")
    async def search(body: SearchRequest, request: Request) -> SearchAnswer:
        opened = models.find(body.model, Translator)
        return await opened.ask(request, lambda translator: search_sentence(translator, body.text, beam=body.beam))

    @made.post("/attention")
    async def attention(body: OutputRequest, request: Request) -> AttentionAnswer:
        opened = models.find(body.model, Translator)
        return await opened.ask(request, lambda translator: write_attention(_record(translator, body), translator))

    @made.post("/row")
    async def exact(body: RowRequest, request: Request) -> RowAnswer:
        opened = models.find(body.model, Translator)
        recorded = await opened.ask(request, lambda translator: _record(translator, body))
        chosen = [item for item in recorded.maps if item.id == body.map]
        if not chosen or body.row >= chosen[0].weights.size(-2):
            raise ArgumentError(f'`map` and `row` must name a row that there is; received "{body.map}", {body.row}.')
        return RowAnswer(weights=pack(chosen[0].weights[:, :, body.row]))

    @made.post("/checks")
    async def checks(body: OutputRequest, request: Request) -> ChecksAnswer:
        opened = models.find(body.model, Translator)
        checked = await opened.ask(request, lambda translator: check_output(translator, body.text, body.tokens))
        return checked.model_copy(update={"others": await others(models, body, request)})

    return made


def _record(translator: Translator, body: OutputRequest) -> TranslationAttention:
    source, _ = read_source(translator, body.text)
    return attention_of(translator, source, body.tokens)


def search_sentence(translator: Translator, text: str, *, beam: int) -> SearchAnswer:
    """Search once, and give the n-best outputs and the tree."""
    source, cut = read_source(translator, text)
    search = Search(beam=beam, n_best=beam, max_length=max_length(translator, len(source.ids)))
    # What is read is cut here already, so that tree, outputs and attention are of the same tokens.
    outputs, tree = translator.search_tree(text, search, pruned=PRUNED, max_source_length=len(source.ids))
    return SearchAnswer(
        source=write_side(source),
        cut=cut,
        read=len(source.ids),
        limit=min(MAX_TOKENS, translator.reach.source),
        attends=source_layers(translator.model) != [],
        outputs=[
            Output(
                text=item.text,
                tokens=list(item.hypothesis.tokens),
                score=item.score,
                log_probability=item.log_probability,
                finished=item.finished,
            )
            for item in outputs
            if item.hypothesis.tokens
        ],
        tree=write_tree(tree, translator),
    )


def write_side(side: SideOfTranslation) -> Side:
    """Write the tokens of one side for the page."""
    unknown = {word for word, token in zip(side.word_of, side.ids, strict=True) if token == UNKNOWN}
    return Side(
        ids=side.ids,
        tokens=side.tokens,
        words=side.words,
        word_of=side.word_of,
        read_as=dict(side.read_as),
        unknown=sorted(unknown),
    )


def write_attention(recorded: TranslationAttention, translator: Translator) -> AttentionAnswer:
    """Write the attention of an output for the page."""
    rows = recorded.log_probabilities
    likeliest = rows.topk(min(CANDIDATES, rows.size(-1)), dim=-1)
    pieces = translator.tokenizers.target.pieces
    return AttentionAnswer(
        source=write_side(recorded.source),
        target=write_side(recorded.target),
        finished=recorded.finished,
        log_probabilities=[float(rows[index, token]) for index, token in enumerate(recorded.target.ids)],
        candidates=[
            [
                NextToken(token=name, id=number, probability=math.exp(value))
                for name, number, value in zip(pieces(ids), ids, values, strict=True)
            ]
            for ids, values in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
        ],
        maps=[write_map(item, translator.reading.head) for item in recorded.maps],
        norms=None if recorded.norms is None else pack(recorded.norms),
        rollout=None if recorded.rollout is None else pack(recorded.rollout),
    )


def write_map(maps: AttentionMaps, guided_head: int | None) -> MapAnswer:
    """Write the weights of one kind of attention for the page."""
    return MapAnswer(
        id=maps.id,
        layers=maps.layers,
        weights=pack_map(maps.weights),
        mask=None if maps.mask is None else pack(maps.mask.float()),
        guided_head=guided_head if maps.id == "cross" else None,
    )


def write_tree(tree: BeamTree, translator: Translator) -> list[list[Node]]:
    """Write a beam tree for the page, without what the rules forbade."""
    pieces = translator.tokenizers.target.pieces
    return [
        [
            Node(
                token=pieces([item.token])[0],
                id=item.token,
                log_probability=item.log_probability,
                score=item.score,
                parent=item.parent,
                kept=item.kept,
                ended=item.ended,
            )
            for item in step
            if math.isfinite(item.score)
        ]
        for step in tree.steps[:MAX_TREE]
    ]


def check_output(translator: Translator, text: str, tokens: list[int]) -> ChecksAnswer:
    """Measure what the weights of an output are checked against, and write it for the page."""
    source, _ = read_source(translator, text)
    read_target(translator, tokens)  # which refuses what is no translation
    longest = max(len(source.ids), len(tokens))
    if longest > MAX_CHECKED or len(source.ids) < 3 or not tokens:
        reason = f"more than {MAX_CHECKED} tokens" if longest > MAX_CHECKED else "a single word"
        return ChecksAnswer(
            occlusion=None, gradient=None, signed=None, uniform=None, skipped=f"Not measured for {reason}.", others=[]
        )
    result = attribute_translation(translator, source.ids, tokens)
    return ChecksAnswer(
        occlusion=pack(result.occlusion),
        gradient=pack(result.gradient),
        signed=None if result.signed is None else pack(result.signed),
        uniform=result.uniform,
        skipped="",
        others=[],
    )


async def others(models: Models, body: OutputRequest, request: Request) -> list[OtherWeights]:
    """Force the other open translators of the same design and vocabulary to the same output, and give their weights.

    Such models differ by their seeds alone, or by their data; others would attend elsewhere for other reasons.
    """
    chosen = models.find(body.model, Translator)
    result = []
    for item in models.all("translator"):
        if item.name == chosen.name or not await run_in_threadpool(_alike, item.thing, chosen.thing):
            continue
        recorded = await item.ask(request, lambda translator: _record(translator, body))
        if recorded.maps:
            result.append(OtherWeights(name=item.name, weights=pack_map(recorded.maps[0].weights)))
    return result


def _alike(translator: Translator, other: Translator) -> bool:
    """Return whether two translators are of one design and read and write the same tokens."""
    if translator.config is None or other.config is None or translator.config.model != other.config.model:
        return False
    return translator.tokenizers.to_json() == other.tokenizers.to_json()
