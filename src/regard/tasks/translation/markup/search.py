"""Search for translations of texts with marks: the model reads words alone, and the marks are put back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from jaxtyping import Float
from torch import Tensor

from regard.decoding.search import Search
from regard.errors import ArgumentError, near_miss
from regard.tasks.translation.influence import influences
from regard.tasks.translation.inputs import check_texts
from regard.tasks.translation.markup.insertion import insert_marks
from regard.tasks.translation.markup.marks import Marked, read_marks
from regard.tasks.translation.markup.stand_ins import stand_in
from regard.tasks.translation.markup.tokens import Form, Markup
from regard.tasks.translation.result import Translation
from regard.tasks.translation.terms import Glossary, Searching, search_with_terms


def search_marked(
    translator: Searching,
    texts: Sequence[str],
    search: Search | None = None,
    *,
    form: Form | None = None,
    terms: Glossary | Mapping[str, str] | None = None,
    prefixes: Sequence[str] | None = None,
    weights: bool = False,
    batch_tokens: int | None = None,
) -> list[list[Translation]]:
    """Give the `n_best` outputs of each text as `Translator.search` does, with its marks and the terms it must have.

    - `form`: what marks are carried along, None for none; `Translation.with_marks` is the output that has them.
    - `terms`: translations that outputs must have where the source has what they translate; see `search_with_terms`.
    """
    check_texts("texts", texts)
    if form is not None and form not in get_args(Form):
        forms = get_args(Markup)
        raise ArgumentError(f'`markup` must be {", ".join(forms)} or None; received "{form}".{near_miss(form, forms)}')
    if form == "placeholders":
        return _search_with_placeholders(
            translator, texts, search, terms=terms, prefixes=prefixes, weights=weights, batch_tokens=batch_tokens
        )
    return _search_by_links(
        translator, texts, search, form=form, terms=terms, prefixes=prefixes, weights=weights, batch_tokens=batch_tokens
    )


def _search_with_placeholders(
    translator: Searching,
    texts: Sequence[str],
    search: Search | None,
    *,
    terms: Glossary | Mapping[str, str] | None,
    prefixes: Sequence[str] | None,
    weights: bool,
    batch_tokens: int | None,
) -> list[list[Translation]]:
    """Let words stand for the placeholders; where one is lost, leave them out and put them back by links."""
    result: dict[int, list[Translation]] = {}
    standing = {index: item for index, text in enumerate(texts) if (item := stand_in(text)) is not None}
    rows = search_with_terms(
        translator,
        [item.text for item in standing.values()],
        search,
        terms=terms,
        prefixes=None if prefixes is None else [prefixes[index] for index in standing],
        weights=weights,
        batch_tokens=batch_tokens,
    )
    for (index, item), row in zip(standing.items(), rows, strict=True):
        outputs = [item.put_back(output, texts[index]) for output in row]
        if all(output is not None for output in outputs):
            result[index] = [output for output in outputs if output is not None]
    others = [index for index in range(len(texts)) if index not in result]
    by_links = _search_by_links(
        translator,
        [texts[index] for index in others],
        search,
        form="placeholders",
        terms=terms,
        prefixes=None if prefixes is None else [prefixes[index] for index in others],
        weights=weights,
        batch_tokens=batch_tokens,
    )
    result |= dict(zip(others, by_links, strict=True))
    return [result[index] for index in range(len(texts))]


def _search_by_links(
    translator: Searching,
    texts: Sequence[str],
    search: Search | None,
    *,
    form: Form | None,
    terms: Glossary | Mapping[str, str] | None,
    prefixes: Sequence[str] | None,
    weights: bool,
    batch_tokens: int | None,
) -> list[list[Translation]]:
    """Take the marks out, and put them back where the words that they belong to went."""
    marked = None if form is None else [read_marks(text, form) for text in texts]
    plain = list(texts) if marked is None else [item.plain for item in marked]
    outputs = search_with_terms(
        translator,
        plain,
        search,
        terms=terms,
        prefixes=prefixes,
        weights=weights or (marked is not None and any(item.marks for item in marked)),
        batch_tokens=batch_tokens,
    )
    if marked is None:
        return outputs
    chosen = [output for row, item in zip(outputs, marked, strict=True) if item.marks for output in row]
    linked = iter(influences(translator, chosen))
    return [
        [_with_marks(output, text, item, next(linked) if item.marks else None) for output in row]
        for text, item, row in zip(texts, marked, outputs, strict=True)
    ]


def _with_marks(
    output: Translation, text: str, marked: Marked, influence: Float[Tensor, "target source"] | None
) -> Translation:
    return replace(output, source=text, with_marks=insert_marks(marked, output.text, influence))
