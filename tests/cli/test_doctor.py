"""`regard doctor`, run as a user runs it."""

import json
import sys

import pytest

from regard.cli import main
from unit.tasks.small_run import make_run, write_files

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture
def doctor(monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["regard", "doctor", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_model_that_learned_nothing_has_findings_and_exits_with_one(doctor, tmp_path):
    run = make_run(tmp_path / "run", write_files(tmp_path / "data", 120))
    code, shown, _ = doctor(run.path, "--sentences", "20")
    assert code == 1
    for part in ("attention spread out", "at most 95 %", "finding", "Even the sharpest head has an entropy of"):
        assert part in shown
    assert "not checked: the training, of which metrics.jsonl has no reports" in shown
    code, shown, _ = doctor(run.path, "--json", "--sentences", "20")
    table = json.loads(shown)
    assert (code, table["healthy"], table["task"]) == (1, False, "translate")
    ill = {item["name"]: item for item in table["checks"] if not item["healthy"]}
    assert ill["attention spread out"]["value"] > ill["attention spread out"]["most"] == 0.95
    assert all(item["advice"] for item in ill.values())


def test_a_healthy_training_of_another_task_exits_with_zero(doctor, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text('[data]\ncorpus = "builtin:opinions"\ntext = ""\n[model]\nkind = "average"\n')
    lines = [{"event": "train", "step": n, "loss": 3 / n, "cross_entropy": 3 / n, "rate": 0.01} for n in range(1, 9)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, shown, error = doctor(run)
    assert (code, error) == (0, "")
    assert "no findings" in shown
    assert "not checked: data and output, which are checked for translators, not for the task classify" in shown


def test_what_is_no_run_is_one_paragraph(doctor, tmp_path):
    code, shown, error = doctor(tmp_path)
    assert (code, shown) == (2, "")
    assert error.startswith("regard: `RUN` must be a run folder, with config.toml and metrics.jsonl; received")
