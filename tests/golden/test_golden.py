"""What an older regard wrote must still load, and give the same numbers.

Each folder of `data/` holds what one version wrote, with the numbers it got, in `expected.json`. A file that no longer
loads here no longer loads for users either: mend the reader, never the file. To add a version, run
`PYTHONPATH=src:tests python -m golden.make_golden` with it and commit its folder; old ones are never overwritten.
"""

import json
import math
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from golden.measures import DATA, PICTURE, last_losses, measure_model, measure_trace, read_metrics, run_command, task_of

#: Keys of printed objects that have other names today.
KEYS = {"looked_at": "attended_to", "never_said": "never_output", "places": "positions"}
EXPECTED = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in DATA.glob("*/expected.json")}


def entries(part: str) -> list[Any]:
    """List every entry of a part with its version."""
    return [
        pytest.param(version, name, id=f"{version}-{name}")
        for version, expected in sorted(EXPECTED.items())
        for name in expected[part]
    ]


def differences(before: Any, now: Any, where: str = "", *, within: float = 2e-4) -> list[str]:
    """List where `now` is not `before`. It may have more keys; numbers that a command rounds may fall either way."""
    if isinstance(before, dict) and isinstance(now, dict):
        absent = [f"{where}.{key}: gone" for key in before if key not in now]
        pairs = [(f"{where}.{key}", one, now[key]) for key, one in before.items() if key in now]
        return absent + [line for at, one, other in pairs for line in differences(one, other, at, within=within)]
    if isinstance(before, list) and isinstance(now, list | tuple) and len(before) == len(now):
        rows = enumerate(zip(before, now, strict=True))
        return [line for at, (one, other) in rows for line in differences(one, other, f"{where}[{at}]", within=within)]
    if isinstance(before, float) and isinstance(now, float):
        same = math.isclose(before, now, rel_tol=within, abs_tol=within)
    else:
        same = before == now
    return [] if same else [f"{where}: was {before}, is {now}"]


@pytest.mark.parametrize(("version", "name"), entries("models"))
def test_model_folders_load_and_give_the_same_numbers(version: str, name: str) -> None:
    folder = DATA / version
    measured = measure_model(task_of(name), folder / "models" / name, folder / PICTURE)
    assert differences(EXPECTED[version]["models"][name], measured) == []


@pytest.mark.parametrize(("version", "name"), entries("commands"))
def test_commands_print_the_same(version: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA / version)
    expected = EXPECTED[version]["commands"][name]
    assert differences(renamed(expected["output"]), run_command(expected["arguments"])) == []


def renamed(value: Any) -> Any:
    """Give what a command of version 0.1 printed with the keys that it has today."""
    if isinstance(value, list):
        return [renamed(one) for one in value]
    return {KEYS.get(name, name): renamed(one) for name, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("version", sorted(EXPECTED))
def test_traces_open_with_the_same_numbers(version: str) -> None:
    assert differences(EXPECTED[version]["trace"], measure_trace(DATA / version / "looks.trace")) == []


@pytest.mark.parametrize(("version", "name"), entries("interrupted"))
def test_interrupted_runs_go_on_to_the_same_end(
    version: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, run = EXPECTED[version]["interrupted"][name], tmp_path / "interrupted" / name
    for part in ("inputs", f"interrupted/{name}"):
        shutil.copytree(DATA / version / part, tmp_path / part)
    saved = max(int(path.name.removeprefix("step-")) for path in (run / "checkpoints").iterdir())
    before = [one for one in read_metrics(run / "metrics.jsonl") if one["step"] <= saved]
    settings = tomllib.loads((run / "config.toml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    run_command(expected["command"])
    after = read_metrics(run / "metrics.jsonl")
    assert len(before) >= saved
    assert after[: len(before)] == before  # seconds included: it went on, and did not begin anew
    assert [one["step"] for one in after if one["event"] == "train"] == list(range(1, expected["losses"]["step"] + 1))
    assert differences(expected["losses"], last_losses(run / "metrics.jsonl"), within=1e-3) == []
    assert differences(settings, tomllib.loads((run / "config.toml").read_text(encoding="utf-8"))) == []
    assert measure_model(name, run, tmp_path / PICTURE)


def test_every_kind_of_model_has_a_golden_folder() -> None:
    assert "0.1" in EXPECTED
    for version, expected in EXPECTED.items():
        folders = {path.name for path in (DATA / version / "models").iterdir()}
        assert folders == expected["models"].keys()
        tasks = set(map(task_of, folders))
        assert tasks >= {"translator", "language", "classifier", "images", "questions", "captions"}


def test_the_comparison_sees_what_changes() -> None:
    before = {"a": [1.0, "x"], "b": 2}
    assert differences(before, {"a": (1.00001, "x"), "b": 2, "c": 3}) == []
    assert differences(before, {"a": [1.001, "y"]}) == [".b: gone", ".a[0]: was 1.0, is 1.001", ".a[1]: was x, is y"]
    assert differences(before, {"a": [1.0], "b": 2}) == [".a: was [1.0, 'x'], is [1.0]"]
    assert differences(float("nan"), 1.0) == [": was nan, is 1.0"]
