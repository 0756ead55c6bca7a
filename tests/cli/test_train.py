"""`regard train`, run as a user runs it."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from regard.cli import main
from regard.cli.train import train
from regard.errors import ArgumentError, Interrupted, TrainingError
from regard.tasks.task import TASKS
from regard.training.run_folder import RunFolder

SMALL = {
    "data.size": 60,
    "train.steps": 6,
    "train.validate_every": 3,
    "train.checkpoint_every": 1,
    "train.valid_sentences": 4,
    "train.log_every": 2,
    "train.threads": 1,
    "train.batch_tokens": 300,
    "model.embedding_size": 16,
    "model.hidden_size": 16,
}


def command(*arguments, **changes):
    settings = SMALL | {key.replace("__", "."): value for key, value in changes.items()}
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [sys.executable, "-m", "regard", "train", *map(str, arguments), *sets]


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    """Run the command line in this process, which has torch already."""

    def run(*arguments, **changes):
        words = command(*arguments, **changes)[2:]
        monkeypatch.setattr(sys, "argv", words)
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run


def run_alone(*arguments, **changes):
    """Run it in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command(*arguments, **changes), capture_output=True, text=True, timeout=300, env=environment)


BUILTIN = ("--preset", "bahdanau", "--data", "builtin:hi-en")


def test_training_goes_from_pairs_to_a_model(run, tmp_path):
    out = tmp_path / "run"
    done = run(*BUILTIN, "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("BLEU ")
    assert f"model   {out}/model\nreport  {out}/report.html\n" in done.stdout
    assert "60 pairs to train on, 20 to validate on, 20 to test with; 6 steps of a recurrent model" in done.stderr
    assert "step 6: valid loss" in done.stderr
    assert "\x1b" not in done.stderr  # plain lines where there is no terminal
    assert tomllib.loads((out / "config.toml").read_text())["train"]["steps"] == 6
    events = [json.loads(line)["event"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert events == ["train", "valid", "train", "train", "valid"]
    card = (out / "model" / "README.md").read_text()
    assert f"regard train --preset bahdanau --data builtin:hi-en --out {out} --set data.size=60" in card
    again = run(*BUILTIN, "--out", out)
    assert again.returncode == 0
    assert again.stdout == done.stdout
    assert "is finished; these are its figures." in again.stderr
    other = run(*BUILTIN, "--out", out, train__steps=5)
    assert other.returncode == 2
    assert other.stderr.splitlines()[-1].startswith(
        "regard: `--out` must be a new folder, or that of a run with the same"
    )
    assert "is of another: train.steps was 6, now 5" in other.stderr


def test_two_plain_files_need_nothing_else(run, tmp_path, monkeypatch):
    nouns = ["casa", "mesa", "silla", "puerta", "calle", "plaza", "luna", "playa", "carta", "foto"]
    lines = [f"la {noun} {number}" for noun in nouns for number in range(20)]
    (tmp_path / "a.es").write_text("\n".join(lines) + "\n")
    (tmp_path / "a.en").write_text("\n".join(line.replace("la ", "the ") for line in lines) + "\n")
    files = ("--source", tmp_path / "a.es", "--target", tmp_path / "a.en", "--out", tmp_path / "b")
    done = run(*files, model__kind="transformer")
    assert (done.returncode, done.stdout) == (2, "")  # SMALL speaks of a recurrent model
    assert done.stderr.startswith("regard: model.embedding_size: unknown key. Choose one of kind, size, ")
    monkeypatch.setattr(f"{__name__}.SMALL", {"train.steps": 2, "train.device": "cpu"})
    done = run(*files)
    assert done.returncode == 0, done.stderr
    assert "no GPU and fewer than 200,000 pairs: the model is bahdanau; --preset chooses another" in done.stderr
    assert "2 steps of a recurrent model" in done.stderr
    assert (tmp_path / "b" / "model" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "train.stpes=3"], "regard: train.stpes: unknown key. Did you mean steps?\n"),
        (
            ["--preset", "bahdano"],
            'regard: `--preset` must be the name of a model; received "bahdano". Did you mean bahdanau?\n',
        ),
        (
            ["--set", "train.steps"],
            "regard: `--set` must be key=value, such as train.steps=500; received train.steps.\n",
        ),
    ],
)
def test_mistakes_are_one_paragraph_and_exit_code_2(run, arguments, message, tmp_path):
    done = run(*BUILTIN, "--out", tmp_path / "run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(message)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data__tokenizer": "absent.json"}, "absent.json cannot be read (No such file or directory).\n"),
        ({"train__guided_alignment": 1, "preset": "fixed"}, "must be 0 for a model without attention; received 1.\n"),
        ({"train__schedule__rate": "inf"}, "regard: train.schedule.rate: must be a finite number; received inf.\n"),
    ],
)
def test_a_run_that_never_began_leaves_nothing(run, tmp_path, changes, message):
    changes = dict(changes)
    preset = ("--preset", changes.pop("preset", "bahdanau"))
    done = run("--data", "builtin:hi-en", *preset, "--out", tmp_path / "new" / "run", **changes)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(message)
    assert not (tmp_path / "new").exists()


