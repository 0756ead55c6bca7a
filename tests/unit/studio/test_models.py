"""The models a studio has open."""

import re
import shutil
import threading

import pytest
import torch

import regard
from regard.cli.studio import _open
from regard.errors import ArgumentError, ArgumentTypeError, DataError
from regard.studio.models import Models, kind_of
from regard.studio.picture_models import PatchClassifier
from regard.studio.preparing import Preparation
from regard.studio.schema.overview import Preparing
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.translation.model import Translator
from regard.training.run_folder import STEP, RunFolder
from unit.studio.strangers import make_strangers
from unit.studio.visiting import ask, visitor


def test_each_has_a_name_of_its_own(folders):
    models = Models([folders["recurrent"], folders["recurrent"]])
    assert [one.name for one in models.all()] == ["recurrent", "recurrent-2"]
    assert [one.kind for one in models.all()] == ["translator", "translator"]


def test_a_name_finds_its_model_and_no_other(models):
    assert models.find("again", Translator).name == "again"
    assert models.find("", Translator).name == "recurrent"
    with pytest.raises(
        ArgumentError, match=r'^`model` must be one that is open; received "agian"\. Did you mean again\?$'
    ):
        models.find("agian", Translator)
    with pytest.raises(
        ArgumentError,
        match=r"^`model` must be a Classifier; received none: no such model is open\. Start the studio with one: "
        r"regard studio FOLDER\.$",
    ):
        models.find("", Classifier)
    with pytest.raises(ArgumentError, match=r"^`model` must be an ImageClassifier; received none"):
        models.find("", ImageClassifier)


KINDS = (
    "a translator, a language model, a text classifier, an image classifier, a question answerer, a captioner or an "
    "aligner"
)


def test_a_folder_that_holds_no_known_model_is_refused_with_what_is_opened(tmp_path):
    (tmp_path / "config.json").write_text('{"a": 1}', encoding="utf-8")
    message = (
        f"The studio opens folders that regard wrote, of {KINDS}, and those of Hugging Face; {tmp_path} holds a "
        "config.json that does not say what it is for. Train one: regard train."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        Models([tmp_path])


def test_folders_of_hugging_face_open_as_what_they_are(tmp_path):
    made = make_strangers(tmp_path)
    models = Models(list(made.values()))
    assert {one.name: one.kind for one in models.all()} == {
        "bert": "language",
        "gpt2": "language",
        "bart": "language",
        "vit": "vision",
    }


def test_folders_of_hugging_face_open_on_the_device_that_was_named(tmp_path, monkeypatch):
    made = make_strangers(tmp_path)
    monkeypatch.setattr("regard.training.group.pick_device", lambda name, argument: torch.device(name))
    monkeypatch.setattr(PatchClassifier, "_check_patches", lambda self: None)  # this device computes nothing
    models = _open(list(made.values()), "meta", respell=True)
    devices = {one.name: {item.device.type for item in one.thing.model.parameters()} for one in models.all()}
    assert devices == {name: {"meta"} for name in made}


def test_one_visitor_at_a_time_has_a_model(models):
    inside, waited = threading.Event(), threading.Event()

    def other():
        inside.wait(10)
        with models.borrow("recurrent", Translator):
            waited.set()

    thread = threading.Thread(target=other)
    thread.start()
    with models.borrow("recurrent", Translator):
        inside.set()
        assert not waited.wait(0.1)
    assert waited.wait(10)
    thread.join()


def test_the_overview_tells_what_is_open(client, models):
    told = ask(client, "overview")
    assert [one["name"] for one in told["models"]] == ["recurrent", "again", "transformer", "fixed"]
    assert told["preparing"] is None
    examples = told["models"][0]["examples"]
    assert "¿Me puedes traer un tenedor?" in [one["text"] for one in examples]
    assert "many to one" in [one["about"] for one in examples]


def test_the_best_model_of_a_run_that_goes_on_is_open_and_gives_way(folders, tmp_path):
    """As `regard translate RUN` does: best/ while there is one, with its step, then the model of the finished run."""
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.config.write_text("[train]\nsteps = 400\n", encoding="utf-8")
    models = Models([run.path])
    assert models.overview().models == []

    def write_best(step):
        shutil.copytree(folders["recurrent"], run.best, dirs_exist_ok=True)
        (run.best / STEP).write_text(f'{{"step": {step}}}', encoding="utf-8")

    for step in (1200, 1300):
        write_best(step)
        [about] = models.overview().models
        assert about.name == "run"
        assert about.about.endswith(f", the best so far of an unfinished run: step {step:,}")
    assert models.find("run", Translator).thing.translate(["La casa"])
    opened = models.find("run", Translator)
    models.overview()
    assert models.find("run", Translator) is opened  # the same step is not loaded again
    shutil.rmtree(run.best)
    shutil.copytree(folders["again"], run.model)
    [about] = models.overview().models
    assert (about.name, "unfinished" in about.about) == ("run", False)
    assert [one.name for one in Models([run.path]).overview().models] == ["run"]


def test_without_models_there_is_still_a_page():
    client = visitor(Models())
    assert ask(client, "overview")["models"] == []
    assert client.get("/").status_code == 200


class Ready(Preparation):
    """A preparation that has come to its end."""

    def __init__(self, folder):
        self.folder, self.error = folder, None

    def result(self):
        return None if self.error else self.folder

    def progress(self):
        return Preparing(stage="training", step=0, steps=1, loss=None, seconds=0.0, error=self.error)

    def fail(self, reason):
        self.error = reason


def test_who_comes_while_the_first_model_is_opened_sees_that_it_is_being_made(folders):
    begun, go, loaded = threading.Event(), threading.Event(), regard.load(folders["recurrent"])

    def slow(path):
        begun.set()
        assert go.wait(10)
        return loaded

    models = Models(preparation=Ready(folders["recurrent"]), load=slow)
    first = threading.Thread(target=models.refresh)
    first.start()
    assert begun.wait(10)
    second = models.overview()
    go.set()
    first.join(10)
    assert second.models == []
    assert second.preparing is not None
    after = models.overview()
    assert [one.name for one in after.models] == ["recurrent"]
    assert after.preparing is None


def test_a_first_model_that_cannot_be_opened_is_told(folders):
    def broken(path):
        raise DataError("its numbers are damaged.")

    models = Models(preparation=Ready(folders["recurrent"]), load=broken)
    for _ in range(2):
        told = models.overview()
        assert told.models == []
        assert told.preparing.error == ("The model that was trained cannot be opened: its numbers are damaged.")


def test_a_model_without_a_view_is_refused():
    """A model of a new task is no picture model by default."""
    with pytest.raises(
        ArgumentTypeError, match=r"^`thing` must be a model that the studio has a view for; received a dict"
    ):
        kind_of({})
