"""Visitors of a studio, for its tests."""

import base64
import threading
from contextlib import contextmanager
from dataclasses import replace

import torch
from fastapi.testclient import TestClient
from safetensors.torch import load_file, save_file

from regard.cli.studio import listen
from regard.data.text.special import END
from regard.studio.connections import make_server
from regard.studio.models import Models
from regard.studio.server import create_app
from regard.tasks.translation.presets import preset
from unit.tasks.translators import BYTES, LEARNED, RECURRENT, make_folder

ADDRESS = "http://127.0.0.1:8765"


def make_folders(root):
    """Write two recurrent models of one vocabulary, a Transformer, and one without attention."""
    fixed = replace(preset("fixed"), embedding_size=8, hidden_size=8)
    made = {
        "recurrent": make_folder(root / "recurrent", RECURRENT),
        "again": make_folder(root / "again", RECURRENT, seed=1),
        "transformer": make_folder(root / "transformer", LEARNED, BYTES),
        "fixed": make_folder(root / "fixed", fixed),
    }
    for name, folder in made.items():
        parameters = load_file(folder / "model.safetensors")
        parameters["output.bias"][END] += 1.2 if name == "transformer" else 2.2  # so that sentences come to an end
        save_file(parameters, folder / "model.safetensors")
    return made


def visitor(models: Models) -> TestClient:
    """Open the studio's page as its own browser would."""
    return TestClient(create_app(models), base_url=ADDRESS)


@contextmanager
def serving(models, **how):
    """Serve a studio on a free port, and give its address."""
    listening = listen(0)
    server = make_server(create_app(models), **how)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


def ask(client, verb, **body):
    """Ask something that must be answered."""
    response = client.post(f"/api/{verb}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refused(client, verb, **body):
    """Ask something that must be refused, and give what is said."""
    response = client.post(f"/api/{verb}", json=body)
    assert response.status_code == 422, response.text
    return response.json()["error"]


def unpacked(packed):
    """Read a tensor as the page does."""
    numbers = torch.frombuffer(bytearray(base64.b64decode(packed["float32"])), dtype=torch.float32)
    return numbers.view(packed["shape"])
