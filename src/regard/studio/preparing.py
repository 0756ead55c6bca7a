"""A first model for whoever has none: the demonstration's small translator, trained while the page waits."""

import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

from regard import __version__
from regard.errors import RegardError
from regard.models.folder import CONFIG
from regard.studio.schema.overview import Preparing
from regard.tasks.demo import FAST, draw_pairs, training_command, write_pairs
from regard.training.metrics import last_report
from regard.training.run_folder import RunFolder

SYSTEM = "bahdanau"
VALIDATIONS, SAMPLES, LENGTH = 17, 3, 8
"""How often the run keeps its attention, of how many sentences, and of about how many words."""


def cache_folder() -> Path:
    """Give the folder where such models are kept: below XDG_CACHE_HOME, or ~/.cache."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(chosen) if chosen and Path(chosen).is_absolute() else Path.home() / ".cache"
    return home / "regard" / f"studio-{__version__}"


class Preparation:
    """Trains the model in a process of its own; a run that was stopped goes on where it was."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._begun = folder, time.monotonic()
        self._stage, self._error = "drawing sentence pairs", ""
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "Preparation":
        """Begin, unless the model is there already; give the preparation itself."""
        if self.result() is None:
            self._thread.start()
        return self

    def result(self) -> Path | None:
        """Give the run's folder once its model is whole."""
        ready = self._has_model() and not self._thread.is_alive() and not self._error
        return self.folder / SYSTEM if ready else None

    def _has_model(self) -> bool:
        return (RunFolder(self.folder / SYSTEM).model / CONFIG).is_file()

    def progress(self) -> Preparing:
        """Return how far it is."""
        line = last_report(RunFolder(self.folder / SYSTEM).metrics) if self._process else None
        return Preparing(
            stage=self._stage,
            step=line["step"] if line else 0,
            steps=_steps(),
            loss=line.get("loss") if line else None,
            seconds=time.monotonic() - self._begun,
            error=self._error or None,
        )

    def fail(self, reason: str) -> None:
        """Keep in mind why the model that was made cannot be used; it is no result then."""
        self._error = f"{reason} Remove {self.folder} to train another, or name one: regard studio FOLDER."

    def stop(self) -> None:
        """End the training; what was learned is kept."""
        self._stopped.set()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()

    def _run(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            data = draw_pairs(FAST)
            nearest = sorted(data.valid, key=lambda pair: abs(len(pair.source.split()) - LENGTH))
            write_pairs(replace(data, valid=nearest), self.folder / "pairs")
            if not self._stopped.is_set():
                self._train()
        except (OSError, RegardError) as error:
            self._error = f"The small model could not be trained: {error}. Name another: regard studio FOLDER."

    def _train(self) -> None:
        self._stage = "training"
        log = self.folder / f"{SYSTEM}.log"
        with log.open("wb") as file:
            command = training_command(SYSTEM, FAST, self.folder, validations=VALIDATIONS, samples=SAMPLES)
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment, start_new_session=True
            )
            code = self._process.wait()
        if code and not self._stopped.is_set() and not self._has_model():  # with one, only what follows it failed
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            self._error = f"Training ended with {code}: {' '.join(last)[:300]} The whole of it is in {log}."


def _steps() -> int:
    return int(next(item.partition("=")[2] for item in FAST.settings[SYSTEM] if item.startswith("train.steps")))
