"""Which attention a recurrent decoder has: plain values, with their help under each field."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.config.checks import SIZES, check_above, check_choices, check_least, check_most

LuongScore: TypeAlias = Literal["dot", "scaled-dot", "general", "concat", "location"]


@dataclass(frozen=True, kw_only=True)
class FixedVectorSpec:
    """No attention: all that is known of the source is one vector, the encoder's last state."""

    kind: Literal["fixed"] = "fixed"
    context: Literal["initial", "every-step"] = "every-step"
    """Where the vector goes: it starts the decoder, and that is all; or it is also an input at every step."""

    def __post_init__(self) -> None:
        check_choices(self)


@dataclass(frozen=True, kw_only=True)
class DotSpec:
    """The plain inner product of state and memory; nothing is learned."""

    kind: Literal["dot"] = "dot"


@dataclass(frozen=True, kw_only=True)
class AdditiveSpec:
    """A tanh layer compares state and memory (Bahdanau)."""

    kind: Literal["additive"] = "additive"
    hidden_size: int | None = None
    """Width of the tanh layer; by default that of the state."""
    activation: Literal["tanh", "identity"] = "tanh"
    """With "identity" there is no tanh, and the weights are the same for every state: a misprint, to compare with."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "hidden_size")
        check_most(self, SIZES, "hidden_size")


@dataclass(frozen=True, kw_only=True)
class BilinearSpec:
    """A matrix compares state and memory."""

    kind: Literal["bilinear"] = "bilinear"


@dataclass(frozen=True, kw_only=True)
class GaussianSpec:
    """The nearer a memory is to the state, the more it counts (Nadaraya and Watson)."""

    kind: Literal["gaussian"] = "gaussian"
    bandwidth: float | None = None
    """How far "near" reaches at first; by default a tenth of the root of the width."""

    def __post_init__(self) -> None:
        check_above(self, 0, "bandwidth")


@dataclass(frozen=True, kw_only=True)
class CosineSpec:
    """The angle between state and memory."""

    kind: Literal["cosine"] = "cosine"
    temperature: float = 0.1
    """How even the weights are at first."""

    def __post_init__(self) -> None:
        check_above(self, 0, "temperature")


@dataclass(frozen=True, kw_only=True)
class MultiHeadSpec:
    """Multi-head attention: several heads, each with its own projections."""

    kind: Literal["multi-head"] = "multi-head"
    num_heads: int = 4
    """Attention heads; must divide the hidden size."""

    def __post_init__(self) -> None:
        check_least(self, 1, "num_heads")
        check_most(self, SIZES, "num_heads")


@dataclass(frozen=True, kw_only=True)
class LuongSpec:
    """Luong's global attention, which joins the context and the state into the attentional vector."""

    kind: Literal["luong"] = "luong"
    score: LuongScore = "general"
    """How state and memory are compared."""
    max_length: int = 128
    """The longest source, which score "location" must know."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "max_length")
        check_most(self, SIZES, "max_length")


@dataclass(frozen=True, kw_only=True)
class LocalSpec:
    """Luong's local attention: a window around one source position."""

    kind: Literal["local"] = "local"
    alignment: Literal["monotonic", "predictive"] = "predictive"
    """Center of the window: the number of the step (local-m), or predicted from the state (local-p)."""
    half_width: float = 10.0
    """How far the window reaches to each side."""
    score: LuongScore = "general"
    """How state and memory are compared inside it."""
    max_length: int = 128
    """The longest source, which score "location" must know."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_above(self, 0, "half_width")
        check_least(self, 1, "max_length")
        check_most(self, SIZES, "max_length")


AttentionSpec: TypeAlias = (
    FixedVectorSpec
    | DotSpec
    | AdditiveSpec
    | BilinearSpec
    | GaussianSpec
    | CosineSpec
    | MultiHeadSpec
    | LuongSpec
    | LocalSpec
)
