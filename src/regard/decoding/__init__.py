"""Decoding: search over any `GeneratingModel`."""

from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_path import follow

__all__ = ["Hypothesis", "follow", "greedy"]