def test_figures_for_machines(run, tmp_path):
    done = run(*BUILTIN, "--out", tmp_path / "run", "--json", train__steps=1)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["steps"] == 1
    assert found["model"] == str(tmp_path / "run" / "model")
    assert found["signature"].startswith("task:translation|")
    assert {"test_bleu", "test_chrf", "valid_perplexity", "seconds"} <= found.keys()


def test_the_data_and_the_folder_must_be_named(run, tmp_path):
    done = run("--data", "builtin:hi-en")
    assert (done.returncode, done.stderr) == (
        2,
        "regard: `--out` must name the run folder, such as runs/a; received nothing.\n",
    )
    done = run("--preset", "bahdanau", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "regard: The data must be named; received nothing. Give two plain files" in done.stderr


def test_print_config_is_toml_that_can_be_given_back(run, tmp_path, monkeypatch):
    done = run(*BUILTIN, "--print-config")
    assert done.returncode == 0, done.stderr
    shown = tomllib.loads(done.stdout)
    assert shown["train"]["steps"] == 6
    assert shown["model"]["attention"]["kind"] == "additive"
    assert "# Updates of the parameters, at most.\nsteps = 6\n" in done.stdout
    (tmp_path / "my.toml").write_text(done.stdout)
    monkeypatch.setattr(f"{__name__}.SMALL", {})
    assert run("--config", tmp_path / "my.toml", "--print-config").stdout == done.stdout
    chosen = run("--set", "train.device=cpu", "--print-config")
    assert tomllib.loads(chosen.stdout)["model"]["kind"] == "recurrent"  # few pairs, no GPU


def test_help_has_examples():
    done = subprocess.run(
        [sys.executable, "-m", "regard", "train", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "regard train --source a.es --target a.en --out runs/b" in " ".join(done.stdout.split())
    assert done.stdout.count("│ --") <= 12  # eight flags, --task, --from, --json and --help


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            OSError(28, "No space left on device"),
            1,
            "must have room for the run; it is full. Make room and start again.\n",
        ),
        (TrainingError("The gradient must be finite."), 1, "regard: The gradient must be finite.\n"),
        (Interrupted("Stopped after step 3.", signal=2), 130, "regard: Stopped after step 3.\n"),
    ],
)
def test_what_goes_wrong_while_training_is_one_paragraph(run, tmp_path, monkeypatch, error, code, message):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr("regard.tasks.translation.train.train_translator", failing)
    done = run(*BUILTIN, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.endswith(message)


def test_what_fails_after_training_is_one_paragraph_and_the_model_is_there(run, tmp_path, monkeypatch):
    def failing(*_, **__):
        raise RuntimeError("no figure today")

    out = tmp_path / "run"
    with monkeypatch.context() as broken:
        broken.setattr("regard.tasks.translation.train.make_page", failing)
        done = run(*BUILTIN, "--out", out)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"regard: The model is in {out}/model and can be used, but not all that follows training was done: its report "
        "could not be written (RuntimeError: no figure today). The same command tries again."
    )
    assert (out / "model" / "model.safetensors").is_file()
    (out / ".data.json").unlink()
    done = run(*BUILTIN, "--out", out)
    assert (done.returncode, done.stdout[:5]) == (0, "BLEU ")
    assert "going on after step 6" in done.stderr
    assert f"{out}/.data.json is gone, so nobody can tell whether the data is what the run began with" in done.stderr


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_is_one_paragraph(tmp_path):
    """Too little for a checkpoint, and for the model; with more, the same command trains."""
    script = f"ulimit -f 40; {shlex.join(command(*BUILTIN, '--out', tmp_path / 'run'))}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "takes no file so large (a limit such as `ulimit -f`, or of the file system). Raise the limit" in done.stderr
    done = run_alone(*BUILTIN, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout[:5]) == (0, "BLEU ")


