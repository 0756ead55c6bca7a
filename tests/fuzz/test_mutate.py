"""The fuzzer itself: the same damage each time, and something new each time."""

import json
import signal

import pytest

from fuzz.mutate import mutations, within

TABLE = json.dumps({"model": {"size": 12, "names": ["a", "b"]}, "version": "0.1"}).encode()


def test_the_same_seed_gives_the_same_damage() -> None:
    assert list(mutations(TABLE, 7, 80)) == list(mutations(TABLE, 7, 80))
    assert list(mutations(TABLE, 7, 80)) != list(mutations(TABLE, 8, 80))


@pytest.mark.parametrize("data", [TABLE, b"", b"\x00\xff" * 40, b"[section]\nkey = 12\n"])
def test_any_file_can_be_damaged(data: bytes) -> None:
    damaged = list(mutations(data, 1, 200))
    assert len(damaged) == 200
    assert len(set(damaged)) > 60
    assert max(map(len, damaged)) < 100_000


def test_what_does_not_end_is_ended() -> None:
    with pytest.raises(TimeoutError, match=r"still at work after 0\.05 seconds"), within(seconds=0.05):
        signal.pause()
