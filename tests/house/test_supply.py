"""constraints.txt names every package that an installation brings, and the documents on security are found."""

import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from house.source import ROOT

LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAMED = {canonicalize_name(re.split(r"[=<]", line)[0]) for line in LINES}
#: What a torch that is built for a GPU brings itself, in the versions that it asks for.
OF_TORCH = ("nvidia-", "cuda-", "triton")


def needed(requirements):
    """Give the packages of requirements, and those that they require, as they are installed here."""
    found: dict[str, set[str]] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name == "regard" or (name in found and found[name] >= one.extras):
            continue
        found[name] = found.get(name, set()) | one.extras
        parts = [Requirement(text) for text in metadata.requires(name) or ()]
        waiting += [part for part in parts if _wanted(part, {"", *found[name]})]
    return {name for name in found if not name.startswith(OF_TORCH)}


def _wanted(part, extras):
    return part.marker is None or any(part.marker.evaluate({"extra": extra}) for extra in extras)


def test_every_package_is_named_with_a_version():
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    inner = [text for name in ("datasets", "ctranslate2", "onnx", "hub") for text in extras[name]]
    wanted = needed([*project["dependencies"], *extras["dev"], *inner])
    assert len(wanted) > 50
    assert wanted - NAMED == set()


def test_the_build_is_bounded_and_named():
    [hatchling] = PROJECT["build-system"]["requires"]
    assert re.fullmatch(r"hatchling>=[\d.]+,<2", hatchling)
    assert "hatchling" in NAMED


def test_versions_are_pinned_and_sorted():
    assert sorted(LINES, key=str.casefold) == LINES
    loose = [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]
    assert loose == ["torch<2.14"]
    assert not [name for name in NAMED if name.startswith((*OF_TORCH, "regard"))]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_who_finds_something_is_told_where_to_report_it(name):
    assert "(SECURITY.md)" in (ROOT / name).read_text()
