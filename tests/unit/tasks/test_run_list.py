"""What is listed of runs: state, steps, best figures and differing settings."""

import json

from regard.tasks.run_list import describe_run, list_runs
from regard.training.run_folder import RunFolder

TRAIN = '[data]\nsource = "a"\ntarget = "b"\n[train]\nsteps = {steps}\n[model]\nkind = "{kind}"\n'


def write_run(folder, *, steps=100, kind="recurrent", saved=(), finished=False, lines=()):
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(TRAIN.format(steps=steps, kind=kind))
    for step in saved:
        (folder / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if finished:
        (folder / "model").mkdir()
        (folder / "model" / "figures.json").write_text('{"valid_bleu": 7.5}')
    return folder


def valid(step, bleu, best):
    return {"event": "valid", "step": step, "loss": 1.0, "bleu": bleu, "best": best, "samples": []}


def test_a_run_is_described_by_what_is_in_its_folder(tmp_path):
    lines = [valid(10, 3.0, True), valid(20, 5.0, True), valid(30, 4.0, False)]
    run = describe_run(write_run(tmp_path / "a", saved=(20, 30), lines=lines))
    assert (run.state, run.task, run.kind, run.step, run.steps) == ("stopped", "translate", "recurrent", 30, 100)
    assert (run.best_step, run.figures) == (20, {"loss": 1.0, "bleu": 5.0})


def test_states(tmp_path):
    assert describe_run(write_run(tmp_path / "a", saved=(9,), finished=True)).state == "finished"
    counted = describe_run(write_run(tmp_path / "b", kind="statistical", finished=True))
    assert (counted.state, counted.steps, counted.figures) == ("finished", 0, {"valid_bleu": 7.5})
    folder = RunFolder(write_run(tmp_path / "c"))
    with folder.locked():
        assert describe_run(folder.path).state == "running"
    assert describe_run(folder.path).state == "stopped"
    (tmp_path / "c" / "config.toml").write_text("not toml [")
    assert describe_run(folder.path).state == "unreadable"


def test_settings_are_those_in_which_runs_of_a_task_differ(tmp_path):
    write_run(tmp_path / "deep" / "a", steps=100)
    write_run(tmp_path / "b", steps=200)
    (tmp_path / "b" / "model" / "inside").mkdir(parents=True)
    found = list_runs(tmp_path)
    assert [run.path.name for run in found] == ["b", "a"]
    assert [run.settings for run in found] == [{"train.steps": 200}, {"train.steps": 100}]
    assert [run.settings for run in list_runs(tmp_path / "b")] == [{}]
    assert list_runs(tmp_path / "deep" / "a" / "checkpoints") == []
    assert list_runs(str(tmp_path)) == found


def test_another_kind_of_model_does_not_hide_how_models_of_one_kind_differ(tmp_path):
    for name, attention in (("a", "additive"), ("b", "cosine")):
        config = write_run(tmp_path / name) / "config.toml"
        config.write_text(
            config.read_text()
            + f'cell = "gru"\nhidden_size = {len(attention)}\n[model.attention]\nkind = "{attention}"\n'
        )
    config = write_run(tmp_path / "c", kind="transformer", steps=200) / "config.toml"
    config.write_text(config.read_text().replace("[model]", "log_every = 3\n[model]"))
    found = {run.path.name: run for run in list_runs(tmp_path)}
    assert [run.kind for run in found.values()] == ["recurrent-gru-additive", "recurrent-gru-cosine", "transformer"]
    assert found["a"].settings == {"train.steps": 100, "model.hidden_size": 8, "model.attention.kind": "additive"}
    assert found["c"].settings == {"train.steps": 200}
