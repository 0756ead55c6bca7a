"""Translate as one file: search, every output, and the hypotheses on the way, without a model."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from regard.data.text.special import END
from regard.studio.models import describe
from regard.studio.single_file import MAX_BYTES, Answer, Recorded, Watch, make_page, watch_nothing
from regard.studio.tensors import EXACT, pack
from regard.studio.views.translate import check_output, search_sentence, write_attention
from regard.tasks.translation.model import Translator
from regard.tasks.translation_attention import TranslationAttention, attention_of, read_source

MAX_PATHS = 4 * 2**20
"""Letters of answers on hypotheses that search had on its way; the others are there in any case."""


def translation_page(translator: Translator, text: str, *, beam: int = 5, watch: Watch = watch_nothing) -> str:
    """Give a page that shows one translation from every side, as the view Translate does."""
    return make_page(record_translation(translator, text, beam=beam, watch=watch))


def record_translation(translator: Translator, text: str, *, beam: int = 5, watch: Watch = watch_nothing) -> Recorded:
    """Ask whatever a visitor of one sentence may ask: search, every output, and the hypotheses on the way.

    Of more than `EXACT` weights the page gets rounded ones; the best output's rows then follow exactly, up to
    `MAX_BYTES` in all.
    """
    request = {"model": "", "text": text}
    source, _ = read_source(translator, text)
    result = search_sentence(translator, text, beam=beam)
    answers = [Answer("translate/search", request | {"beam": beam}, result)]
    outputs = [item["tokens"] for item in result["outputs"]]
    paths = outputs + [path for path in _paths(result["tree"]) if path not in outputs]
    size, on_the_way, left_out = len(json.dumps(result)), 0, 0
    rows: Iterator[Answer] = iter(())
    for done, tokens in enumerate(paths):
        if on_the_way > MAX_PATHS and tokens not in outputs:
            left_out = len(paths) - done
            break
        watch("recording hypotheses", done, len(paths))
        body = request | {"tokens": tokens}
        recorded = attention_of(translator, source, tokens)
        answers.append(Answer("translate/attention", body, write_attention(recorded, translator)))
        letters = len(json.dumps(answers[-1].answer))
        size, on_the_way = size + letters, on_the_way + letters
        if tokens in outputs:
            checks = check_output(translator, text, tokens) | {"others": []}
            answers.append(Answer("translate/checks", body, checks))
        rows = _rounded_rows(recorded, body) if done == 0 else rows
    for row in rows:
        size += len(json.dumps(row.answer))
        if size > MAX_BYTES:
            break
        answers.append(row)
    address = f"translate?{urlencode({'text': text, 'beam': beam})}"
    return Recorded("translate", address, [describe("model", translator)], answers, left_out)


def _rounded_rows(recorded: TranslationAttention, body: dict[str, Any]) -> Iterator[Answer]:
    """Give the exact rows of maps whose weights the page gets rounded."""
    for item in recorded.maps:
        for row in range(item.weights.size(2) if item.weights.numel() > EXACT else 0):
            weights = pack(item.weights[:, :, row])
            yield Answer("translate/row", body | {"map": item.id, "row": row}, {"weights": weights})


def _paths(tree: list[list[dict[str, Any]]]) -> list[list[int]]:
    """List the hypotheses that search kept, as tokens, shorter ones first."""
    result: list[list[int]] = []
    before: list[list[int]] = [[]]
    for step in tree:
        before = [[*before[item["parent"]], item["id"]] for item in step]
        result += [path for path, item in zip(before, step, strict=True) if item["kept"] and path[:-1].count(END) == 0]
    return result
