"""Chapters as notebooks: the same text, the same code, and a cell for each exercise. `make notebooks` writes them.

A notebook is made from its page alone, without outputs, and a test holds each to its page.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from code_blocks import chapters, runnable
from exercise_text import MARKER, allowed_line, chapter_of, heading

from regard.course.catalogue import of_chapter
from regard.course.exercise import Exercise

DOCS = Path(__file__).parents[1]
INSTALL = """\
import importlib.util
import os
import subprocess
import sys
import tempfile

if importlib.util.find_spec("regard") is None:  # on Colab, say
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "regard"], check=True)
os.chdir(tempfile.mkdtemp())  # what is trained here goes into a folder of its own
"""
ADMONITION = re.compile(r'^(!!!|\?\?\?) \w+ "([^"]*)"\n((?:(?: {4}.*)?\n)+)', re.MULTILINE)
BADGE = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({address})"


def repository() -> str:
    """Give the address of the repository, as mkdocs.yml has it."""
    text = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    [address] = re.findall(r"^  repository: (\S+)$", text, re.MULTILINE)
    return str(address)


def plain_markdown(text: str) -> str:
    """Write Markdown of the site as notebooks read it: no admonitions, and links from the folder of notebooks."""

    def replace(found: re.Match[str]) -> str:
        inner = "\n".join(line[4:] for line in found[3].strip("\n").splitlines())
        if found[1] == "???":
            return f"<details><summary>{found[2]}</summary>\n\n{inner}\n\n</details>\n"
        return "\n".join(f"> {line}".rstrip() for line in [f"**{found[2]}**", "", *inner.splitlines()]) + "\n"

    text = ADMONITION.sub(replace, text)
    text = re.sub(r"\]\((\d\d-[\w-]+\.md)", r"](../course/\1", text)
    return text.replace("](../notebooks/", "](")


def exercise_cells(exercise: Exercise) -> list[tuple[str, str]]:
    """Give the task, and a function to fill in with its check below."""
    hints = "\n\n".join(
        f"<details><summary>Hint {n}</summary>\n\n{hint}\n\n</details>" for n, hint in enumerate(exercise.hints, 1)
    )
    task = f"### {heading(exercise)}\n\n{exercise.task}\n\n{allowed_line(exercise)}{hints}"
    stub = f"{exercise.signature}\n    raise NotImplementedError  # your answer\n\n\n"
    stub += f'check("{exercise.number}", {exercise.name})'
    return [("markdown", task), ("code", stub)]


def cells_of(text: str, name: str) -> list[tuple[str, str]]:
    """Cut a page into cells: kind and source."""
    body, _, rest = text.partition(MARKER)
    cells: list[tuple[str, str]] = []
    at = 0
    for block in runnable(body):
        cells += [("markdown", plain_markdown(body[at : block.start])), ("code", block.code)]
        at = block.end
    cells.append(("markdown", plain_markdown(body[at:])))
    imports = "import torch\nfrom torch import Tensor\n\nfrom regard.course import check"
    puzzles = "from torch import Tensor\n\nfrom regard.course import check\nfrom regard.course.operations import *"
    cells.append(("code", puzzles if chapter_of(name) == "p" else imports))
    for exercise in of_chapter(chapter_of(name)):
        cells += exercise_cells(exercise)
    cells.append(("markdown", plain_markdown(rest)))
    return [(kind, source.strip("\n")) for kind, source in cells if source.strip()]


def notebook_of(page: Path) -> dict[str, Any]:
    """Make the notebook of a page, without outputs."""
    text = page.read_text(encoding="utf-8")
    title, _, rest = text.partition("\n")
    colab = repository().replace("https://github.com/", "https://colab.research.google.com/github/")
    badge = BADGE.format(address=f"{colab}/blob/main/docs/notebooks/{page.stem}.ipynb")
    about = f"Made from [the page](../course/{page.name}) of the course, which shows the outputs too."
    cells = [("markdown", f"{title}\n\n{badge}\n\n{about}"), ("code", INSTALL.strip("\n")), *cells_of(rest, page.name)]
    counts = {"markdown": 0, "code": 0}
    made = []
    for kind, source in cells:
        counts[kind] += 1
        cell: dict[str, Any] = {
            "cell_type": kind,
            "id": f"{'text' if kind == 'markdown' else kind}-{counts[kind]}",
            "metadata": {},
        }
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written(page: Path) -> str:
    """Give the file of a page's notebook as text."""
    return json.dumps(notebook_of(page), indent=1, ensure_ascii=False) + "\n"


def pages() -> list[Path]:
    """Give the pages that become notebooks."""
    return [*chapters(DOCS), DOCS / "course" / "puzzles.md"]


if __name__ == "__main__":
    for each in pages():
        (DOCS / "notebooks" / f"{each.stem}.ipynb").write_text(written(each), encoding="utf-8")
