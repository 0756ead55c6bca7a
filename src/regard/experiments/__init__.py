"""Experiments: what the lectures on attention rest on, each measured here and now, on one core: most in under
a minute, those that train translators in a few.

Each file is one of them and reads from top to bottom like a page of a lecture: the idea with its paper, what is set up
and measured, the tables, the figure, and three sentences computed from the numbers.
"""

from regard.errors import ArgumentError, nearest
from regard.experiments import (
    dissimilar,
    four_curves,
    gradient_to_source,
    influence,
    kernel_regression,
    long_range_recall,
    luong_bahdanau,
    luong_table,
    penalty,
    positions,
    scaling,
    sequential_operations,
    similar_words,
    stacking,
    transformer_rnn,
    vanishing_gradients,
    word_links,
)
from regard.experiments.experiment import Experiment, Result, Settings, write

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Settings", "find", "write"]

EXPERIMENTS: tuple[Experiment, ...] = (
    vanishing_gradients.EXPERIMENT,
    gradient_to_source.EXPERIMENT,
    long_range_recall.EXPERIMENT,
    four_curves.EXPERIMENT,
    word_links.EXPERIMENT,
    luong_bahdanau.EXPERIMENT,
    luong_table.EXPERIMENT,
    sequential_operations.EXPERIMENT,
    transformer_rnn.EXPERIMENT,
    influence.EXPERIMENT,
    kernel_regression.EXPERIMENT,
    dissimilar.EXPERIMENT,
    similar_words.EXPERIMENT,
    scaling.EXPERIMENT,
    positions.EXPERIMENT,
    stacking.EXPERIMENT,
    penalty.EXPERIMENT,
)
"""All of them, in the order of the lectures."""


def find(name: str) -> Experiment:
    """Give the experiment of this name.

    >>> find("scaling").idea
    'the scaled dot product'
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = [experiment.name for experiment in EXPERIMENTS]
    raise ArgumentError(
        f"`name` must be an experiment; received {name}. {nearest(name, names)} `regard experiment --list` shows them."
    )
