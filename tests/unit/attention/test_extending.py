"""Things a user derives from ours: what they write is what is computed, on every backend, beside weights or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Concat,
    Cosine,
    Dot,
    Entmax,
    Gaussian,
    Padding,
    Rotary,
    ScaledDot,
    Shaw,
    Softmax,
    Window,
    attention,
    explain_backend,
)
from regard.attention import Inner, Position, Score
from regard.attention.kernels.flex_rules import mask_rule, varying_axes
from regard.attention.mask import key_offsets
from regard.errors import ArgumentError
from regard.layers import MultiHeadAttention

pytestmark = pytest.mark.usefixtures("small_chunks", "unchecked")

query, key, value = (torch.randn(2, 3, 17, 8, generator=torch.Generator().manual_seed(n)) for n in range(3))


class Capped(ScaledDot):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return 2 * torch.tanh(super().dense(query, key) / 2)


class Shifted(Dot):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return super().dense(query, key) + torch.arange(key.size(-2))


class Doubled(Bilinear):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return 2 * super().dense(query, key)


class Relu(Additive):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.relu(query.unsqueeze(-2) + key.unsqueeze(-3)) @ self.vector


class Negated(Concat):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return -super().dense(query, key)


class Flat(Gaussian):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return super().dense(query, key) / 10


class Absolute(Cosine):
    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        return super().dense(query, key).abs()


@dataclass(frozen=True)
class Sharp(Softmax):
    def __call__(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return torch.softmax(scores * 10, -1)


class Strict(Causal):
    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Tensor:
        return key_offsets(shape, device) < 0


class Odd(Padding):
    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Tensor:
        return super().dense(shape, device) & (torch.arange(shape[-1]) % 2 == 1)


class Ring(Window):
    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Tensor:
        return ~super().dense(shape, device)


@dataclass(frozen=True, eq=False)
class Near(Position):
    def mask(self, shape: Sequence[int], device: torch.device) -> Tensor:
        return self.offsets(shape, device).abs() <= 1


@dataclass(frozen=True, eq=False)
class Tilted(Position):
    def bias(self, score: object, query: Tensor, key: Tensor, shape: Sequence[int]) -> Tensor:
        return self.offsets(shape, query.device) * 0.5


@dataclass(frozen=True, eq=False)
class Halved(Position):
    def reweight(self, weights: Tensor) -> Tensor:
        return weights / 2


@dataclass(frozen=True, eq=False)
class Steep(Alibi):
    def bias(self, score: object, query: Tensor, key: Tensor, shape: Sequence[int]) -> Tensor:
        return super().bias(score, query, key, shape) * 3


@dataclass(frozen=True, eq=False)
class Dimmed(Shaw):
    def reweight(self, weights: Tensor) -> Tensor:
        return weights * 0.9


DERIVED: dict[str, dict[str, Any]] = {
    "Capped(ScaledDot)": {"score": Capped()},
    "Shifted(Dot)": {"score": Shifted()},
    "Doubled(Bilinear)": {"score": Doubled(torch.eye(8))},
    "Relu(Additive)": {"score": Relu(torch.ones(8))},
    "Relu(Additive), linear": {"score": Relu(torch.ones(8), activation="identity")},
    "Negated(Concat)": {"score": Negated(torch.ones(5, 16) / 9, torch.ones(5))},
    "Flat(Gaussian)": {"score": Flat()},
    "Absolute(Cosine)": {"score": Absolute(0.1)},
    "Sharp(Softmax)": {"normalize": Sharp()},
    "Strict(Causal)": {"mask": Strict()},
    "Strict(Causal) and padding": {"mask": Strict() & Padding(torch.tensor([17, 5]))},
    "Odd(Padding)": {"mask": Odd(torch.tensor([17, 5]))},
    "Ring(Window)": {"mask": Ring(2, 1)},
    "Position.mask": {"position": Near()},
    "Position.mask, causal": {"position": Near(), "mask": Causal()},
    "Position.bias": {"position": Tilted()},
    "Position.bias, causal": {"position": Tilted(), "mask": Causal()},
    "Position.reweight": {"position": Halved()},
    "Steep(Alibi)": {"position": Steep(slopes=torch.ones(3))},
    "Dimmed(Shaw)": {"position": Dimmed(keys=torch.ones(3, 8))},
}


@pytest.mark.parametrize("name", DERIVED)
def test_what_a_subclass_writes_is_what_is_computed(name: str) -> None:
    arguments = DERIVED[name]
    truth = attention(query, key, value, backend="reference", **arguments)
    report = explain_backend(query, key, value, **arguments)
    for backend in (None, *(name for name, reason in report.refusals.items() if reason is None)):
        found = attention(query, key, value, backend=backend, **arguments)
        torch.testing.assert_close(found, truth, atol=1e-5, rtol=1e-5)
    beside = attention(query, key, value, return_weights=True, **arguments)
    torch.testing.assert_close(beside.weights @ value, beside.context, atol=1e-5, rtol=1e-5)
    plain = attention(query, key, value, mask=Causal() if "mask" in arguments else None)
    assert not torch.allclose(truth, plain, atol=1e-3)


@pytest.mark.parametrize(
    "mask", [Strict(), Odd(torch.tensor([9, 5])), Ring(2, 1)], ids=lambda mask: type(mask).__name__
)
def test_a_derived_mask_keeps_its_rule(mask: Any) -> None:
    shape = (2, 3, 9, 9)
    rule, sizes = mask_rule(mask, shape, torch.device("cpu")), varying_axes(mask, shape)
    assert sizes == (2, 3)
    index = torch.meshgrid(*(torch.arange(size) for size in shape), indexing="ij")
    assert torch.equal(rule(*index), mask.dense(shape).expand(shape))


def test_a_subclass_without_a_definition_of_its_own_stays_on_the_fused_kernel() -> None:
    class Named(ScaledDot):
        pass

    assert explain_backend(query, key, score=Named()).chosen == "sdpa"


def test_a_subclass_may_state_a_form_for_its_definition() -> None:
    class Half(Capped):
        def dense(self, query: Tensor, key: Tensor) -> Tensor:
            return query @ key.mT / 2

        def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
            return Inner(query, key, None, 0.5)

    assert not Capped().has_inner
    assert explain_backend(query, key, score=Half()).chosen == "sdpa"
    truth = attention(query, key, score=Half(), backend="reference")
    torch.testing.assert_close(attention(query, key, score=Half()), truth, atol=1e-5, rtol=1e-5)


def test_shaw_does_not_take_a_score_that_is_linear_no_more() -> None:
    with pytest.raises(ArgumentError, match="must be linear in the key for Shaw"):
        attention(query, key, score=Capped(), position=Shaw(keys=torch.ones(3, 8)))


def test_a_score_of_ones_own() -> None:
    class Manhattan(Score):
        def dense(self, query: Tensor, key: Tensor) -> Tensor:
            return -(query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1)

        def hidden_size(self, query: Tensor, key: Tensor) -> int:
            return query.size(-1)

    assert explain_backend(query, key, score=Manhattan()).chosen == "chunked"
    truth = attention(query, key, score=Manhattan(), backend="reference")
    torch.testing.assert_close(attention(query, key, score=Manhattan()), truth, atol=1e-5, rtol=1e-5)


def test_a_derived_padding_is_not_read_by_its_lengths() -> None:
    layer = MultiHeadAttention(8, 2)
    with pytest.raises(ArgumentError, match="must speak of the keys alone"):
        layer.remember(torch.zeros(2, 5, 8), mask=Odd(torch.tensor([5, 3])))


def test_log_normalizers_are_for_the_softmax_itself() -> None:
    assert attention(query, key, normalize=Sharp(), return_weights=True).log_normalizer is None
    assert attention(query, key, normalize=Entmax(), return_weights=True).log_normalizer is None
    assert attention(query, key, position=Rotary(), return_weights=True).log_normalizer is not None
