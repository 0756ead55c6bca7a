"""Flags that commands share, and errors of the library in their words.

A message names arguments as Python does: `n_best`, `split="valid"`, `settings={"train.steps": 500}`. A command that has
them calls them `--n-best`, `--split valid`, `--set train.steps=500`.
"""

import ast
import re
from collections.abc import Mapping, Sequence
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
    return _ARGUMENT.sub(lambda match: f"`{_spell(match[1], match[2], names) or match[0][1:-1]}`", message)


_ARGUMENT = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")


def _spell(name: str, value: str | None, names: Mapping[str, str]) -> str:
    """Give the flag of an argument, with its value if it has one; nothing where the command has no such flag."""
    if name == "settings" and "assignments" in names:
        pairs = ast.literal_eval(value).items() if value else ()
        return " ".join(f"{names['assignments']} {key}={item}" for key, item in pairs) or names["assignments"]
    if name not in names or value is None or value == "True":
        return names.get(name, "")
    return f"{names[name]} {value.strip(_QUOTES)}"


_QUOTES = "\"'"


def _spelled(parameter: Any) -> str:
    """Give the longest spelling of an option, or the name that help gives an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return str(max(parameter.opts, key=len))
