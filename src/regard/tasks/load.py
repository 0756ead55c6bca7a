"""Load whatever a model folder holds: `regard.load(folder)`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_never

import torch

from regard.tasks.captions.model import Captioner, load_captioner
from regard.tasks.classification.model import Classifier, load_classifier
from regard.tasks.images.model import ImageClassifier, load_image_classifier
from regard.tasks.language.model import LanguageModel, load_language
from regard.tasks.model_folder import open_model
from regard.tasks.model_kinds import saved_task
from regard.tasks.questions.model import QuestionAnswerer, load_question_answerer
from regard.tasks.translation import model as translator
from regard.tasks.translation.model import MAX_SOURCE_LENGTH, Translator, Unknown


def load(
    path: str | Path | Sequence[str | Path],
    *,
    device: torch.device | str = "cpu",
    unknown: Unknown = "replace",
    dictionary: Mapping[str, str] | None = None,
    max_source_length: int = MAX_SOURCE_LENGTH,
    respell: bool = True,
) -> Translator | LanguageModel | Classifier | ImageClassifier | QuestionAnswerer | Captioner:
    """Load the model in a model folder, or of the run in a run folder, whatever it is for.

    It is a `Translator`, a `LanguageModel`, a `Classifier` of texts, an `ImageClassifier`, a `QuestionAnswerer` or a
    `Captioner`.

    `device` may be "auto", for a GPU where there is one. The other settings are those of `Translator`; several folders,
    of translators that share a vocabulary, give one that asks them all.
    """
    if isinstance(path, str | Path):
        path = open_model(path)
        match saved_task(path):
            case "language":
                return load_language(path, device=device)
            case "images":
                return load_image_classifier(path, device=device)
            case "questions":
                return load_question_answerer(path, device=device)
            case "captions":
                return load_captioner(path, device=device)
            case "classify":
                return load_classifier(path, device=device)
            case "translate" | None:
                pass  # which says what is wrong with a folder that holds nothing known
            case kind:
                assert_never(kind)
    return translator.load(
        path,
        device=device,
        unknown=unknown,
        dictionary=dictionary,
        max_source_length=max_source_length,
        respell=respell,
    )
