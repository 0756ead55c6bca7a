"""Greedy decoding: always the likeliest next token."""

from jaxtyping import Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.one_path import follow
from regard.models.sequence.protocol import AnyModel


def greedy(
    model: AnyModel,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    start: int,
    end: int,
    max_length: int | None = None,
    weights: bool = False,
) -> list[Hypothesis]:
    r"""Say the likeliest token after those said so far, until the end token.

    $$y_i = \arg\max_y p(y \mid y_{<i}, x)$$

    One hypothesis for each row of `source`, in order. Put the model into evaluation mode first: dropout would act.

    - `start`, `end`: the tokens that open and close an output.
    - `max_length`: tokens said at most; by default twice as many as the source has, and twenty more.
    - `weights`: also give what each token looked at, per layer and head. The tokens are the same.
    """
    return follow(
        model,
        source,
        lengths,
        choose=_likeliest,
        start=start,
        end=end,
        max_length=max_length,
        weights=weights,
    )


def _likeliest(log_probabilities: Tensor) -> Tensor:
    return log_probabilities.argmax(-1)
