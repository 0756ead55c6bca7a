"""Runs that start from another model, and runs that are given more steps or minutes."""

import csv
import json
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.config.show import show_settings
from regard.config.train import Train
from regard.errors import ArgumentError, DataError, Interrupted
from regard.tasks.start import start_settings
from regard.training.run_folder import RunFolder
from unit.tasks.every_task import TASKS, run_task
from unit.tasks.test_going_on import stop_after
from unit.training.copying import Silent

pytestmark = pytest.mark.usefixtures("unchecked")  # for speed
STARTING = ["translate", "language", "classify"]


def parameters(folder):
    return load_file(folder / "model" / "model.safetensors")


def same(first, second):
    return all(torch.equal(one, second[name]) for name, one in first.items())


@pytest.mark.parametrize("task", STARTING)
def test_a_run_starts_from_the_parameters_and_the_tokenizer_of_another(tmp_path, task):
    run_task(task, tmp_path / "a")
    still = {"steps": 1, "schedule": {"kind": "constant", "rate": 1e-30}, "weight_decay": 0.0}
    started = still | {"start": str(tmp_path / "a"), "seed": 9}
    run_task(task, tmp_path / "b", settings=started)
    assert same(parameters(tmp_path / "a"), parameters(tmp_path / "b"))
    tokenizers = [(tmp_path / one / "model" / "tokenizer.json").read_text() for one in "ab"]
    assert tokenizers[0] == tokenizers[1]
    run_task(task, tmp_path / "c", settings=still | {"seed": 9})
    assert not same(parameters(tmp_path / "a"), parameters(tmp_path / "c"))


@pytest.mark.slow
@pytest.mark.parametrize("task", STARTING)
def test_a_started_run_goes_on_whatever_becomes_of_the_other(tmp_path, task):
    run_task(task, tmp_path / "a")
    settings = {"start": str(tmp_path / "a"), "seed": 9}
    run_task(task, tmp_path / "whole", settings=settings)
    with pytest.raises(Interrupted):
        run_task(task, tmp_path / "parts", settings=settings, **stop_after(1))
    shutil.rmtree(tmp_path / "a")
    run_task(task, tmp_path / "parts", settings=settings)
    assert same(parameters(tmp_path / "whole"), parameters(tmp_path / "parts"))
    assert not (tmp_path / "parts" / "data").exists()
    run_task(task, tmp_path / "parts", settings=settings | {"steps": 6})  # from its own model now
    assert regard.load(tmp_path / "parts") is not None


