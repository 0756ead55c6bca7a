"""Clients that hang up, wait too long, send too slowly or do not read: their work is freed, and others are answered."""

import contextlib
import json
import socket
import struct
import threading

import httpx
import pytest

from regard.serving import routes
from regard.serving.connections import ServerProtocol
from regard.serving.limits import Limits
from unit.serving.served import LONG, ask_at_once, connect, serving

HEAD = "POST /v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"


class Impatient(ServerProtocol):
    """Waits as shortly as there is need."""

    head_seconds = body_seconds = read_seconds = 0.05


class Door:
    """Stops a translator where it begins to search, until it may go on."""

    def __init__(self, translator, monkeypatch):
        self.inside, self.go = threading.Event(), threading.Event()
        self.own, self.calls, self.ended = translator.search, 0, []
        self.model = translator.model
        monkeypatch.setattr(translator, "search", self.search)

    def search(self, *args, **kwargs):
        self.calls += 1
        self.inside.set()
        assert self.go.wait(LONG)
        try:
            result = self.own(*args, **kwargs)
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        self.ended.append("whole")
        return result


@pytest.fixture
def door(models, monkeypatch):
    return Door(models["translator"], monkeypatch)


def send(address, path, body, *, connection=None):
    """Send a request without waiting for its reply."""
    connection = connection or connect(address)
    content = json.dumps(body).encode()
    connection.sendall(HEAD.format(path=path, size=len(content)).encode() + content)
    return connection


