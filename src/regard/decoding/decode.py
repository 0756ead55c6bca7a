"""One door to every search: greedy, beam, sampling."""

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from regard.decoding.beam import explore
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.models.sequence.protocol import AnyModel


def decode(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    search: Search,
    start: int,
    end: int,
    weights: bool = False,
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Search as `search` says, and give its `n_best` outputs of each row of `source`, in order, best first.

    There are fewer where search found fewer, but never none. Put the model into evaluation mode first: dropout would
    act.

    - `start`, `end`: the tokens that open and close an output.
    - `weights`: also give what each token looked at, per layer and head. The outputs are the same.
    - `prefix`: for each row the tokens that its outputs must begin with, without `start`; an empty list for none.
    """
    history = explore(model, source, lengths, search=search, start=start, end=end, weights=weights, prefix=prefix)
    return history.hypotheses(search.n_best)
