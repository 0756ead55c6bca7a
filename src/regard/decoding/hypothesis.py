"""The result of search: an output with its probability and, on request, its attention weights."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class Hypothesis:
    """One output for one sentence."""

    tokens: tuple[int, ...]
    """The output, the end token included where it came."""
    log_probabilities: tuple[float, ...]
    """Of each token, given those before it."""
    finished: bool
    """False where the longest length came before the end token."""
    score: float = 0.0
    """What search ranks by: the log-probability, divided by a power of the length, less penalties."""
    weights: Float[Tensor, "layers heads target source"] | None = None
    """How much each token attended to each source token, padding left out, if asked for and if the model attends."""

    @property
    def log_probability(self) -> float:
        """That of the whole output."""
        return sum(self.log_probabilities)
