"""Damage a file in many ways, the same ways each time: what the fuzz tests of this folder read.

`mutations(data, seed, count)` gives `count` damaged copies of `data`. The first are the corners that every reader
meets: nothing, half a file, bytes that are no text, other values, deep nesting, endless numbers. Then come random ones:
bits turned over, parts cut, doubled, moved or replaced by bytes that often hurt; and, of what is JSON, values exchanged
for others of another type, keys removed, doubled and renamed, and numbers made huge.

    for number, damaged in enumerate(mutations(data, seed=7, count=150)):
        path.write_bytes(damaged)
        with within(seconds=5):
            ...

Nothing here depends on time, on the machine or on what ran before.
"""

import json
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

DEPTH = 3_000
"""Brackets in one another, more than Python's parsers can follow."""
DIGITS = 5_000
"""Digits of a number, more than Python turns into an integer."""
NUMBERS = (b"0", b"-1", b"1e999", b"NaN", b"4294967290", b"9223372036854775808", b"1000000000000", b"9" * DIGITS)
HURTFUL = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\xe2\x80\xa8", b"\x1b]0;title\x07",
    b'"', b"\\", b"{", b"[" * 64, b"\n" * 8, b"\t", b"\\ud800", b"../../x", b"%s%n", b"A" * 4096,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 2**31, 4_294_967_290, 2**63, 10**12, 10**40, 0.5, -0.0, 1e308, "", "a", "0",
    "\x1b[31m", "x" * 300, "é\u2028", [], {}, [[]], [None], ["a", 1], {"a": 1}, {"kind": "other"},
)  # fmt: skip

Damage = Callable[[bytes, random.Random], bytes]


def mutations(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Give `count` damaged copies of `data`, the same for the same seed."""
    chance = random.Random(f"{seed} {len(data)}")
    corners = _corners(data)
    for number in range(count):
        if number < len(corners):
            yield corners[number]
            continue
        damaged = data
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            damaged = chance.choice(_WAYS)(damaged, chance)
        yield damaged


@contextmanager
def within(*, seconds: float) -> Iterator[None]:
    """End what takes longer than `seconds` by a `TimeoutError`, on the main thread."""

    def ring(number: int, frame: object) -> None:
        raise TimeoutError(f"still at work after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _corners(data: bytes) -> list[bytes]:
    """List what every reader meets sooner or later."""
    half = len(data) // 2
    return [
        b"",
        data[:half],
        data[:-1],
        data[half:],
        b"\x00" * len(data),
        b"\xff\xfe" + data,
        b"\xef\xbb\xbf" + data,
        data.replace(b"\n", b"\r\n"),
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        b"[" * DEPTH + b"]" * DEPTH,
        b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
        b"x = " + b"[" * DEPTH + b"]" * DEPTH,
        b"9" * DIGITS,
        b'{"a": ' + b"9" * DIGITS + b"}",
        data + data,
    ]


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data or b"\x00")
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _drop(data: bytes, chance: random.Random) -> bytes:
    start, end = _part(data, chance)
    return data[:start] + data[end:]


def _double(data: bytes, chance: random.Random) -> bytes:
    start, end = _part(data, chance)
    return data[:end] + data[start:end] + data[end:]


def _move(data: bytes, chance: random.Random) -> bytes:
    start, end = _part(data, chance)
    rest = data[:start] + data[end:]
    place = chance.randrange(len(rest) + 1)
    return rest[:place] + data[start:end] + rest[place:]


def _hurt(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    bad = chance.choice(HURTFUL)
    return data[:start] + bad + data[start + chance.choice((0, len(bad))) :]


def _number(data: bytes, chance: random.Random) -> bytes:
    """Replace one run of digits."""
    places = list(re.finditer(rb"-?\d+(?:\.\d+)?", data[:200_000]))
    if not places:
        return _hurt(data, chance)
    place = chance.choice(places)
    return data[: place.start()] + chance.choice(NUMBERS) + data[place.end() :]


def _value(data: bytes, chance: random.Random) -> bytes:
    """Change one value of what is JSON: another type, gone, doubled, renamed, nested."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return _number(data, chance)
    places = list(_places(tree))
    if not places:
        return json.dumps(chance.choice(VALUES)).encode()
    holder, key = chance.choice(places)
    match chance.randrange(5):
        case 0 | 1:
            holder[key] = chance.choice(VALUES)
        case 2:
            del holder[key]
        case 3:
            holder[key] = [holder[key]] if chance.random() < 0.5 else {"kind": holder[key]}
        case _ if isinstance(holder, dict):
            holder[f"{key}{chance.choice(('x', ' ', '_', chr(27)))}"] = holder.pop(key)
        case _:
            holder.insert(key, holder[key])
    return json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Give every table or list with each of its keys."""
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        entries = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, value in entries:
            yield holder, key
            waiting.append(value)


def _part(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 2, 7, 40, 400)))


_WAYS: tuple[Damage, ...] = (
    _flip,
    _cut,
    _drop,
    _double,
    _move,
    _hurt,
    _number,
    _number,
    _value,
    _value,
    _value,
    _value,
)
