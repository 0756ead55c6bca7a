"""Docstrings as the site renders them: doctests become blocks of code, `Reference:` and `Differs:` stand out."""

import re
from typing import Any

from griffe import Class, Extension, Function, Module, Object

LABEL = re.compile(r"^(References?|Differs|Example):", re.MULTILINE)
DOCTEST = re.compile(r"(?:^>>> .*\n(?:.+\n?)*)", re.MULTILINE)


def to_markdown(text: str) -> str:
    """Write a docstring as Markdown.

    >>> print(to_markdown("Add.\\n\\nReference: A (2015).\\n\\n>>> 1 + 1\\n2\\n"))
    Add.
    <BLANKLINE>
    **Reference:** A (2015).
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    """
    text = LABEL.sub(lambda found: f"\n**{found[1]}:**", text).replace("\n\n\n", "\n\n")
    return DOCTEST.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)


class Docstrings(Extension):
    """Rewrites every docstring once it is loaded."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite one."""
        if obj.docstring is not None and isinstance(obj, Module | Class | Function):
            obj.docstring.value = to_markdown(obj.docstring.value)
