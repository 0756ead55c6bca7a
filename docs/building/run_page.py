"""Run the code of a page from top to bottom, as a notebook does, and keep what it prints, draws and shows.

`python run_page.py PAGE FOLDER` writes outputs.json and the files it names into FOLDER. The site keeps such a folder
for each page under a name that holds a hash of the page's code, so that code that has not changed is not run again.
"""

import ast
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from code_blocks import Block, runnable

VERSION = "1"
"""Of what is kept; another one makes everything anew."""
STUDIO = Path(__file__).parents[2] / "src/regard/studio/static/studio.js"
LARGEST_SVG = 150_000
"""Bytes; a figure of more is kept as PNG."""
SECONDS = 240
"""After which a page is given up."""


def digest(text: str) -> str:
    """Hash what is run of a page, how it is run, and the studio's pages, which some of them are."""
    parts = [VERSION, STUDIO.read_text(encoding="utf-8")]
    parts += [repr((block.code, sorted(block.marks.items()))) for block in runnable(text)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def run_block(block: Block, namespace: dict[str, Any], name: str) -> tuple[str, Any]:
    """Run one block; give what it printed, and the value of its last line if that is an expression."""
    tree = ast.parse(block.code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    return printed.getvalue(), value


def keep(value: Any, block: Block, stem: str, folder: Path) -> dict[str, str]:
    """Write a figure or a page to the folder; give the name of its file, or the value as text."""
    if "view" in block.marks:
        html = value if isinstance(value, str) else value.to_html()
        (folder / f"{stem}.html").write_text(html, encoding="utf-8")
        return {"view": f"{stem}.html"}
    if hasattr(value, "savefig"):
        return {"figure": save_figure(value, stem, folder)}
    return {} if value is None else {"text": repr(value)}


def save_figure(figure: Any, stem: str, folder: Path) -> str:
    """Write a figure as SVG, or as PNG where that is smaller; the same numbers give the same file."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "regard", "svg.fonttype": "path"}):
        path = folder / f"{stem}.svg"
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        if path.stat().st_size > LARGEST_SVG:
            path.unlink()
            path = folder / f"{stem}.png"
            figure.savefig(path, dpi=160, bbox_inches="tight")
    return path.name


def run_page(page: Path, folder: Path) -> None:
    """Run a page and write its outputs into a folder."""
    import matplotlib
    import torch

    matplotlib.use("Agg")
    torch.set_num_threads(1)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        for number, block in enumerate(runnable(page.read_text(encoding="utf-8")), start=1):
            try:
                printed, value = run_block(block, namespace, f"{page.name}, line {block.line}")
            except Exception as error:
                raise RuntimeError(f"{page.name}, the block in line {block.line}: {error!r}") from error
            outputs.append({"printed": printed, **keep(value, block, f"{page.stem}-{number}", folder)})
    (folder / "outputs.json").write_text(json.dumps(outputs, ensure_ascii=False, indent=1), encoding="utf-8")


def results_folder(page: Path, cache: Path) -> Path:
    """Name the folder that holds the outputs of a page as it is now written."""
    return cache / f"{page.stem}-{digest(page.read_text(encoding='utf-8'))}"


def make_all(pages: Iterable[Path], cache: Path, *, workers: int | None = None) -> None:
    """Run those pages whose outputs are not there yet, a process each."""
    missing = [page for page in pages if not (results_folder(page, cache) / "outputs.json").exists()]
    with ThreadPoolExecutor(workers or min(os.cpu_count() or 1, 4)) as pool:
        for result in [pool.submit(_make, page.resolve(), results_folder(page, cache).resolve()) for page in missing]:
            result.result()


def _make(page: Path, folder: Path) -> None:
    for old in folder.parent.glob(f"{page.stem}-*"):
        shutil.rmtree(old)
    folder.mkdir(parents=True)
    command = [sys.executable, __file__, str(page), str(folder)]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run(command, check=False, env=settings, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"The code of {page.name} failed:\n{done.stderr}")


if __name__ == "__main__":
    run_page(Path(sys.argv[1]), Path(sys.argv[2]))
