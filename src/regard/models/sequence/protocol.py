"""What every generating model offers, and all that search knows of it."""

from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

Itself = TypeVar("Itself", bound="Rows")


@runtime_checkable
class Rows(Protocol):
    """Tensors, batch first, whose rows can be taken, repeated and re-ordered."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def select(self: Itself, rows: Int[Tensor, " chosen"]) -> Itself:
        """Take these rows, in this order; a row may come twice."""


MemoryRows = TypeVar("MemoryRows", bound=Rows)
StateRows = TypeVar("StateRows", bound=Rows)


#: What one step gives: log-probabilities of every word after each new token, (rows, new, vocabulary); the state for the
#: next step; and, if asked for and if the model attends, the weights, (rows, layers, heads, new, source).
Stepped: TypeAlias = tuple[
    Float[Tensor, "rows new vocabulary"], StateRows, Float[Tensor, "rows layers heads new source"] | None
]


@runtime_checkable
class GeneratingModel(Protocol[MemoryRows, StateRows]):
    """Encodes a source once, then generates word after word.

    Memory is per sentence, state per hypothesis. Where there are more hypotheses than sentences, there are equally
    many for each, and they lie side by side: of rows · n hypotheses, number r belongs to sentence r // n. So beam
    search re-orders the state alone, `state.select(rows)`, and the memory is never repeated. When a sentence leaves,
    its rows are left out of both.
    """

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None) -> MemoryRows:
        """Read the source, of which `lengths` tokens count in each row."""

    def start(self, memory: MemoryRows, *, capacity: int | None = None) -> StateRows:
        """Give the state before any token, one hypothesis per sentence. `capacity` reserves so many tokens at once."""

    def step(
        self, tokens: Int[Tensor, "rows new"], state: StateRows, memory: MemoryRows, *, weights: bool = False
    ) -> Stepped[StateRows]:
        """Read the next tokens, one or more, and predict what follows each. Asking for weights changes nothing else."""


#: Any of them, for search, which hands memory and state through without opening them.
AnyModel: TypeAlias = GeneratingModel[Any, Any]
