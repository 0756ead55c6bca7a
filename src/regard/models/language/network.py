"""What every language model offers, and what those that are trained by gradients share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.models.sequence.protocol import Rows

Itself = TypeVar("Itself", bound="ResumableState")


@runtime_checkable
class ResumableState(Rows, Protocol):
    """A state that one stretch of text hands on to the next."""

    def detach(self: Itself) -> Itself:
        """Cut the gradient: what came before is constant."""

    @classmethod
    def join(cls: type[Itself], parts: Sequence[Itself]) -> Itself:
        """Put the rows of several states one behind the other."""


class NextWord(NamedTuple):
    """What one step gives."""

    log_probabilities: Float[Tensor, "rows new vocabulary"]
    """Of every word, after each of the new tokens."""
    state: Any
    """For the next step."""
    weights: Float[Tensor, "rows layers heads new positions"] | None = None
    """How much each new token attended to each position, the last of which is its own; None if not asked for."""


class Reading(NamedTuple):
    """What reading gives: `output(features)` are the logits of the word after each token."""

    features: Float[Tensor, "rows new features"]
    state: Any
    weights: Float[Tensor, "rows layers heads new positions"] | None = None


@runtime_checkable
class NextWordModel(Protocol):
    """Reads tokens and predicts what follows each: `GeneratingModel` without a source."""

    vocabulary_size: int

    def start(self, rows: int, *, capacity: int | None = None) -> Any:
        """Give the state before any token; `capacity` reserves so many tokens at once."""

    def step(self, tokens: Int[Tensor, "rows new"], state: Any, *, weights: bool = False) -> NextWord:
        """Read the next tokens, one or more. Asking for weights changes nothing else."""


class LanguageNetwork(nn.Module, ABC):
    r"""A language model that is trained by gradients.

    $$p(y_{t+1} \mid y_{\le t}) = \text{softmax}(W_o f_t + b_o)$$

    where $f_t$ are the features that `read` gives and $W_o$ is `output`.

    - `forward` is `read`: a whole stretch of text at once, for training. `step` gives log-probabilities.
    - `carries` tells whether a stretch goes on from the state of the one before it, which gradients do not cross.
    """

    carries: ClassVar[bool] = True
    output: nn.Linear

    @property
    def vocabulary_size(self) -> int:
        """How many tokens it knows."""
        return self.output.out_features

    @property
    def reach(self) -> int | None:
        """How many tokens it can read at once; None where there is no limit."""
        return None

    @abstractmethod
    def start(self, rows: int, *, capacity: int | None = None) -> Any:
        """Give the state before any token."""

    @abstractmethod
    def read(self, tokens: Int[Tensor, "rows new"], state: Any = None, *, weights: bool = False) -> Reading:
        """Read a stretch of text, from `state` on, or from nothing."""

    def forward(self, tokens: Int[Tensor, "rows new"], state: Any = None) -> Reading:
        """Read a stretch of text."""
        return self.read(tokens, state)

    def step(self, tokens: Int[Tensor, "rows new"], state: Any, *, weights: bool = False) -> NextWord:
        """Read the next tokens, and predict what follows each."""
        reading = self.read(tokens, state, weights=weights)
        return NextWord(self.output(reading.features).float().log_softmax(-1), reading.state, reading.weights)


class History(NamedTuple):
    """The last tokens of each row, for models that use no others; -1 where there were none."""

    tokens: Int[Tensor, "rows count"]

    @classmethod
    def empty(cls, rows: int, count: int, device: torch.device | None = None) -> "History":
        """Hold no tokens yet."""
        return cls(torch.full((rows, count), -1, device=device))

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.tokens.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "History":
        """Take these rows."""
        return History(self.tokens.index_select(0, rows))

    def detach(self) -> "History":
        """Give itself: whole numbers have no gradient."""
        return self

    @classmethod
    def join(cls, parts: Sequence["History"]) -> "History":
        """Put the rows of several one behind the other."""
        return cls(torch.cat([part.tokens for part in parts]))

    def then(self, tokens: Int[Tensor, "rows new"]) -> Int[Tensor, "rows all"]:
        """Give the remembered tokens and the new ones behind them."""
        return torch.cat([self.tokens, tokens], dim=1)

    def after(self, tokens: Int[Tensor, "rows new"]) -> "History":
        """Remember the last of what is now there."""
        length = self.tokens.size(1)
        both = self.then(tokens)
        return History(both[:, both.size(1) - length :])
