"""What every test stands on: checked shapes, fixed seeds, one thread, the same hypothesis examples each time."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

# On some CPUs oneDNN's newest bf16 kernels die; torch reads this once, when it is imported.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import jaxtyping

if os.environ.get("JAXTYPING_DISABLE", "0") in ("0", "false", "False"):
    # Must come before regard is imported: from here on every annotation is checked on every call.
    jaxtyping.install_import_hook("regard", "typechecker.checked")

import hypothesis
import pytest
import torch

TESTS = Path(__file__).parent
torch.set_num_threads(1)

hypothesis.settings.register_profile(
    "regard",
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
#: For a hunt: `pytest --hypothesis-profile=thorough tests/laws`.
hypothesis.settings.register_profile("thorough", hypothesis.settings.get_profile("regard"), max_examples=1500)
hypothesis.settings.load_profile("regard")


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Start every test from the same random state."""
    torch.manual_seed(20260721)


#: Where tensors are the subject. `make test` checks shapes there alone: the checks double the time, even turned off.
CHECKED = ("laws", "reference", "unit/attention", "unit/layers", "unit/models", "unit/decoding")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of these folders `shapes`."""
    folders = {TESTS / folder for folder in CHECKED}
    for item in items:
        if folders & {*item.path.parents}:
            item.add_marker("shapes")


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Turn the shape checks off, as they are for users, so that our own message is what a wrong type meets."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make backend "chunked" take a few rows at a time even of a small problem."""
    from regard.attention.kernels import chunked

    monkeypatch.setattr(chunked, "CHUNK_SIZE", {"cpu": 400, "other": 400})


@pytest.fixture
def cuda() -> torch.device:
    """Give the CUDA device, for tests under the marker `gpu`."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    with warnings.catch_warnings():  # torch warns of itself where a backward pass is the first to use cuBLAS
        warnings.simplefilter("ignore")
        one = torch.ones(2, 2, device="cuda", requires_grad=True)
        (one @ one).sum().backward()
    return torch.device("cuda")
