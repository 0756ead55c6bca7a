"""`regard serve`: models behind HTTP, for programs."""

import contextlib
import ipaddress
import os
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from regard.cli.flags import AsTyped
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.serving.keys import Keys
    from regard.serving.limits import Limits

VARIABLE = "REGARD_API_KEY"
PORT = 8766


def serve(
    folders: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model or run folders.")],
    host: Annotated[str, typer.Option(help="The address to listen on; elsewhere than here a key is needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 for any that is free.")] = PORT,
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"API keys, one a line; or in the variable {VARIABLE}.")
    ] = None,
    allow_anyone: Annotated[
        bool, typer.Option("--allow-anyone", help="Listen elsewhere without a key, and answer whoever asks.")
    ] = False,
    as_typed: AsTyped = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A limit, such as sentences=32, batch=64 or timeout=10."),
    ] = None,
) -> None:
    """Serve models over HTTP: translate, align, generate, classify, ask, attention; in batches, with limits.

    Example: `regard serve runs/a`

    Asked by: `curl -s 127.0.0.1:8766/v1/translate -H 'content-type: application/json' -d '{"text": ["¿Dónde está?"]}'`

    For others: `regard serve runs/a runs/l --host 0.0.0.0 --key-file keys.txt --set sentences=32`

    Ctrl-C or SIGTERM ends it, after what was taken is finished. Logs go to standard error, a JSON object a line.
    """
    limits = _read_limits(assignments or [])
    keys = _read_keys(key_file)
    check_host(host, has_key=bool(keys), allow_anyone=allow_anyone)
    listening = listen(host, port)
    with contextlib.closing(listening):
        models = _load(folders, device, respell=not as_typed)
        _run(listening, host, models, limits, keys, any_host=allow_anyone)


def check_host(host: str, *, has_key: bool, allow_anyone: bool) -> None:
    """Refuse to listen elsewhere than on this machine, unless there is a key or that was wanted."""
    if is_loopback(host) or has_key or allow_anyone:
        return
    raise ArgumentError(
        f"`--host` must be 127.0.0.1, ::1 or localhost for a server without a key; received {host}. Name a file of "
        f"keys with --key-file, or set {VARIABLE}; --allow-anyone answers whoever asks."
    )


def is_loopback(host: str) -> bool:
    """Tell whether an address is of this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address."""
    if not 0 <= port <= 65535:
        raise ArgumentError(f"`--port` must be from 0 to 65535; received {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ArgumentError(f"`--host` must be an address of this machine; received {host}: {error}.") from error
    listening = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # there it would share a port that somebody else listens on
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(1024)
    except OSError as error:
        listening.close()
        raise ArgumentError(
            f"`--host` and `--port` must be free, and of this machine; received {host} and {port}: "
            f"{error.strerror or error}. Choose others."
        ) from error
    return listening


def _read_limits(assignments: list[str]) -> "Limits":
    from regard.config.read import parse_assignments, read_settings
    from regard.serving.limits import Limits

    return read_settings(Limits, parse_assignments(assignments))


def _read_keys(path: Path | None) -> "Keys":
    from regard.serving.keys import read_keys, readable_by_others

    keys = read_keys(path, os.environ.get(VARIABLE))
    if path is not None and readable_by_others(path):
        print(f"regard: {path} can be read by other users of this machine: chmod 600 {path}", file=sys.stderr)
    return keys


def _load(folders: list[Path], device: str, *, respell: bool) -> dict[str, Any]:
    from regard.serving.models import load_models
    from regard.tasks.load import load
    from regard.training.group import pick_device

    return load_models(folders, load=partial(load, device=pick_device(device, argument="device"), respell=respell))


def _run(
    listening: socket.socket, host: str, models: dict[str, Any], limits: "Limits", keys: "Keys", *, any_host: bool
) -> None:
    from regard.serving.connections import make_server
    from regard.serving.logs import log_to_stderr
    from regard.serving.server import create_app

    server = make_server(create_app(models, limits=limits, keys=keys, any_host=any_host), limits)
    log_to_stderr()
    signal.signal(signal.SIGTERM, _end)  # which uvicorn sends once more, after all is finished
    shown = f"[{host}]" if ":" in host else host
    print(f"http://{shown}:{listening.getsockname()[1]}/", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _end(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
