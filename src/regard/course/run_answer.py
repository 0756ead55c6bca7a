"""The process in which a file of answers runs: `python -m regard.course.run_answer NUMBER FILE RESULT SECONDS`."""

import json
import sys
from pathlib import Path

from regard.course.checking import judge_file


def run_answer(number: str, path: str, result: str, seconds: str) -> None:
    """Judge a file and write the verdict; what the file prints goes to the terminal."""
    verdict = judge_file(number, Path(path), seconds=float(seconds))
    values = {"number": verdict.number, "right": verdict.right, "message": verdict.message}
    Path(result).write_text(json.dumps(values), encoding="utf-8")


if __name__ == "__main__":
    run_answer(*sys.argv[1:])
