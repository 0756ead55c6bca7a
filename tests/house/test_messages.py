"""Errors of the library name arguments as Python does; the command line turns them into flags, in one place."""

import ast
import re

from house.source import PACKAGE, parsed, short

#: Folders whose callers type flags, and the reader of `--set` and `--config`.
EDGES = ("cli", "bench", "experiments", "config/read.py")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def messages(path):
    """Give the texts of a file that are raised, values left out, with the lines they are on."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            parts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
            yield node.lineno, "".join(part for part in parts if isinstance(part, str))


def flags(text):
    """List the flags of a message that are not part of a whole command, such as `regard train --out runs/a`."""
    return [
        found[0] for found in FLAG.finditer(text) if not re.search(r"\bregard [a-z-]+[^.;]*$", text[: found.start()])
    ]


def test_no_error_of_the_library_names_a_flag():
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if not short(path).startswith(EDGES)]
    assert len(paths) > 300
    found = [
        f"{short(path)}:{line}: {named}" for path in paths for line, text in messages(path) if (named := flags(text))
    ]
    assert found == []


def test_the_pattern_sees_what_it_should():
    assert flags("`--out` must be a folder.") == ["--out"]
    assert flags("Go on: regard train --out runs/a. Or give --data.") == ["--data"]
