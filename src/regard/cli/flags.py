"""Flags that commands share, and errors of the library in their words: `n_best` of Python is `--n-best` there."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer

AsTyped: TypeAlias = Annotated[
    bool, typer.Option("--as-typed", help="Read every word as typed: restore no accents or capitals.")
]

_MODEL = re.compile(r"`(?:path|folder)` must (?=be a model folder|be the folder of|hold config\.json)")


def spell_flags(message: str, command: Any, words: Sequence[str]) -> str:
    """Call arguments in a message as the command in `words` calls them; `command` is that of all commands."""
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    names = {one.name: _spelled(one) for one in command.params}
    if model := next((names[one] for one in ("model", "systems", "folders") if one in names), ""):
        message = _MODEL.sub(f"`{model}` must ", message)
    return re.sub(r"`([a-z_]+)`", lambda found: f"`{names.get(found[1], found[1])}`", message)


def _spelled(parameter: Any) -> str:
    """Give the longest spelling of an option, or the name that help gives an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(max(parameter.opts, key=len))
