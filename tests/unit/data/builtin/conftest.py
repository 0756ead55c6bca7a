"""Samples drawn once: many laws are checked over the same thousands of pairs."""

from collections.abc import Iterator
from contextlib import contextmanager

import jaxtyping
import pytest

from regard.data.builtin import corpus
from regard.data.pair import Pair


@contextmanager
def unchecked_calls() -> Iterator[None]:
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(autouse=True)
def quick(unchecked: None) -> None:
    """Leave annotations unchecked: a sentence takes hundreds of small calls. `test_checked` checks them all."""


@pytest.fixture(scope="session")
def spanish() -> list[Pair]:
    with unchecked_calls():
        return corpus("builtin:es-en", split="train", size=5000) + corpus("builtin:es-en", split="long", size=300)


@pytest.fixture(scope="session")
def hindi() -> list[Pair]:
    with unchecked_calls():
        return corpus("builtin:hi-en", split="train", size=4000) + corpus("builtin:hi-en", split="long", size=100)
