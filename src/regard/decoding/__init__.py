"""Decoding: search over any `GeneratingModel`."""

from regard.decoding.ensemble import Ensemble
from regard.decoding.forced import force
from regard.decoding.greedy import follow, greedy
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Sampling, Search, decode
from regard.decoding.tree import BeamTree, Candidate, beam_tree

__all__ = [
    "BeamTree",
    "Candidate",
    "Ensemble",
    "Hypothesis",
    "Sampling",
    "Search",
    "beam_tree",
    "decode",
    "follow",
    "force",
    "greedy",
]
