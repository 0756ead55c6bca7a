"""Answers for people: pages with a map for each word, and the report of a run."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from regard.evaluation.questions import AnswerScores
from regard.tasks.page import Report, curves_html, make_html, make_report
from regard.tasks.questions.model import Answer
from regard.tasks.word_maps import CAVEAT, chances

_BASELINES = (("majority", "always the commonest answer"), ("question_only", "question alone"))


class Asking(NamedTuple):
    """An answer, the right one and the kind of the question, where they are known."""

    answer: Answer
    gold: str | None = None
    kind: str = ""


def answers_page(askings: Sequence[Asking], *, title: str) -> str:
    """Write a page of answers with a map for each word."""
    shown = "".join(map(asking_html, askings))
    return make_html(title, [f"<h1>{escape(title)}</h1><p><small>{escape(CAVEAT)}</small></p>{shown}"])


def asking_html(asking: Asking) -> str:
    """Draw one answer, as part of a page."""
    answer, gold = asking.answer, asking.gold
    mistake = f" (is {escape(gold)})" if gold is not None and gold != answer.answer else ""
    kind = f" <small>{escape(asking.kind)}</small>" if asking.kind else ""
    return (
        f"<section><h2>{escape(answer.question)} {escape(answer.answer)}{mistake}{kind}</h2>"
        f"<p><small>{escape(chances(answer.likeliest()))}</small></p>"
        f"{answer.attention.html(alt=f'{answer.question} What each word attends to in the picture.')}</section>"
    )


def questions_report(
    report: Report,
    *,
    figures: Mapping[str, float],
    scores: Mapping[str, AnswerScores],
    askings: Sequence[Asking],
    metrics: Sequence[Mapping[str, Any]],
) -> str:
    """Write `report.html`: figures, curves, accuracy by kind beside the baselines, and some pictures with maps."""
    side = "test" if "test" in scores else "valid"
    sections = [
        _kinds_html(figures, scores[side], side),
        f"<h2>Curves</h2>{curves_html(metrics, measure='accuracy', called='accuracy', unit='question')}",
        f"<h2>Pictures</h2><p><small>{escape(CAVEAT)}</small></p>{''.join(map(asking_html, askings))}",
    ]
    return make_report(report, sections)


def kind_rows(figures: Mapping[str, float], kinds: Sequence[str], side: str) -> list[tuple[str, ...]]:
    """Give accuracy by kind of question, beside the baselines, in percent."""
    named = [("all", ""), *((kind, f"_{kind}") for kind in kinds)]
    columns = ("accuracy", *(name for name, _ in _BASELINES))
    return [(name, *(f"{100 * figures[f'{side}_{item}{ending}']:.1f}" for item in columns)) for name, ending in named]


def _kinds_html(figures: Mapping[str, float], scores: AnswerScores, side: str) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, *cells in kind_rows(figures, list(scores.by_kind), side)
    )
    head = "".join(f"<th>{name}</th>" for name in ("", "model", *(label for _, label in _BASELINES)))
    return (
        f"<h2>Right answers by kind of question ({'test' if side == 'test' else 'validation'}, percent)</h2>"
        f"<table><tr>{head}</tr>{rows}</table>"
    )


def describe_answer_figures(figures: Mapping[str, float]) -> dict[str, str]:
    """Name the figures for people."""
    shown = {}
    for side, name in (("test", "test"), ("valid", "validation")):
        if f"{side}_accuracy" in figures:
            shown[f"accuracy, {name}"] = f"{100 * figures[f'{side}_accuracy']:.2f} %"
            for baseline, label in _BASELINES:
                shown[f"{label}, {name}"] = f"{100 * figures[f'{side}_{baseline}']:.2f} %"
    return shown | {name: f"{figures[name]:,.0f}" for name in ("answers", "parameters", "steps", "seconds")}