def hang_up(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def figure(address, name, labels):
    text = httpx.get(f"{address}/metrics", trust_env=False).text
    rows = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return float(rows.get(f"{name}{{{labels}}}", 0))


def wait_until(condition):
    for _ in range(600):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("nothing came of it")


@pytest.fixture
def one(models):
    """The translator alone, computing a sentence at a time; the first is computed before any client asks."""
    with serving({"translator": models["translator"]}, Limits(batch=1, wait=0.0)) as address:
        wait_until(lambda: httpx.get(f"{address}/ready", trust_env=False).status_code == 200)
        yield address


def test_whoever_hangs_up_frees_the_work(one, door):
    """In the queue it leaves, and in the model it ends at the next layer."""
    running = send(one, "translate", {"text": ["el libro"]})
    assert door.inside.wait(LONG)
    waiting = send(one, "translate", {"text": ["la casa"]})
    wait_until(lambda: figure(one, "regard_queue_items", 'model="translator"') == 1)
    for connection in (waiting, running):
        hang_up(connection)
    labels = 'model="translator",reason="disconnected"'
    wait_until(lambda: figure(one, "regard_cancelled_total", labels) == 2)
    door.go.set()
    [reply] = ask_at_once(one, [{"text": ["un perro"]}])
    assert reply.status_code == 200
    assert door.calls == 2  # the one that waited was never begun
    assert door.ended == ["VisitorGone", "whole"]


def test_a_request_that_takes_too_long_is_given_up(models, door):
    with serving({"translator": models["translator"]}, Limits(batch=1, wait=0.0, timeout=0.2)) as address:
        door.go.set()
        wait_until(lambda: httpx.get(f"{address}/ready", trust_env=False).status_code == 200)
        door.go.clear()
        before = door.calls
        replies = ask_at_once(address, [{"text": ["el libro"]}, {"text": ["la casa"]}])
        assert [reply.status_code for reply in replies] == [504, 504]
        assert replies[0].json()["error"] == (
            "A request must be answered within 0.2 s; this was not. Ask for less. The limit is `timeout`."
        )
        door.go.set()
        wait_until(lambda: door.ended[-1:] == ["VisitorGone"])
        assert door.calls == before + 1


def test_a_queue_that_is_full_is_429(models, door):
    with serving({"translator": models["translator"]}, Limits(batch=1, wait=0.0, queue=1)) as address:
        door.go.set()
        wait_until(lambda: httpx.get(f"{address}/ready", trust_env=False).status_code == 200)
        door.go.clear()
        door.inside.clear()
        first = send(address, "translate", {"text": ["el libro"]})
        assert door.inside.wait(LONG)
        second = send(address, "translate", {"text": ["la casa"]})
        wait_until(lambda: figure(address, "regard_queue_items", 'model="translator"') == 1)
        [reply] = ask_at_once(address, [{"text": ["un perro"]}])
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")
        assert "The limit is `queue`." in reply.json()["error"]
        assert httpx.get(f"{address}/ready", trust_env=False).status_code == 503
        door.go.set()
        assert first.recv(99).startswith(b"HTTP/1.1 200")
        assert second.recv(99).startswith(b"HTTP/1.1 200")
        first.close()
        second.close()


def test_a_text_that_nobody_reads_is_not_generated(models):
    """The server stops after some pieces, and forgets the text when the client hangs up."""
    limits = Limits(tokens=10**6, streams=1)
    with serving({"language": models["ngram"]}, limits) as address:
        connection = connect(address)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        send(address, "generate", {"text": "the", "max_tokens": 10**6}, connection=connection)
        assert connection.recv(12).startswith(b"HTTP/1.1 200")
        refused = httpx.post(f"{address}/v1/generate", json={"text": "a"}, trust_env=False, timeout=LONG)
        assert (refused.status_code, refused.json()["error"]) == (
            429,
            "At most 1 texts may be generated by language, and so much is asked of it. The limit is `streams`. Ask "
            "again in 1 s.",
        )
        hang_up(connection)
        wait_until(lambda: figure(address, "regard_streams", 'model="language"') == 0)
        assert figure(address, "regard_cancelled_total", 'model="language",reason="disconnected"') == 1
        again = httpx.post(f"{address}/v1/generate", json={"text": "a"}, trust_env=False, timeout=LONG)
        assert again.text.endswith('{"done": true}\n')


def test_texts_are_generated_side_by_side(models):
    bodies = [{"text": "the", "seed": seed, "max_tokens": 12, "stream": False} for seed in range(3)]
    with serving({"language": models["language"]}) as address:
        replies = ask_at_once(address, bodies, endpoint="generate")
    from regard.decoding.search import Sampling

    offline = [models["language"].generate("the", max_tokens=12, sampling=Sampling(seed=seed)) for seed in range(3)]
    assert [reply.json()["text"] for reply in replies] == offline


@pytest.mark.parametrize(
    "sent", ["", "POST /v1/tr", HEAD.format(path="translate", size=20), "GET /health HTTP/1.1\r\n"]
)
def test_half_a_request_is_not_waited_for(models, sent):
    with serving({"ngram": models["ngram"]}, protocol=Impatient) as address, connect(address) as connection:
        connection.sendall(sent.encode())
        assert connection.recv(4096) == b""
        assert httpx.get(f"{address}/health", trust_env=False).status_code == 200


def test_a_client_that_does_not_read_is_left(models, monkeypatch):
    """A reply larger than what the system holds for a client waits for it, but not for ever."""
    size = 60_000_000
    monkeypatch.setattr(routes, "reply", lambda value: large_reply(size))
    with serving({"ngram": models["ngram"]}, protocol=Impatient) as address, connect(address) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        threading.Event().wait(1.0)  # longer than a client may take
        received = 0
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(2**20):
                received += len(part)
    assert 0 < received < size


def large_reply(size):
    from fastapi.responses import Response

    return Response(b"x" * size, media_type="text/plain")


def test_a_server_that_ends_finishes_what_it_took(models, door):
    """Whoever was taken is answered, running or waiting; then nobody listens."""
    with serving({"translator": models["translator"]}, Limits(batch=1, wait=0.0)) as address:
        door.go.set()
        wait_until(lambda: httpx.get(f"{address}/ready", trust_env=False).status_code == 200)
        door.go.clear()
        door.inside.clear()
        first = send(address, "translate", {"text": ["el libro"]})
        assert door.inside.wait(LONG)
        second = send(address, "translate", {"text": ["la casa"]})
        wait_until(lambda: figure(address, "regard_queue_items", 'model="translator"') == 1)
        threading.Timer(0.5, door.go.set).start()  # after the server was asked to end
    for connection in (first, second):
        assert connection.recv(99).startswith(b"HTTP/1.1 200")
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        connect(address)


@pytest.mark.parametrize(
    "head",
    ["Content-Length: 1000000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n400\r\n" + "x" * 1024 + "\r\n"],
    ids=["by its length", "in chunks"],
)
def test_an_oversized_body_is_refused_before_it_has_come(models, head):
    with serving({"ngram": models["ngram"]}, Limits(body=1000)) as address, connect(address) as connection:
        begin = "POST /v1/generate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{begin}{head}".encode())
        reply = b""
        while part := connection.recv(4096):  # until the server closes the connection
            reply += part
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b"A request must have at most 1,000 bytes; received more. Send less." in reply
