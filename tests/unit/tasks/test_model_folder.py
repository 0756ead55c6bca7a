"""Every kind of model is told from its folder, and a loader that is given another says which command serves it."""

import json
import re

import pytest

from regard.errors import DataError
from regard.tasks.alignment.model import load_aligner
from regard.tasks.captions.model import load_captioner
from regard.tasks.classification.model import load_classifier
from regard.tasks.images.model import load_image_classifier
from regard.tasks.language.model import load_language
from regard.tasks.load import load
from regard.tasks.model_folder import check_kind, saved_task
from regard.tasks.questions.model import load_question_answerer
from regard.tasks.task import TASKS
from regard.tasks.translation import model as translator

LOADERS = {
    "translate": translator.load,
    "language": load_language,
    "classify": load_classifier,
    "images": load_image_classifier,
    "questions": load_question_answerer,
    "captions": load_captioner,
    "align": load_aligner,
}


def write_kind(folder, task):
    """Write what tells the kind of a model from its folder, and nothing else."""
    table = {"version": "0.1.0"} | ({"source_vocabulary": 9} if task == "translate" else {"task": task})
    (folder / "config.json").write_text(json.dumps(table))
    return folder


@pytest.mark.parametrize("held", TASKS)
@pytest.mark.parametrize("wanted", TASKS)
def test_a_loader_names_what_is_there_and_its_command(tmp_path, wanted, held):
    folder = write_kind(tmp_path, held)
    assert saved_task(folder) == held
    message = (
        f"`path` must be the folder of {TASKS[wanted].model}; {folder} holds {TASKS[held].model}. "
        f"Use `{TASKS[held].command}` with it. What is needed here is trained with `{TASKS[wanted].training_command}`."
    )
    with pytest.raises(DataError) as caught:
        LOADERS[wanted](folder)
    assert (str(caught.value) == message) == (wanted != held)  # its own kind fails later: the rest is not there


def test_several_kinds_may_be_wanted(tmp_path):
    write_kind(tmp_path, "images")
    check_kind(tmp_path, "classify", "images")
    message = "must be the folder of a translator, a language model or a text classifier; .* holds an image classifier."
    with pytest.raises(DataError, match=message):
        check_kind(tmp_path, "translate", "language", "classify")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"model_type": "gpt2"}', "holds a Hugging Face model. Use `regard inspect` with it."),
        ('{"task": "sing"}', "holds a config.json that does not say what it is for."),
        ("{}", "holds a config.json that does not say what it is for."),
        ("{", "config.json must be JSON; received: "),
        ("[1]", "config.json must hold a table of settings; received a list of 1."),
    ],
)
def test_folders_of_no_known_kind(tmp_path, text, message):
    (tmp_path / "config.json").write_text(text)
    assert saved_task(tmp_path) is None
    for loader in (load, *LOADERS.values()):
        with pytest.raises(DataError, match=re.escape(message)):
            loader(tmp_path)


def test_a_folder_without_a_config_is_of_no_kind(tmp_path):
    assert saved_task(tmp_path) is None
    with pytest.raises(DataError, match=r"`folder` must hold config.json; .* cannot be read \(No such file"):
        check_kind(tmp_path, "translate")
