"""An installed regard in use: version, demo, the models that come with it, the studio."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from package_files import ReleaseError

SENTENCES = {"es": "¿Dónde está el libro?", "en": "Where is the book?"}
"""What a translator is given, by the language it translates from; others get the English one."""
_CHECK_MODELS = "from regard.pretrained.shipped import check_model, list_models; [*map(check_model, list_models())]"
_FOLDER = "import pathlib, regard; print(pathlib.Path(regard.__file__).parent)"


def use(python: Path, folder: Path, version: str) -> Iterator[str]:
    """Use what is installed beside an interpreter, from an empty folder; give what was seen, a line each."""
    folder.mkdir()
    regard = python.with_name("regard.exe" if os.name == "nt" else "regard")
    installed = Path(output([python, "-c", _FOLDER], folder).strip())
    if python.parents[1].resolve() not in installed.resolve().parents:
        raise ReleaseError(f"regard must be used from {python.parents[1]}; it came from {installed}.")
    shown = output([regard, "--version"], folder)
    if version not in shown.split():
        raise ReleaseError(f"`regard --version` must print {version}; it printed {shown.strip()}.")
    last = output([regard, "demo", "--fast", "--out", "demo"], folder).strip().splitlines()[-1]
    if not (folder / "demo/report.html").is_file():
        raise ReleaseError(f"`regard demo --fast` must write report.html; its last line is {last}.")
    yield "regard demo --fast: trained, translated and reported"
    yield from use_models(python, regard, folder)
    yield ask_studio(regard, folder / "demo/bahdanau")


def use_models(python: Path, regard: Path, folder: Path) -> Iterator[str]:
    """Check the files of every model that comes with the package, and translate with those that do."""
    models = json.loads(output([regard, "models", "--json"], folder))["models"]
    output([python, "-c", _CHECK_MODELS], folder)
    yield f"regard models: {', '.join(item['name'] for item in models) or 'none'}; checksums agree"
    for model in models:
        if model["task"] != "translate":
            continue
        sentence = SENTENCES.get(model["name"].partition("-")[0], SENTENCES["en"])
        translation = output([regard, "translate", model["name"], sentence], folder).strip()
        if not translation or translation == sentence:
            raise ReleaseError(f"{model['name']} must translate {sentence!r}; it gave {translation!r}.")
        yield f"regard translate {model['name']} {sentence!r}: {translation}"


def ask_studio(regard: Path, model: Path) -> str:
    """Start the studio with a model, ask for its page and its models, and end it by Ctrl-C."""
    command = [str(regard), "studio", str(model), "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=clean_environment()
    ) as studio:
        try:
            assert studio.stdout is not None
            address = studio.stdout.readline().strip()
            if not re.fullmatch(r"http://127\.0\.0\.1:\d+/", address):
                raise ReleaseError(f"`regard studio` must print its address; it printed {address!r}.")
            page = fetch(address)
            assets = re.findall(r'(?:src|href)="/?([\w./-]+\.(?:js|css))"', page)
            if not assets or not all(fetch(address + asset) for asset in assets):
                raise ReleaseError(f"the studio's page must load its script and its style; it names {assets}.")
            studio.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)
            if studio.wait(timeout=60) and os.name != "nt":
                raise ReleaseError(f"`regard studio` must end with 0 after Ctrl-C; it ended with {studio.returncode}.")
        finally:
            studio.kill()
    return f"regard studio: page, {', '.join(assets)}; ended by Ctrl-C"


def fetch(address: str) -> str:
    """Get a page of this machine."""
    with urllib.request.urlopen(address, timeout=60) as reply:
        return str(reply.read().decode("utf-8"))


def output(command: list[str | Path], folder: Path) -> str:
    """Run a command and give its standard output; raise with its errors where it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        shown = " ".join(Path(part).name if index == 0 else str(part) for index, part in enumerate(command))
        raise ReleaseError(f"`{shown}` must end with 0; it ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return done.stdout


def clean_environment() -> dict[str, str]:
    """Give the environment of this process without what would lead Python to the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return kept | {"PYTHONUTF8": "1", "PYTHONNOUSERSITE": "1"}
