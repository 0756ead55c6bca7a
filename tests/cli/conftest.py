"""The command line, run as a user runs it, but in the process of the tests."""

import subprocess
import sys

import pytest

from regard.cli import main


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    """Run the command line in this process, which has torch already."""

    def run(*arguments):
        words = ["regard", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, shown.out, shown.err)

    return run
