"""Decoding: search over any `GeneratingModel`."""

from regard.decoding.decode import decode
from regard.decoding.ensemble import Ensemble
from regard.decoding.forced import force
from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_path import follow
from regard.decoding.search import Sampling, Search
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
