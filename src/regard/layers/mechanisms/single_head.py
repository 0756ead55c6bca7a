"""What the single-head layers share: a memory kept as it is, and one call of the operator with the layer's score."""

from abc import ABC, abstractmethod

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Mask, Normalizer, Padding, Score
from regard.attention.normalize import NormalizeFunction
from regard.layers.attend import SOFTMAX, Attend
from regard.layers.attention_layer import Interface
from regard.layers.checks import check_size, check_width
from regard.layers.memory import Memory, check_memory


class SingleHeadAttention(nn.Module, ABC):
    """Attend over a memory with one score; a layer that inherits makes the score, and projects what it projects.

    `query_size` and `key_size` are checked where they are set; without them any width will do.
    """

    interface = Interface()

    def __init__(
        self,
        query_size: int | None = None,
        key_size: int | None = None,
        *,
        normalize: Normalizer | NormalizeFunction = SOFTMAX,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        for name, size in (("query_size", query_size), ("key_size", key_size)):
            if size is not None:
                check_size(name, size)
        self.query_size, self.key_size = query_size, key_size
        self.attend = Attend(normalize=normalize, dropout=dropout)

    @abstractmethod
    def build_score(self) -> Score:
        """Give the score with the parameters it has now."""

    def project_query(
        self, query: Float[Tensor, "batch query query_size"]
    ) -> Float[Tensor, "batch query compared_size"]:
        """Give the queries as they are compared: as they are."""
        return query

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Keep keys and values, by default the keys, as they are."""
        if self.key_size is not None:
            check_width("key", key, self.key_size)
        return Memory.of(key, key if value is None else value, mask)

    def forward(
        self,
        query: Float[Tensor, "batch query query_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch query value_size"] | Attended:
        """Attend to the memory once for each query."""
        if self.query_size is not None:
            check_width("query", query, self.query_size)
        check_memory(memory)
        result: Tensor | Attended = self.attend(
            self.project_query(query),
            memory.key,
            memory.value,
            score=self.build_score(),
            mask=memory.allowed(mask, query.size(1)),
            return_weights=return_weights,
        )
        return result
