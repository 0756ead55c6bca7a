"""What the view Mechanisms offers: every score, normalizer, mask and position, as a request names it.

Each choice has the class's name as its `kind` and the class's arguments as its fields, so that it can be made, and
written as Python, in one module.
"""

from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

import regard


def _rectangular(table: list[list[float]]) -> list[list[float]]:
    lengths = sorted({len(row) for row in table})
    if len(lengths) > 1:
        raise ValueError(f"its rows must be equally long; received lengths {lengths}")
    return table


Number = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Row = Annotated[list[Number], Field(min_length=1, max_length=13)]
Positive = Annotated[float, Field(ge=1e-3, le=1e6, allow_inf_nan=False)]
Table = Annotated[
    list[Annotated[list[Number], Field(min_length=1, max_length=8)]],
    Field(min_length=1, max_length=13),
    AfterValidator(_rectangular),
]
Index = Annotated[int, Field(ge=-1, le=99)]


class Choice(BaseModel):
    """One mechanism with its settings. Lists become tensors, and so do the numbers named in `tensors`."""

    model_config = ConfigDict(extra="forbid")
    tensors: ClassVar[frozenset[str]] = frozenset()

    @property
    def name(self) -> str:
        """The name of its class in `regard`."""
        return str(self.model_dump()["kind"])

    def build(self) -> Any:
        """Make it."""
        made = {key: torch.tensor(value) if self._is_tensor(key, value) else value for key, value in self._settings()}
        return getattr(regard, self.name)(**made)

    def code(self) -> str:
        """Write what makes it."""
        parts = [
            f"{key}={as_tensor(value) if self._is_tensor(key, value) else repr(value)}"
            for key, value in self._settings()
        ]
        return f"{self.name}({', '.join(parts)})"

    def _settings(self) -> list[tuple[str, Any]]:
        return list(self.model_dump(exclude={"kind"}, exclude_none=True).items())

    def _is_tensor(self, key: str, value: Any) -> bool:
        return isinstance(value, list) or key in self.tensors


def as_tensor(numbers: Any) -> str:
    """Write numbers as Python writes a tensor of them."""
    return f"torch.tensor({numbers!r})"


class DotChoice(Choice):
    """`Dot`."""

    kind: Literal["Dot"]


class ScaledDotChoice(Choice):
    """`ScaledDot`."""

    kind: Literal["ScaledDot"]
    scale: Number | None = None


class BilinearChoice(Choice):
    """`Bilinear`."""

    kind: Literal["Bilinear"]
    matrix: Table


class AdditiveChoice(Choice):
    """`Additive`."""

    kind: Literal["Additive"]
    vector: Row
    activation: Literal["tanh", "identity"] = "tanh"


class ConcatChoice(Choice):
    """`Concat`."""

    kind: Literal["Concat"]
    matrix: Table
    vector: Row


class GaussianChoice(Choice):
    """`Gaussian`."""

    kind: Literal["Gaussian"]
    bandwidth: Positive = 1.0


class CosineChoice(Choice):
    """`Cosine`."""

    kind: Literal["Cosine"]
    temperature: Positive = 1.0


class LocationChoice(Choice):
    """`Location`."""

    kind: Literal["Location"]
    matrix: Table


class PlainNormalizerChoice(Choice):
    """A normalizer without settings."""

    kind: Literal["Softmax", "Sparsemax", "Hard", "Mean"]


class EntmaxChoice(Choice):
    """`Entmax`."""

    kind: Literal["Entmax"]
    alpha: Number = 1.5


class SigmoidChoice(Choice):
    """`Sigmoid`."""

    kind: Literal["Sigmoid"]
    bias: Number = 0.0


class SinkChoice(Choice):
    """`Sink`, of one head."""

    kind: Literal["Sink"]
    score: Number = 0.0
    tensors = frozenset({"score"})


class CausalChoice(Choice):
    """`Causal`."""

    kind: Literal["Causal"]


class WindowChoice(Choice):
    """`Window`; no limit by default."""

    kind: Literal["Window"]
    left: int | None = Field(None, le=99)
    right: int | None = Field(None, le=99)

    def _settings(self) -> list[tuple[str, Any]]:
        return [("left", self.left), ("right", self.right)]


class PaddingChoice(Choice):
    """`Padding`."""

    kind: Literal["Padding"]
    lengths: Index
    tensors = frozenset({"lengths"})


class DocumentsChoice(Choice):
    """`Documents`."""

    kind: Literal["Documents"]
    ids: list[Index] = Field(min_length=1, max_length=8)
    key_ids: list[Index] | None = Field(None, min_length=1, max_length=8)


class RotaryChoice(Choice):
    """`Rotary`."""

    kind: Literal["Rotary"]
    base: float = Field(10000.0, gt=1, le=1e9)


class AlibiChoice(Choice):
    """`Alibi`, of one head."""

    kind: Literal["Alibi"]
    slopes: Number = 0.5
    tensors = frozenset({"slopes"})


class RelativeBiasChoice(Choice):
    """`RelativeBias`."""

    kind: Literal["RelativeBias"]
    table: Row


class RelativeBucketsChoice(Choice):
    """`RelativeBuckets`."""

    kind: Literal["RelativeBuckets"]
    table: Row
    max_distance: int = Field(128, ge=1, le=10_000)
    both_ways: bool = False


class ShawChoice(Choice):
    """`Shaw`."""

    kind: Literal["Shaw"]
    keys: Table
    values: Table | None = None


class GaussianWindowChoice(Choice):
    """`GaussianWindow`."""

    kind: Literal["GaussianWindow"]
    center: Row
    half_width: Positive


Scoring = (
    DotChoice
    | ScaledDotChoice
    | BilinearChoice
    | AdditiveChoice
    | ConcatChoice
    | GaussianChoice
    | CosineChoice
    | LocationChoice
)
Normalizing = PlainNormalizerChoice | EntmaxChoice | SigmoidChoice | SinkChoice
Masking = CausalChoice | WindowChoice | PaddingChoice | DocumentsChoice
Positioning = (
    RotaryChoice | AlibiChoice | RelativeBiasChoice | RelativeBucketsChoice | ShawChoice | GaussianWindowChoice
)
