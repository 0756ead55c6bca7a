"""The help of a setting: the string under its field."""

import ast
import inspect
import textwrap
from dataclasses import is_dataclass
from typing import Any


def field_help(settings: type[Any]) -> dict[str, str]:
    """Give the string under each field of a dataclass, those of its parents included.

    >>> from regard.config.train import Linear
    >>> field_help(Linear)["final"]
    'Share of the rate that is left at the last step.'
    """
    result: dict[str, str] = {}
    for ancestor in reversed(settings.__mro__):
        if is_dataclass(ancestor):
            result |= _own_help(ancestor)
    return result


def _own_help(settings: type[Any]) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(settings)))
    except (OSError, TypeError, SyntaxError):  # installed without its source
        return {}
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    result = {}
    for before, after in zip(definition.body, definition.body[1:], strict=False):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                result[name] = " ".join(text.split())
    return result
