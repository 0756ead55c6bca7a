"""All exercises in the order of the course."""

from regard.course.chapters import (
    c01_counting,
    c02_recurrence,
    c03_gates,
    c04_bottleneck,
    c05_lookup,
    c06_bahdanau,
    c07_luong,
    c08_maps,
    c09_pooling,
    c10_structured,
    c11_self_attention,
    c12_query_key_value,
    c13_scaling,
    c14_masks,
    c15_positions,
    c16_heads,
    c17_transformer,
    c18_cross_attention,
    c19_vision,
    c20_tf_idf,
    c21_cost,
)
from regard.course.exercise import Exercise
from regard.course.puzzles import masks, positions, scores
from regard.errors import ArgumentError, nearest

CHAPTERS: dict[str, str] = {
    "1": "Counting words",
    "2": "Feed-forward and recurrent networks",
    "3": "LSTM and GRU",
    "4": "Sequence to sequence, and its bottleneck",
    "5": "Attention as soft look-up",
    "6": "Bahdanau",
    "7": "Luong, global and local",
    "8": "What maps show, and do not show",
    "9": "Pooling and kernels",
    "10": "Lin's sentence embedding",
    "11": "Self-attention without parameters",
    "12": "Query, key, value",
    "13": "Scaling",
    "14": "Masks",
    "15": "Positions",
    "16": "Many heads",
    "17": "The Transformer",
    "18": "Cross-attention and image questions",
    "19": "Channel and spatial attention",
    "20": "TF-IDF as static attention",
    "21": "Cost and parallelism",
    "p": "Puzzles",
}
"""Titles by number; p holds the puzzles."""

_PUZZLES = sorted(
    (*scores.PUZZLES, *masks.PUZZLES, *positions.PUZZLES), key=lambda puzzle: int(puzzle.number.partition(".")[2])
)

EXERCISES: tuple[Exercise, ...] = (
    *c01_counting.EXERCISES,
    *c02_recurrence.EXERCISES,
    *c03_gates.EXERCISES,
    *c04_bottleneck.EXERCISES,
    *c05_lookup.EXERCISES,
    *c06_bahdanau.EXERCISES,
    *c07_luong.EXERCISES,
    *c08_maps.EXERCISES,
    *c09_pooling.EXERCISES,
    *c10_structured.EXERCISES,
    *c11_self_attention.EXERCISES,
    *c12_query_key_value.EXERCISES,
    *c13_scaling.EXERCISES,
    *c14_masks.EXERCISES,
    *c15_positions.EXERCISES,
    *c16_heads.EXERCISES,
    *c17_transformer.EXERCISES,
    *c18_cross_attention.EXERCISES,
    *c19_vision.EXERCISES,
    *c20_tf_idf.EXERCISES,
    *c21_cost.EXERCISES,
    *_PUZZLES,
)
"""Those of the chapters, then the puzzles."""


def find(number: str) -> Exercise:
    """Give the exercise of this number, such as 7.3, or p.5 for a puzzle.

    >>> find("7.3").title, find("P.5").title
    ('Local-p weights', 'A causal mask')
    """
    for exercise in EXERCISES:
        if exercise.number == number.strip().lower():
            return exercise
    numbers = [exercise.number for exercise in EXERCISES]
    raise ArgumentError(
        f"`number` must be that of an exercise, such as 7.3 or p.5; received {number}. "
        f"{nearest(number, numbers) if len(number) > 2 else ''} `regard course list` shows them all.".replace(
            ".  ", ". "
        )
    )


def of_chapter(chapter: str) -> list[Exercise]:
    """Give the exercises of one chapter; p gives the puzzles."""
    if chapter.lower() not in CHAPTERS:
        raise ArgumentError(
            f"`chapter` must be from 1 to {len(CHAPTERS) - 1}, or p for the puzzles; received {chapter}."
        )
    return [exercise for exercise in EXERCISES if exercise.chapter == chapter.lower()]
