"""Small random models behind a server, for its tests: no training, the same each time."""

import asyncio
import contextlib
import socket
import threading
from functools import cache

import httpx
from fastapi.testclient import TestClient

import regard
from fuzz.folders import KINDS
from regard.cli.serve import listen
from regard.serving.connections import make_server
from regard.serving.limits import Limits
from regard.serving.server import create_app
from unit.studio.visiting import make_folders

ADDRESS = "http://127.0.0.1:8766"
LONG = 60  # seconds after which something is wrong


def load_all(root):
    """Load a model of every kind, by name."""
    folders = {"translator": make_folders(root)["recurrent"]}
    for name in ("language", "ngram", "classifier", "residual", "questions", "captions"):
        folders[name] = root / name
        folders[name].mkdir()
        KINDS[name].make(folders[name])
    return {name: regard.load(folder) for name, folder in folders.items()}


@cache
def sentences():
    """Give sentences of different lengths, some twice, some with words that no model knows."""
    words = ["el", "libro", "la", "casa", "grande", "rojo", "Ana", "es", "de", "un", "perro", "come", "zzz"]
    return tuple(" ".join(words[(7 * n + k) % len(words)] for k in range(1 + n % 6)) for n in range(24))


def client(models, **how):
    """Ask a server without a socket."""
    return TestClient(create_app(models, **how), base_url=ADDRESS, raise_server_exceptions=False)


@contextlib.contextmanager
def serving(models, limits=None, protocol=None, **how):
    """Serve on a free port of loopback, and give its address."""
    limits = limits or Limits()
    listening = listen("127.0.0.1", 0)
    more = {} if protocol is None else {"protocol": protocol}
    server = make_server(create_app(models, limits=limits, **how), limits, **more)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(LONG)
        listening.close()
        assert not thread.is_alive()


def ask_at_once(address, bodies, endpoint="translate"):
    """Send all bodies at the same time, and give the replies in order."""

    async def all_of_them():
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=address, timeout=LONG, limits=limits, trust_env=False) as asking:
            return await asyncio.gather(*(asking.post(f"/v1/{endpoint}", json=body) for body in bodies))

    return asyncio.run(all_of_them())


def connect(address):
    """Open a plain connection."""
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=LONG)