def test_other_labels_give_a_new_output_layer_and_it_is_noted(tmp_path):
    run_task("classify", tmp_path / "a")
    old = json.loads((tmp_path / "a" / "model" / "labels.json").read_text())
    with (tmp_path / "other.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "label"])
        rows.writerows([f"word {n} {'good' if n % 3 else 'bad'}", f"label-{n % len(old)}"] for n in range(60))
    settings = {"start": str(tmp_path / "a"), "steps": 1, "schedule": {"kind": "constant", "rate": 1e-30}}
    watcher = Silent()
    table = {"data": {"corpus": str(tmp_path / "other.csv")}}
    # `run_task` gathers the texts of the settings it was given.
    run_task("classify", tmp_path / "b", settings=settings, table=table, watcher=watcher)
    assert "The labels are others than those of the model it starts from" in watcher.notes[0]
    assert "label-0" in watcher.notes[0]
    first, second = parameters(tmp_path / "a"), parameters(tmp_path / "b")
    changed = [name for name, one in first.items() if not torch.equal(one, second[name])]
    assert changed
    assert all(name.startswith("output") for name in changed)


def test_another_architecture_is_an_error_that_names_what_differs(tmp_path):
    run_task("classify", tmp_path / "a")
    settings = {"start": str(tmp_path / "a")}
    message = (
        rf"^`start` must be a model of the architecture that is set; {tmp_path}/a differs: model.size is 8 there, "
        r"here 6. Leave these settings out: the run takes those of the model it starts from.$"
    )
    with pytest.raises(ArgumentError, match=message):
        run_task("classify", tmp_path / "b", settings=settings, table={"model": {"size": 6}})
    run_task("classify", tmp_path / "c", settings=settings, table={"model": {"dropout": 0.4}})  # may differ
    with pytest.raises(DataError, match=r"must be the folder of a translator; .* holds a text classifier"):
        run_task("translate", tmp_path / "d", settings=settings)


def test_the_settings_of_a_start_are_those_of_its_model(tmp_path):
    run_task("classify", tmp_path / "a")
    chosen = start_settings(tmp_path / "a", "classify", {"train": {"steps": 7}})
    assert chosen["train"] == {"steps": 7, "start": str(tmp_path / "a")}
    assert chosen["model"]["size"] == 8
    with pytest.raises(ArgumentError, match="`tokenizer` must be left out with `start`"):
        start_settings(tmp_path / "a", "classify", {"tokenizer": {"kind": "bpe"}})
    with pytest.raises(ArgumentError, match=r"`data.tokenizer` must be left out with `start`"):
        start_settings(tmp_path / "a", "classify", {"data": {"tokenizer": "x"}})
    with pytest.raises(ArgumentError, match=r"^data: must be a table of settings; received 'x'\.$"):
        start_settings(tmp_path / "a", "classify", {"data": "x"})
    with pytest.raises(
        ArgumentError, match="`start` must be left out for the task images; translate, language and classify take it"
    ):
        start_settings(tmp_path / "a", "images", {})
    run_task("translate", tmp_path / "t")
    with pytest.raises(DataError, match="must be the folder of a text classifier"):
        start_settings(tmp_path / "t", "classify", {})


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_finished_run_given_more_steps_is_the_longer_run(tmp_path, task):
    settings = {"schedule": {"kind": "constant", "rate": 0.01}, "keep_checkpoints": 9}
    run_task(task, tmp_path / "long", settings=settings | {"steps": 6})
    run_task(task, tmp_path / "short", settings=settings)
    longer = run_task(task, tmp_path / "short", settings=settings | {"steps": 6})
    assert longer.figures["steps"] == 6
    assert same(parameters(tmp_path / "long"), parameters(tmp_path / "short"))
    assert RunFolder(tmp_path / "short").table()["train"]["steps"] == 6


def test_patience_begins_anew_where_a_run_is_given_more_steps(tmp_path):
    settings = {"patience": 1, "validate_every": 1, "schedule": {"kind": "constant", "rate": 1e-30}}
    assert run_task("classify", tmp_path, settings=settings | {"steps": 9}).figures["steps"] == 2
    assert run_task("classify", tmp_path, settings=settings | {"steps": 9}).figures["steps"] == 2  # finished
    assert run_task("classify", tmp_path, settings=settings | {"steps": 12}).figures["steps"] == 4


def test_without_checkpoints_a_run_is_not_given_more_and_keeps_its_figures(tmp_path):
    run_task("classify", tmp_path)
    shutil.rmtree(tmp_path / "checkpoints")
    with pytest.raises(ArgumentError, match=r"raised where checkpoints are left to go on from; .* holds none\. Start"):
        run_task("classify", tmp_path, settings={"steps": 6})
    assert run_task("classify", tmp_path).figures["steps"] == 4


def test_what_follows_from_the_steps_stays_as_it_was(tmp_path):
    run_task("classify", tmp_path)
    folder = RunFolder(tmp_path)
    from regard.tasks.classification.settings import ClassifyConfig

    before = folder.read_settings(ClassifyConfig)

    def with_train(**changes):
        return replace(before, train=replace(before.train, **changes))

    assert folder.with_limits(with_train(steps=9, log_every=77, validate_every=55)) == with_train(steps=9)
    early = with_train(precision="fp32")
    folder.config.write_text(show_settings(early))  # as before there was "auto"
    assert folder.with_limits(before) == early
    folder.config.write_text(show_settings(before))
    for other in (with_train(steps=3), with_train(steps=9, seed=5), with_train(steps=9, minutes=1.0)):
        assert folder.with_limits(other) == other
        with pytest.raises(ArgumentError, match="must be a new folder, or that of a run with the same settings"):
            folder.begin(other, folder.fingerprint())
    assert (tmp_path / "model" / "figures.json").is_file()


def test_an_empty_start_is_none():
    assert Train().start == ""
