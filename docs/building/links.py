"""Links of a page that leave docs/: to documents, which become pages of the site, and to source, which becomes HTML."""

import posixpath
import re
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename

#: Targets of Markdown links that are neither addresses nor anchors.
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(\))")
#: Documents beside docs/ that are pages of the site, and where.
DOCUMENTS = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}


class Links:
    """Rewrites links and keeps the files of source that they lead to."""

    def __init__(self, root: Path, *, repository: str) -> None:
        self.root, self.repository = root, repository
        self.sources: set[str] = set()

    def documents(self) -> dict[str, str]:
        """Give the documents outside docs/ that become pages, and their addresses in the site."""
        benchmarks = {
            f"benchmarks/{path.name}": f"benchmarks/{path.name}" for path in (self.root / "benchmarks").glob("*.md")
        }
        return {name: page for name, page in DOCUMENTS.items() if (self.root / name).exists()} | benchmarks

    def rewrite(self, text: str, *, page: str, written_in: str) -> str:
        """Rewrite the links of a page of the site that was written in a folder of the repository."""

        def replace(found: re.Match[str]) -> str:
            target = posixpath.normpath(posixpath.join(written_in, found[2]))
            return f"{found[1]}{self._address(target, page, found[2])}{found[3] or ''}{found[4]}"

        return LINK.sub(replace, text)

    def _address(self, target: str, page: str, written: str) -> str:
        """Give the address, seen from a page, of a file of the repository."""
        documents = self.documents()
        if target.startswith("docs/"):
            inside = target.removeprefix("docs/")
        elif target in documents:
            inside = documents[target]
        elif (self.root / target).is_file():
            if Path(target).suffix == ".png":
                return written
            self.sources.add(target)
            inside = f"source/{target}.html"
        elif (self.root / target).exists():
            return f"{self.repository}/tree/main/{target}"
        else:
            return written
        return posixpath.relpath(inside, posixpath.dirname(page) or ".")

    def source_page(self, target: str) -> str:
        """Write a file of source as HTML by itself, with numbered lines."""
        code = (self.root / target).read_text(encoding="utf-8")
        options = {"full": True, "title": target, "linenos": "inline", "lineanchors": "L", "style": "default"}
        return highlight(code, get_lexer_for_filename(target), HtmlFormatter(**options))
