"""The tree that beam search grows: what was considered at every step, what was kept, what was cut off."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor

from regard.decoding.beam import beam_search
from regard.decoding.history import History
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.models.sequence.protocol import AnyModel


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One continuation that was considered."""

    token: int
    log_probability: float
    """Of this token, given those before it."""
    score: float
    """Of the hypothesis so far, as search ranks."""
    parent: int
    """Its index among the candidates of the step before; 0 in the first step."""
    kept: bool
    """False where it was cut off."""
    ended: bool
    """True where the output is complete."""


@dataclass(frozen=True, kw_only=True)
class BeamTree:
    """The candidates of each step, best first."""

    steps: tuple[tuple[Candidate, ...], ...]


def beam_tree(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    search: Search,
    start: int,
    end: int,
    prefix: Sequence[Sequence[int]] | None = None,
    pruned: int = 5,
) -> list[BeamTree]:
    """Search as `decode` does, and give for each row the tree, with the `pruned` best of what was cut off each step."""
    return _trees(
        beam_search(model, source, lengths, search=search, start=start, end=end, prefix=prefix, pruned=pruned)
    )


def decode_with_tree(
    model: AnyModel, source: Int[Tensor, "batch source"], *, search: Search, start: int, end: int, pruned: int = 5
) -> list[tuple[list[Hypothesis], BeamTree]]:
    """Search once, and give for each row the outputs of `decode` with the tree of `beam_tree`."""
    history = beam_search(model, source, search=search, start=start, end=end, pruned=pruned)
    return list(zip(history.hypotheses(search.n_best), _trees(history), strict=True))


def _trees(history: History) -> list[BeamTree]:
    """Give the tree of each sentence of a search."""
    steps: list[list[tuple[Candidate, ...]]] = [[] for _ in history.lengths]
    for step in history.steps:
        columns = [step.token, step.log_probability, step.score, step.parent, step.kept, step.ended]
        listed = [column.tolist() for column in columns]
        for index, sentence in enumerate(step.sentences.tolist()):
            picks = zip(*(column[index] for column in listed), strict=True)
            named = (dict(zip(_FIELDS, pick, strict=True)) for pick in picks)
            steps[sentence].append(tuple(Candidate(**item) for item in named))
    return [BeamTree(steps=tuple(rows)) for rows in steps]


_FIELDS = ("token", "log_probability", "score", "parent", "kept", "ended")
