"""Connections on which a request does not come, or comes in part, are closed."""

import socket
from urllib.parse import urlsplit

import pytest

from regard.studio.connections import PromptProtocol
from regard.studio.models import Models
from unit.studio.visiting import serving

LONG = 60  # seconds after which something is wrong
HEAD = "POST /api/overview HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
GOOD = HEAD + "{{}}"
HALVES = {
    "nothing": [""],
    "half a line": ["POST /api/ov"],
    "half a head": ["POST / HTTP/1.1\r\nHost: a\r\nX-A: "],
    "no body": [HEAD],
    "half a body": [HEAD + "{{"],
    "a chunk that never ends": [
        "POST /api/overview HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"
    ],
    "half a head after an answer": [GOOD, "POST /api/ov"],
    "half a body after an answer": [GOOD, HEAD + "{{"],
    "half a body of what is refused": [HEAD.replace("application/json", "text/plain") + "{{"],
}


class Impatient(PromptProtocol):
    """Waits as shortly as there is need."""

    head_seconds = body_seconds = 0.05


@pytest.fixture(scope="module")
def address():
    with serving(Models(), protocol=Impatient) as address:
        yield urlsplit(address)


def answered(visitor):
    """Read one answer."""
    data = b""
    while b"}" not in data:
        part = visitor.recv(4096)
        assert part
        data += part
    return data


@pytest.mark.parametrize("half", HALVES)
def test_half_a_request_is_not_waited_for(address, half):
    *whole, last = HALVES[half]
    with socket.create_connection((address.hostname, address.port), timeout=LONG) as visitor:
        for request in whole:
            visitor.sendall(request.format(host=address.netloc).encode())
            assert answered(visitor).startswith(b"HTTP/1.1 200")
        visitor.sendall(last.format(host=address.netloc).encode())
        rest = b""
        while part := visitor.recv(4096):  # until the server closes the connection
            rest += part
    assert rest == b"" or rest.startswith(b"HTTP/1.1 415")


def test_whole_requests_are_answered_one_after_the_other(address):
    with socket.create_connection((address.hostname, address.port), timeout=LONG) as visitor:
        for _ in range(3):
            visitor.sendall(GOOD.format(host=address.netloc).encode())
            assert answered(visitor).startswith(b"HTTP/1.1 200")
