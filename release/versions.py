"""The version of a release: the same wherever it is written."""

import re
import tomllib
from pathlib import Path

from package_files import ReleaseError

HEADING = re.compile(r"^## (\d+\.\d+\.\d+\S*) \((unreleased|\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def check_versions(root: Path, *, tag: str = "") -> str:
    """Give the version of a tree, or raise where its files, or the tag of a release, have another."""
    version = str(tomllib.loads(read(root, "pyproject.toml"))["project"]["version"])
    heading = HEADING.search(read(root, "CHANGELOG.md"))
    if heading is None:
        raise ReleaseError("CHANGELOG.md must have a heading such as `## 0.1.0 (2026-11-18)`, or `(unreleased)`.")
    written = {
        "CHANGELOG.md": heading[1],
        "CITATION.cff": find(r"^version: (\S+)$", read(root, "CITATION.cff")),
        "src/regard/__init__.py": find(r'^__version__ = "(\S+)"$', read(root, "src/regard/__init__.py")),
    }
    for name, other in written.items():
        if other != version:
            raise ReleaseError(f"{name} must have the version of pyproject.toml, {version}; it has {other}.")
    if tag and tag != f"v{version}":
        raise ReleaseError(f"the tag must be v{version}, the version of pyproject.toml; received {tag}.")
    if tag and heading[2] == "unreleased":
        raise ReleaseError(f"CHANGELOG.md must have the date of {version}; it has (unreleased). Write the date.")
    return version


def find(pattern: str, text: str) -> str:
    """Give what a pattern matches in a text; "nothing" where it does not."""
    matched = re.search(pattern, text, re.MULTILINE)
    return matched[1] if matched else "nothing"


def read(root: Path, name: str) -> str:
    """Read a file of the tree."""
    return (root / name).read_text(encoding="utf-8")
