"""The case table against the oracle, and each precision against what it allows."""

import itertools

import pytest
import torch
from torch import Tensor

from catalogue.operator import LAYOUTS
from reference.cases import DEFAULTS, FACTORS, FLEX_TABLE, FUSED_TABLE, REFUSED, TABLE, Case, Row, build, name_of, valid
from reference.pairwise import impossible, pairwise
from regard.errors import ArgumentError, BackendError

pytestmark = pytest.mark.usefixtures("small_chunks")

#: How many units in the last place an answer may be off, whatever eager does: results are rounded.
UNITS = {torch.float32: 8, torch.bfloat16: 1, torch.float16: 1}


def farthest(found: Tensor, truth: Tensor) -> float:
    """Give the largest difference; infinities must stand in the same places."""
    found, truth = found.detach().cpu().double(), truth.detach().cpu().double()
    assert found.shape == truth.shape
    finite = truth.isfinite()
    assert torch.equal(found[~finite], truth[~finite])
    return float((found[finite] - truth[finite]).abs().max()) if finite.any() else 0.0


def allowance(times: int, plain: Tensor, truth: Tensor, dtype: torch.dtype) -> float:
    """Give the error allowed: a multiple of plain eager's, and a few units in the last place."""
    size = max(1.0, float(truth.detach().abs()[truth.isfinite()].max()) if truth.numel() else 0.0)
    return times * farthest(plain, truth) + UNITS[dtype] * torch.finfo(dtype).eps * size


def gradients(outcome: Tensor, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Pull a fixed random direction back to the inputs."""
    random = torch.Generator().manual_seed(5)
    direction = torch.randn(outcome.shape, generator=random, dtype=torch.float64).to(outcome)
    found = torch.autograd.grad(outcome, list(inputs.values()), direction, allow_unused=True, materialize_grads=True)
    return dict(zip(inputs, found, strict=True))


def leaves(case: Case) -> Case:
    for tensor in case.inputs.values():
        tensor.requires_grad_()
    return case


def compare_with_oracle(case: Case) -> None:
    """Check context, weights and log normalizer."""
    truth = [torch.from_numpy(array) for array in case.truth()]
    with torch.no_grad():
        context, weights, log_normalizer = case.attend()
    if case.query.dtype == torch.float64:
        assert farthest(context, truth[0]) < 1e-10
        assert farthest(weights, truth[1]) < 1e-10
        assert log_normalizer is None or farthest(log_normalizer, truth[2]) < 1e-10
        return
    plain_context, plain_weights = case.eager()
    dtype = case.query.dtype
    assert context.dtype == dtype
    assert farthest(context, truth[0]) <= allowance(2, plain_context, truth[0], dtype)
    assert farthest(weights, truth[1]) <= allowance(2, plain_weights, truth[1], dtype)


def compare_gradients(case: Case, device: torch.device | None = None) -> None:
    """Check the gradients against those of the reference in float64, which gradcheck vouches for."""
    exact = leaves(build({**case.row, "backend": "reference"}, device=device, dtype=torch.float64))
    truth = gradients(exact.attend().context, exact.inputs)
    found = gradients(leaves(case).attend().context, case.inputs)
    dtype = case.query.dtype
    if dtype == torch.float64:
        assert all(farthest(found[name], truth[name]) < 1e-10 for name in truth)
        return
    plain = gradients(case.eager()[0], case.inputs)
    for name in truth:
        assert farthest(found[name], truth[name]) <= allowance(3, plain[name], truth[name], dtype), name


@pytest.mark.parametrize("row", TABLE + FUSED_TABLE, ids=name_of)
def test_a_case_agrees_with_the_oracle(row: Row) -> None:
    compare_with_oracle(build(row))


@pytest.mark.parametrize("row", TABLE + FUSED_TABLE, ids=name_of)
def test_the_gradients_of_a_case_agree_with_the_reference(row: Row) -> None:
    compare_gradients(build(row))


@pytest.mark.gpu
@pytest.mark.parametrize("row", TABLE + FUSED_TABLE, ids=name_of)
def test_a_case_agrees_on_a_cuda_device(row: Row, cuda: torch.device) -> None:
    compare_with_oracle(build(row, device=cuda))
    compare_gradients(build(row, device=cuda), cuda)


@pytest.mark.gpu
@pytest.mark.compiled
@pytest.mark.parametrize("row", FLEX_TABLE, ids=name_of)
def test_flex_attention_agrees_with_the_oracle(row: Row, cuda: torch.device) -> None:
    compare_with_oracle(build(row, device=cuda))
    compare_gradients(build(row, device=cuda), cuda)


@pytest.mark.parametrize("row", REFUSED, ids=name_of)
def test_what_the_contract_refuses_raises(row: Row) -> None:
    case = build(row)
    expected = BackendError if row["backend"] != "reference" else ArgumentError
    with pytest.raises(expected):
        case.attend()
    if expected is BackendError:
        assert case.attend(backend=None).context.isfinite().all()


def test_the_table_covers_every_pair_that_may_meet() -> None:
    pairs = {pair for row in TABLE for pair in itertools.combinations(row.items(), 2)}
    for one, two in itertools.combinations(FACTORS, 2):
        for first, second in itertools.product(FACTORS[one], FACTORS[two]):
            assert (((one, first), (two, second)) in pairs) == valid({one: first, two: second})


def test_the_cover_is_small_and_the_same_every_time() -> None:
    assert pairwise(FACTORS, valid) == TABLE
    assert len(TABLE) < 2 * len(FACTORS["score"]) * len(FACTORS["mask"])
    assert {row["backend"] for row in impossible(FACTORS, valid) if "backend" in row} == {"sdpa", "chunked"}


def test_the_sizes_are_different_primes() -> None:
    case = build(DEFAULTS)
    sizes = [case.query.size(-2), case.key.size(-2), case.query.size(-1), case.value.size(-1)]
    sizes += [*LAYOUTS["three axes"].lead]
    assert len(set(sizes)) == len(sizes)
    assert all(size > 1 and all(size % divisor for divisor in range(2, size)) for size in sizes)
