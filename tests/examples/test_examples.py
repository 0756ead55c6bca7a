"""Every example runs as it stands, warns of nothing, and leaves pictures worth looking at."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
SHORT = ("01", "09", "10", "12", "14", "15")  # the others train for some seconds


def test_examples_are_numbered_and_short() -> None:
    assert [path.name[:3] for path in EXAMPLES] == [f"{number:02}_" for number in range(1, len(EXAMPLES) + 1)]
    for path in EXAMPLES:
        lines = path.read_text().splitlines()
        assert len(lines) < 120, path.name
        assert sum(line.startswith("# %%") for line in lines) >= 3, path.name


@pytest.mark.usefixtures("unchecked")  # users do not check shapes either, and training takes half the time
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.name[:2] in SHORT else [pytest.mark.slow], id=path.stem) for path in EXAMPLES],
)
def test_example_runs_and_draws(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, since each start of torch takes seconds; a warning is a failure here as everywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    pictures = sorted((tmp_path / "runs" / "examples").glob(f"{path.stem}*.png"))
    assert pictures
    assert "wrote runs/examples/" in printed
    assert re.search(r"\d[.%]", printed), "an example prints numbers it has computed"
    for picture in pictures:
        pixels = imread(picture)  # height width color
        assert pixels.shape[0] > 300
        assert pixels.shape[1] > 400
        assert pixels[..., :3].std() > 0.05, f"{picture.name} is nearly empty"


def test_an_example_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(FOLDER / "01_scores.py"), "--out", str(tmp_path / "here")]
    run = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert not run.stderr
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["01_scores.png"]
