"""Flags that commands share, and errors of the library in their words: `n_best` of Python is `--n-best` there."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

AsTyped: TypeAlias = Annotated[
    bool, typer.Option("--as-typed", help="Read every word as typed: restore no accents or capitals.")
]


class Command(TyperCommand):
    """A command whose flags show no type in its help: they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, that of help included."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, that of help included."""
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


_MODEL = re.compile(r"`(?:path|folder)` must (?=be a model folder|be the folder of|hold config\.json)")


def spell_flags(message: str, command: Any, words: Sequence[str]) -> str:
    """Call arguments in a message as the command in `words` calls them; `command` is that of all commands."""
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    names = {item.name: _spelled(item) for item in command.params}
    if model := next((names[item] for item in ("model", "systems", "folders") if item in names), ""):
        message = _MODEL.sub(f"`{model}` must ", message)
    return re.sub(r"`([a-z_]+)`", lambda found: f"`{names.get(found[1], found[1])}`", message)


def _spelled(parameter: Any) -> str:
    """Give the longest spelling of an option, or the name that help gives an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(max(parameter.opts, key=len))