def start(out, **changes):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command(*BUILTIN, "--out", out, **changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    begun = time.monotonic()
    while process.poll() is None and time.monotonic() - begun < 120:
        if any((out / "checkpoints").glob("step-*")):
            return process
        time.sleep(0.01)
    raise AssertionError(process.communicate())


STOPPED = {"train__steps": 40, "train__validate_every": 40, "model__dropout": 0.2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The model of a run that nothing stops, in a process of its own."""
    out = tmp_path_factory.mktemp("whole") / "run"
    done = run_alone(*BUILTIN, "--out", out, **STOPPED)
    assert done.returncode == 0, done.stderr
    assert "going on after step" not in done.stderr
    return (out / "model" / "model.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_ends_with_the_same_bits(tmp_path, whole, number, code):
    """Ctrl-C and SIGTERM: the same command goes on, to the very same model (`kill -9`: see test_resume)."""
    process = start(tmp_path / "parts", **STOPPED)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    assert "which is saved. The same command goes on." in errors
    assert "Traceback" not in errors
    done = run_alone(*BUILTIN, "--out", tmp_path / "parts", **STOPPED)
    assert done.returncode == 0, done.stderr
    assert "going on after step" in done.stderr
    assert (tmp_path / "parts" / "model" / "model.safetensors").read_bytes() == whole


def test_a_folder_in_use_is_refused(run, tmp_path):
    with RunFolder(tmp_path / "run").locked():
        done = run(*BUILTIN, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert done.stderr.endswith("is in use. Wait for it, or name another folder.\n")


@pytest.mark.slow
def test_two_processes_train_one_model(tmp_path):
    arguments = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "regard"]
    done = subprocess.run(
        [*arguments, *command(*BUILTIN, "--out", tmp_path / "run")[3:]],
        capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("BLEU ") == 1
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()
    assert "torchrun --nproc-per-node=2 -m regard train" in (tmp_path / "run" / "model" / "README.md").read_text()


@pytest.mark.parametrize("task", [name for name in TASKS if name not in ("translate", "align")])
def test_two_files_are_for_pairs(task):
    with pytest.raises(ArgumentError, match=f"`source` must be left out for {TASKS[task].model}, which takes"):
        train(task=task, out=Path("x"), source="a.es", target="a.en")


@pytest.mark.parametrize("changes", [{}, {"train__steps": 9}])
def test_a_task_that_is_not_that_of_the_run_is_refused(run, tmp_path, changes):
    RunFolder(tmp_path).begin(TASKS["classify"].compose({}, TASKS["classify"].typical, ""), "abc")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    ended = run("--task", "language", "--out", tmp_path, **changes)
    message = (
        f"`--task` must be classify, that of the run in {tmp_path}, or be left out; received language. For another"
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in " ".join(ended.stderr.split())
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_unknown_task_is_refused():
    with pytest.raises(
        ArgumentError, match=r"`task` must be translate, language, classify, images, .* received langage\."
    ):
        train(task="langage", out=Path("x"), data="builtin:es-en")
