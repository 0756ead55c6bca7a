"""Every task is one folder and one line, and nothing of it is missing."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import regard.tasks
from regard.data.corpora.catalogue import BUILTINS
from regard.errors import ArgumentError
from regard.studio.models import kind_of
from regard.tasks.alignment.settings import ALIGNERS
from regard.tasks.captions.settings import CAPTION_MODELS
from regard.tasks.classification.settings import CLASSIFIERS
from regard.tasks.evaluation.sides import _EVALUATE, UNITS
from regard.tasks.images.settings import IMAGE_ENCODERS
from regard.tasks.language.settings import LANGUAGE_PRESETS
from regard.tasks.questions.settings import QUESTION_MODELS
from regard.tasks.task import DEFAULT, TASKS, find_task, time_spent
from regard.tasks.translation.presets import COUNTING, PRESETS

FOLDER = Path(regard.tasks.__file__).parent
ARCHITECTURE = Path(__file__).parents[3] / "ARCHITECTURE.md"
#: What each task calls its models in its settings.py.
NAMED = {
    "translate": [*PRESETS, *COUNTING],
    "language": [*LANGUAGE_PRESETS],
    "classify": [*CLASSIFIERS],
    "images": [*IMAGE_ENCODERS],
    "questions": [*QUESTION_MODELS],
    "captions": [*CAPTION_MODELS],
    "align": [*ALIGNERS],
}


def test_every_folder_that_trains_is_listed():
    """A job or a training module makes a folder a task; such a folder has a row, and every row such a folder."""
    training = {path.parent.name for name in ("train.py", "job.py", "task.py") for path in FOLDER.glob(f"*/{name}")}
    listed = {TASKS[name].train.__module__.split(".")[-2] for name in TASKS}
    assert listed == training
    for folder in training:
        assert all(
            (FOLDER / folder / f"{name}.py").is_file() for name in ("task", "settings", "data", "job", "model", "train")
        )
        assert f"{folder}/" in ARCHITECTURE.read_text(), "name it in the tree of ARCHITECTURE.md"


@pytest.mark.parametrize("name", TASKS)
def test_a_row_is_whole(name):
    task = TASKS[name]
    assert task.name == name
    assert task.model.startswith(("a ", "an "))
    assert task.command.startswith("regard ")
    assert [*task.presets] == NAMED[name]
    assert all(line and not line.endswith(".") for line in task.presets.values())
    for preset in ["", *task.presets]:
        assert type(task.compose({}, task.typical, preset)) is task.settings
    assert any(name in builtin.tasks for builtin in BUILTINS), "a task has data of our own to begin with"


def test_every_task_is_measured_and_its_models_have_a_kind_in_the_studio():
    """The two places besides its row that a task needs; forgotten ones are named here."""
    assert {"translate", "language", *UNITS} == {*TASKS}, "add it to UNITS and _EVALUATE of tasks/evaluation/sides.py"
    assert UNITS.keys() == _EVALUATE.keys()
    shown = inspect.getsource(kind_of)
    for name in TASKS:
        model = inspect.signature(TASKS[name].load).return_annotation
        assert f"{getattr(model, '__name__', model)}()" in shown, "add it to kind_of of studio/models.py"


def test_an_unknown_task_is_refused_with_a_near_miss():
    message = (
        "`task` must be translate, language, classify, images, questions, captions or align; received captoins. Did "
        "you mean captions?"
    )
    with pytest.raises(ArgumentError) as caught:
        find_task("captoins")
    assert str(caught.value) == message
    assert find_task(DEFAULT).training_command == "regard train"
    assert find_task("images").training_command == "regard train --task images"


def test_the_names_of_tasks_need_no_tensors():
    program = (
        "import sys\nfrom regard.tasks.task import TASKS\nlist(TASKS), 'images' in TASKS\n"
        "print([name for name in ('torch', 'numpy', 'rich') if name in sys.modules])\n"
        "[task.presets for task in TASKS.values()]\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["[]", "False"], done.stderr


def test_a_model_that_counts_takes_no_steps():
    assert time_spent({"seconds": 2.0}) == "counted in 2 s"
    assert time_spent({"steps": 1, "seconds": 2.0}) == "1 step in 2 s"
