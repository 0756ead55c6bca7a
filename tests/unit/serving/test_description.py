"""The OpenAPI description is tried out by schemathesis: whatever it allows, and whatever it forbids, is answered."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from regard.serving.limits import Limits
from unit.serving.served import serving

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
LIMITS = Limits(characters=300, sentences=4, beam=3, n_best=3, tokens=5, attention_tokens=40, wait=0.0)
PROBES = ("/health", "/ready", "/metrics")
POSTS = ("translate", "align", "generate", "classify", "ask", "attention")
OPERATIONS = [*(("GET", path) for path in (*PROBES, "/v1/models")), *(("POST", f"/v1/{name}") for name in POSTS)]


@pytest.fixture(scope="module")
def described(models):
    with serving(models, LIMITS) as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


def test_every_operation_is_tried(described):
    found = [item.ok() for item in described.get_all_operations()]
    assert {(item.method.upper(), item.path) for item in found} == set(OPERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "forbidden"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_nothing_that_is_asked_is_a_server_error(described, method, path, mode):
    if mode is GenerationMode.NEGATIVE and method == "GET":
        pytest.skip("nothing is sent that could be wrong")
    count = 0

    @settings(
        max_examples=100,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described[path][method].as_strategy(generation_mode=mode))
    def ask(case):
        nonlocal count
        case.call_and_validate(checks=CHECKS)
        count += 1

    ask()
    assert count >= (50 if method == "POST" else 1)
