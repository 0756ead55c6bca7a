"""`regard studio`: a local page to inspect models with."""

import contextlib
import os
import socket
import sys
import threading
import webbrowser
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.flags import AsTyped
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.studio.models import Models

_ADDRESS = "127.0.0.1"
_PORT = 8765
_TRIES = 20


def studio(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL", help="Model or run folders, or names of shipped models; else all of those."),
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; else 8765 or the next that is free.")] = None,
    as_typed: AsTyped = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    export: Annotated[Path | None, typer.Option(help="Write the views into this folder as a site, and end.")] = None,
    text: Annotated[str, typer.Option(help="The text of the site; else an example.")] = "",
    view: Annotated[list[str] | None, typer.Option(help="A view of the site, once for each; else all.")] = None,
) -> None:
    """Open a page that shows what models attend to, with their real numbers. It is served to this machine alone.

    Example: `regard studio runs/demo/bahdanau`

    Without a model the studio opens those that come with regard; where no translator does, it trains a small one in
    under a minute, and keeps it for the next time. Ctrl-C ends.
    """
    if export is not None:
        _export(folders or [], export, device, text=text, views=view or [], respell=not as_typed)
        return
    if text or view:
        raise ArgumentError("`--text` and `--view` must go with --export FOLDER; received none.")
    from regard.studio.connections import make_server
    from regard.studio.server import create_app

    listening = listen(port)
    with contextlib.closing(listening):
        models = _open(folders or [], device, respell=not as_typed)
        # The first recording of attention imports it, which takes a second or more: begun before anybody asks.
        threading.Thread(target=import_module, args=("torch._dynamo",), daemon=True).start()
        address = f"http://{_ADDRESS}:{listening.getsockname()[1]}/"
        print(address, flush=True)
        print("regard: the studio is served to this machine alone; Ctrl-C ends it.", file=sys.stderr)
        if open_page and _has_screen():
            webbrowser.open(address)
        try:
            make_server(create_app(models)).run(sockets=[listening])
        except KeyboardInterrupt:
            pass
        finally:
            if models.preparation is not None:
                models.preparation.stop()


def listen(port: int | None) -> socket.socket:
    """Listen on a port of this machine: the one asked for, or the first free one of a few."""
    if port is not None and not 0 <= port <= 65535:
        raise ArgumentError(f"`--port` must be from 0 to 65535; received {port}.")
    tried = [port] if port is not None else [*range(_PORT, _PORT + _TRIES), 0]
    for item in tried:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if sys.platform != "win32":  # there it would share a port that somebody else listens on
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_ADDRESS, item))
            listening.listen(128)
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
        else:
            return listening
    raise ArgumentError(f"`--port` must be free; received {port}: {reason}. Leave it out for one that is.")


def _has_screen() -> bool:
    """Return whether there is a screen: elsewhere a browser of text would take over the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(folders: list[Path], device: str, *, respell: bool, train: bool = True) -> "Models":
    from regard.pretrained.shipped import MODELS, named_folder, shipped_names
    from regard.studio.models import Models
    from regard.studio.preparing import Preparation, cache_folder
    from regard.tasks.load import load
    from regard.training.group import pick_device

    there = pick_device(device, argument="device")
    paths = [named_folder(path) for path in folders] or [MODELS / name for name in shipped_names()]
    models = Models(paths, load=partial(load, device=there, respell=respell), device=there)
    if folders:
        return models
    if train and not models.all("translator"):
        models.preparation = Preparation(cache_folder()).start()
        models.refresh()
    if models.preparation is not None:
        print("regard: no model was named, so a small one is trained; the page shows how far it is.", file=sys.stderr)
    return models


def _export(folders: list[Path], folder: Path, device: str, *, text: str, views: list[str], respell: bool) -> None:
    from regard.studio.site import export_site

    models = _open(folders, device, respell=respell, train=False)
    written = export_site(models, folder, views=views, text=text)
    size = sum(path.stat().st_size for path in written)
    print(folder / "index.html")
    print(
        f"regard: {len(written)} files, {size / 1e6:.1f} MB; open index.html, or put the folder on any static host.",
        file=sys.stderr,
    )
