"""What `make docs` does beside MkDocs: run chapters, render equations, add generated pages, link to source."""

import html
import json
import os
import posixpath
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import atlas
import errata
import exercise_text
import maths
import reference_pages
import run_page
from code_blocks import Block, chapters, find_blocks
from links import Links
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "docs"
WORKERS = int(os.environ.get("DOCS_WORKERS", "0")) or None


class Site:
    """What the hooks share during a build."""

    links: Links
    outputs: dict[str, list[dict[str, Any]]]


def on_config(config: MkDocsConfig) -> None:
    """Run the chapters whose code has changed."""
    Site.links = Links(ROOT, repository=config.extra["repository"])
    docs = Path(config.docs_dir)
    run_page.make_all(chapters(docs), CACHE, workers=WORKERS)
    Site.outputs = {
        f"course/{path.name}": json.loads((run_page.results_folder(path, CACHE) / "outputs.json").read_text())
        for path in chapters(docs)
    }


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is generated: documents beside docs/, and what chapters drew."""
    for source, address in Site.links.documents().items():
        text = (ROOT / source).read_text(encoding="utf-8")
        folder = posixpath.dirname(source)
        files.append(File.generated(config, address, content=Site.links.rewrite(text, page=address, written_in=folder)))
    for address, text in reference_pages.pages().items():
        files.append(File.generated(config, address, content=text))
    for file in list(files.documentation_pages()):
        Site.links.rewrite(file.content_string, page=file.src_uri, written_in=written_in(file.src_uri))
    for target in sorted(Site.links.sources):
        page = Site.links.source_page(target)
        files.append(File.generated(config, f"source/{target}.html", content=page))
    for path in chapters(Path(config.docs_dir)):
        for made in run_page.results_folder(path, CACHE).iterdir():
            if made.suffix in (".svg", ".png", ".html"):
                files.append(File.generated(config, f"course/made/{made.name}", abs_src_path=str(made)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put outputs behind the code of a chapter, and lead links that leave docs/ to pages of the site."""
    address = page.file.src_uri
    if address in Site.outputs:
        markdown = with_outputs(markdown, Site.outputs[address])
    if exercise_text.MARKER in markdown:
        markdown = markdown.replace(exercise_text.MARKER, exercise_text.on_the_site(posixpath.basename(address)))
    if atlas.MARKER in markdown:
        markdown = markdown.replace(atlas.MARKER, atlas.table())
    if reference_pages.MARKER in markdown:
        markdown = markdown.replace(reference_pages.MARKER, reference_pages.error_list())
    if errata.MARKER in markdown:
        markdown = markdown.replace(errata.MARKER, errata.collect(chapters(Path(config.docs_dir))))
    if page.file.generated_by is not None:
        return markdown
    return Site.links.rewrite(markdown, page=address, written_in=written_in(address))


def written_in(address: str) -> str:
    """Give the folder of the repository that a page of docs/ lies in."""
    return posixpath.join("docs", posixpath.dirname(address))


def with_outputs(text: str, outputs: list[dict[str, Any]]) -> str:
    """Write what each block printed, drew and showed below it."""
    remaining = iter(outputs)
    parts, at = [], 0
    for block in find_blocks(text):
        shown = show(block, next(remaining)) if block.runs else text[block.start : block.end]
        parts += [text[at : block.start], shown]
        at = block.end
    return "".join([*parts, text[at:]])


def show(block: Block, output: dict[str, str]) -> str:
    """Write one block with its output."""
    code = f"```python\n{block.code}```\n"
    if "folded" in block.marks or "view" in block.marks:
        inner = "".join(f"    {line}" if line.strip() else line for line in code.splitlines(keepends=True))
        code = f'??? abstract "{block.marks.get("folded") or "The code of this page"}"\n\n{inner}'
    lines = output["printed"] + (f"{output['text']}\n" if "text" in output else "")
    if lines.strip():
        code += f'\n<div class="output" markdown>\n\n```text\n{lines.rstrip()}\n```\n\n</div>\n'
    if "figure" in output:
        about = html.escape(block.marks.get("figure", ""))
        code += f'\n<figure class="made"><img src="made/{output["figure"]}" alt="{about}" loading="lazy"></figure>\n'
    if "view" in output:
        title, address = html.escape(block.marks["view"]), f"made/{output['view']}"
        code += (
            f'\n<iframe class="view" src="{address}" title="{title}" loading="lazy"></iframe>\n\n'
            f'<small><a href="{address}">{title}, as a page of its own</a></small>\n'
        )
    return code


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Render equations."""
    return maths.render(html)
