"""The README as the page of an index: hatchling calls this to make its relative links and pictures absolute."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Gives the project's metadata its `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md, with links to the files of this version."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = absolute_links(text, metadata["urls"]["Homepage"], f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": page}


def absolute_links(text: str, repository: str, revision: str) -> str:
    """Let relative links of Markdown name a file of a repository, and pictures their bytes.

    >>> absolute_links("[a](docs/a.md) ![b](b.png) [c](#c)", "https://example.org/x", "v1")
    '[a](https://example.org/x/blob/v1/docs/a.md) ![b](https://example.org/x/raw/v1/b.png) [c](#c)'
    """
    return LINK.sub(
        lambda link: f"{link[1]}[{link[2]}]({repository}/{'raw' if link[1] else 'blob'}/{revision}/{link[3]})",
        text,
    )
