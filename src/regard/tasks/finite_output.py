"""Outputs must be numbers: text that was chosen by NaN is no answer."""

import math
from collections.abc import Iterable

from regard.errors import NotFiniteError, brief


def check_output(probabilities: Iterable[float], *, of: str) -> None:
    """Raise where a probability, or its logarithm, is NaN; `of` is what the model read.

    >>> check_output([0.5, float("nan")], of="el libro")
    Traceback (most recent call last):
    regard.errors.NotFiniteError: The model must give probabilities; received NaN for 'el libro'. Its parameters may be
    damaged: take another checkpoint, or train it again.
    """
    if any(map(math.isnan, probabilities)):
        raise NotFiniteError(
            f"The model must give probabilities; received NaN for {brief(repr(of))}. Its parameters may be damaged: "
            "take another checkpoint, or train it again."
        )
