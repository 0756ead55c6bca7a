"""Samples drawn once: many laws are checked over the same thousands of pairs."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from regard.data.corpora.pair import Link, Pair

Draw = Callable[..., list[Pair]]

_SCRIPT = """
import json, sys
from itertools import islice
from regard.data.builtin import stream
arguments = json.loads(sys.argv[1])
size = arguments.pop("size")
json.dump([(pair.source, pair.target, pair.links) for pair in islice(stream(**arguments), size)], sys.stdout)
"""


@pytest.fixture(scope="session")
def draw() -> Draw:
    """Draw many pairs in a process of its own, where no annotation is checked: a sentence takes hundreds of calls."""
    drawn: dict[str, list[Pair]] = {}

    def draw(**arguments: Any) -> list[Pair]:
        key = json.dumps(arguments)
        if key not in drawn:
            command = [sys.executable, "-c", _SCRIPT, key]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            drawn[key] = [
                Pair(source=source, target=target, links=tuple(Link(*link) for link in links))
                for source, target, links in json.loads(output)
            ]
        return drawn[key]

    return draw


@pytest.fixture(scope="session")
def spanish(draw: Draw) -> list[Pair]:
    short = draw(name="builtin:es-en", split="train", size=10_000)[:6000]
    return short + draw(name="builtin:es-en", split="long", size=600)[:300]


@pytest.fixture(scope="session")
def hindi(draw: Draw) -> list[Pair]:
    short = draw(name="builtin:hi-en", split="train", size=10_000)[:4000]
    return short + draw(name="builtin:hi-en", split="long", size=600)[:100]
