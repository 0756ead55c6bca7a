"""Damage what clients send, and what servers answer: only errors on purpose come out, and the next request works."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import torch

from fuzz.mutate import mutations, within
from regard.client import _unpack
from regard.errors import RegardError
from regard.serving.connections import ServerProtocol
from regard.serving.keys import read_keys
from regard.serving.limits import Limits
from regard.studio.tensors import pack, pack_weights
from unit.serving.served import client, connect, load_all, serving
from unit.serving.test_endpoints import PICTURE

SECONDS, CASES = 20, 60
LIMITS = Limits(characters=400, sentences=8, beam=3, n_best=3, tokens=5, attention_tokens=40, body=2**16, wait=0.0)
#: What a damaged request may be answered with: never 5xx.
EXPECTED = {200, 400, 401, 403, 404, 405, 411, 413, 415, 422}
BODIES: dict[str, dict[str, Any]] = {
    "translate": {"text": ["el libro", "la casa"], "beam": 2, "n_best": 2, "alignment": True, "length_penalty": 0.5},
    "translate marks": {
        "text": ["el <b>libro</b>&amp;<br/>", "<i>la</i> casa"],
        "markup": "html",
        "terms": {"la": "the"},
    },
    "align": {"pairs": [{"source": "el libro", "target": "the book"}], "words": "marks"},
    "generate": {"text": "the", "max_tokens": 3, "temperature": 0.5, "top_k": 3, "top_p": 0.9, "seed": 4},
    "classify": {"text": ["the cat"], "model": "classifier"},
    "ask": {"image": PICTURE, "questions": ["the cat"]},
    "attention": {"text": "el libro", "target": "the book", "model": "translator"},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return load_all(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def asking(models):
    with client(models, limits=LIMITS) as opened:
        yield opened


def attack_bodies(asking: Any, endpoint: str, *, seed: int, count: int) -> list[str]:
    """Send damaged bodies to an endpoint, and list what should not have come back."""
    content, found = json.dumps(BODIES[endpoint]).encode(), []
    for number, damaged in enumerate([content, *mutations(content, seed, count)]):
        with within(seconds=SECONDS):
            reply = asking.post(
                f"/v1/{endpoint.split(maxsplit=1)[0]}", content=damaged, headers={"content-type": "application/json"}
            )
        wrong = reply.status_code not in EXPECTED or (number == 0 and reply.status_code != 200)
        if wrong or (reply.status_code != 200 and set(reply.json()) != {"error"}):
            found.append(f"case {number}: {reply.status_code} {reply.text[:200]} for {damaged[:200]!r}")
    return found


@pytest.mark.parametrize("endpoint", BODIES)
def test_damaged_bodies_are_refused(asking, endpoint):
    assert attack_bodies(asking, endpoint, seed=7, count=CASES) == []


def attack_heads(address: str, *, seed: int, count: int) -> list[str]:
    """Send damaged requests, heads and all, over connections of their own; the server must answer the next one."""
    body = json.dumps(BODIES["classify"]).encode()
    head = "POST /v1/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    content, found = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, []
    for number, damaged in enumerate([content, *mutations(content, seed, count)]):
        with connect(address) as connection:
            connection.sendall(damaged[: 2**16])
            reply = b""
            try:
                while part := connection.recv(2**16):
                    reply += part
            except ConnectionError:
                pass
        status = int(reply.split()[1]) if reply.startswith(b"HTTP/1.1 ") else 0
        if (status and status not in EXPECTED) or (number == 0 and status != 200):
            found.append(f"case {number}: {status} for {damaged[:200]!r}")
    if httpx.get(f"{address}/health", trust_env=False).status_code != 200:
        found.append("the server is not alive")
    return found


class Prompt(ServerProtocol):
    """Waits for half a request as shortly as there is need."""

    head_seconds = body_seconds = 0.2


def test_damaged_requests_leave_the_server_alive(models):
    with serving({"classifier": models["classifier"]}, LIMITS, protocol=Prompt) as address:
        assert attack_heads(address, seed=7, count=30) == []


class Reader(NamedTuple):
    """What is read, and by whom."""

    content: bytes
    read: Callable[[bytes, Path], object]


def read_packed(content: bytes, folder: Path) -> object:
    return _unpack(json.loads(content))


def read_key_file(content: bytes, folder: Path) -> object:
    (folder / "keys").write_bytes(content)
    return read_keys(folder / "keys", None)


def _readers() -> Iterator[tuple[str, Reader]]:
    weights = torch.linspace(0, 1, 24).view(2, 3, 4)
    yield "exact weights", Reader(json.dumps(pack(weights)).encode(), read_packed)
    yield "packed weights", Reader(json.dumps(pack_weights(weights, exact=0)).encode(), read_packed)
    yield "a file of keys", Reader(b"# of Ana\n0123456789abcdef\nfedcba9876543210\n", read_key_file)


READERS = dict(_readers())


def attack_reader(reader: Reader, folder: Path, *, seed: int, count: int) -> list[str]:
    """Let damaged content be read: errors of regard alone may come out."""
    found = []
    for number, damaged in enumerate([reader.content, *mutations(reader.content, seed, count)]):
        try:
            with within(seconds=SECONDS):
                reader.read(damaged, folder)
        except RegardError as error:
            if not number or "\n" in str(error):
                found.append(f"case {number}: {error}")
        except (ValueError, RecursionError) as error:
            if reader.read is not read_packed or not _is_no_json(damaged):
                found.append(f"case {number}: {type(error).__name__}: {error}")
        except Exception as error:
            found.append(f"case {number}: {type(error).__name__}: {error}")
    return found


def _is_no_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return True
    return False


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_and_replies_are_errors_on_purpose(tmp_path, name):
    assert attack_reader(READERS[name], tmp_path, seed=7, count=200) == []
