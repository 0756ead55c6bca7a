"""The table of classifiers says no more than its test texts can bear."""

import importlib.util
import math
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark():
    """Import the script, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("classifiers", ROOT / "benchmarks" / "classifiers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(**accuracies):
    return [{"task": "trec", "preset": preset.replace("_", "-"), "accuracy": one} for preset, one in accuracies.items()]


def test_the_error_of_a_difference_is_that_of_two_proportions(benchmark):
    one = math.sqrt(0.9 * 0.1 / 500)
    assert benchmark.difference_error(0.9, 0.9, 500) == pytest.approx(math.sqrt(2) * one)
    assert benchmark.difference_error(0.9, 0.5, 500) == pytest.approx(math.sqrt((0.09 + 0.25) / 500))


def test_a_lead_between_the_two_bounds_is_not_called_more(benchmark):
    told = benchmark.conclude("trec", rows(lstm=0.90, tf_idf=0.87))  # 2.7 is twice the error of 0.9 alone
    assert (
        "The first leads by 3.0 points, less than 4.0, two standard errors of a difference on 500 test texts." in told
    )
    assert "leads by 8.0 points, more than 4.4, two" in benchmark.conclude("trec", rows(lstm=0.90, tf_idf=0.82))


def test_the_page_that_is_kept_has_the_caveats_and_the_bounds(benchmark):
    page = (ROOT / "benchmarks" / "classifiers.md").read_text()
    assert benchmark.CAVEATS in page
    assert page.count("two standard errors of a difference on") == len(benchmark.TEST_TEXTS)
