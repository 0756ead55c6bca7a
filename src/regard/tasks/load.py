"""Load whatever a model folder holds: `regard.load(folder)`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.models.precision import Precision
from regard.tasks.model_folder import open_model, saved_task
from regard.tasks.task import TASKS
from regard.tasks.translation import model as translator
from regard.tasks.translation.model import MAX_SOURCE_LENGTH, Unknown


def load(
    path: str | Path | Sequence[str | Path],
    *,
    device: torch.device | str = "cpu",
    unknown: Unknown = "replace",
    dictionary: Mapping[str, str] | None = None,
    max_source_length: int = MAX_SOURCE_LENGTH,
    respell: bool = True,
    precision: Precision = "float32",
    shortlist: bool = False,
) -> Any:
    """Load the model in a model folder, or of the run in a run folder, whatever it is for.

    It is a `Translator`, a `LanguageModel`, a `Classifier` of texts, an `ImageClassifier`, a `QuestionAnswerer`, a
    `Captioner` or a `WordAligner`: which, the folder alone tells.

    `device` may be "auto", for a GPU where there is one. The other settings are those of `Translator`; several folders,
    of translators that share a vocabulary, give one that asks them all.
    """
    if isinstance(path, str | Path):
        path = open_model(path)
        task = saved_task(path)
        if task not in ("translate", None):  # a translator's loader says what is wrong with a folder of nothing known
            return TASKS[task].load(path, device=device)
    return translator.load(
        path,
        device=device,
        unknown=unknown,
        dictionary=dictionary,
        max_source_length=max_source_length,
        respell=respell,
        precision=precision,
        shortlist=shortlist,
    )
