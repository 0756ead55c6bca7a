"""What alignment gives: links, with the words they count and the weights they were read off."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from regard.data.corpora.pair import Link


@dataclass(frozen=True, kw_only=True, eq=False)
class Alignment:
    """The links between the words of a pair, and the weights they were read off."""

    source: tuple[str, ...]
    """The words that links count."""
    target: tuple[str, ...]
    """Likewise."""
    links: tuple[Link, ...]
    weights: Float[Tensor, "target source_and_nothing"]
    """How much each target word belongs to each source word; the last column is what fell on no word."""
    reverse_weights: Float[Tensor, "source target_and_nothing"] | None = None
    """The same from the other direction, where two were joined."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Words of both sides that a model read with other accents or case."""

    def turned(self) -> "Alignment":
        """Exchange the sides; the weights become `reverse_weights`, and there are none of this direction."""
        return Alignment(
            source=self.target,
            target=self.source,
            links=tuple(sorted(Link(link.target, link.source, link.sure) for link in self.links)),
            weights=self.weights.new_zeros(len(self.source), len(self.target) + 1),
            reverse_weights=self.weights,
            read_as=self.read_as,
        )
