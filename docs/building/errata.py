"""What is often taught wrongly, collected from the chapters into one page."""

import re
from pathlib import Path

MARKER = "<!-- errata -->"
SECTION = re.compile(r"^## Often taught wrongly\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"^# (.*)$", re.MULTILINE)


def errata_of(text: str) -> str:
    """Give the section of a chapter; nothing where it has none."""
    found = SECTION.search(text)
    return found[1].strip() if found else ""


def collect(pages: list[Path]) -> str:
    """Write the errata of all chapters, each under the chapter's name."""
    parts = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        title = TITLE.search(text)
        if errata_of(text) and title:
            parts.append(f"## [{title[1]}]({page.name})\n\n{errata_of(text)}\n")
    return "\n".join(parts)
