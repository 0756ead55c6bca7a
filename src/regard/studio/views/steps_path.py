"""What lies before and after the attention of a query, and what it leads to, for the page."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from regard.data.text.special import END
from regard.inspection.trace.inspected import Inspection
from regard.inspection.trace.path import Path
from regard.studio.schema.steps import LensAnswer, PathAnswer, WordLogit
from regard.studio.tensors import Packed, pack
from regard.studio.text_models import TextModel
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator

LIKELY, LENS_WORDS = 8, 3
"""Words that are listed at the end, and after each layer."""


def write_path(thing: Any, path: Path, result: Inspection, query: int) -> PathAnswer:
    """Write what lies before and after attention, and what the query leads to."""
    taken = _taken_word(thing, result, query)

    def some(tensor: Tensor | None) -> Packed | None:
        return None if tensor is None else pack(tensor)

    return PathAnswer(
        query_input=some(None if path.query is None else path.query.inputs[0]),
        key_inputs=some(None if path.key is None else path.key.inputs),
        mixed=some(path.mixed),
        before=some(path.before),
        after=some(path.after),
        words=[] if path.logits is None else _words(thing, path.logits, LIKELY),
        taken=taken if path.logits is not None else None,
        lens=[
            LensAnswer(
                words=_words(thing, item.logits, LENS_WORDS),
                taken=0.0 if taken is None else float(item.logits.softmax(-1)[taken]),
            )
            for item in path.lens
        ],
    )


def _words(thing: Any, logits: Tensor, count: int) -> list[WordLogit]:
    chances = logits.softmax(-1)
    best = logits.topk(min(count, len(logits))).indices.tolist()
    return [
        WordLogit(token=name, id=number, logit=float(logits[number]), probability=float(chances[number]))
        for name, number in zip(_pieces(thing, best), best, strict=True)
    ]


def _pieces(thing: Any, ids: Sequence[int]) -> list[str]:
    """Name tokens that a model may output."""
    if isinstance(thing, Translator):
        return thing.tokenizers.target.pieces(list(ids))
    if isinstance(thing, TextModel):
        return [thing.piece(item) for item in ids]
    return [thing.tokenizer.piece(item) for item in ids]


def _taken_word(thing: Any, result: Inspection, query: int) -> int | None:
    """Give the token that a query of the decoder leads to."""
    if isinstance(thing, Translator):
        ids = [*thing.tokenizers.target.encode(result.target or "").ids, END]
    elif isinstance(thing, TextModel) and thing.reads == "causal":
        ids = thing.ids(result.text)[1:]
    elif isinstance(thing, LanguageModel):
        ids = [*thing.tokenizer.encode(result.text), *thing.tokenizer.encode(result.target or "")]
    else:
        return None
    return ids[query] if query < len(ids) else None
