"""Settings as TOML: each with its help above it, the string under its field, to be read back unchanged."""

import ast
import inspect
import json
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin


def show_settings(settings: Any, *, help: bool = True) -> str:
    """Write settings as TOML.

    >>> from regard.config.train import Constant
    >>> print(show_settings(Constant(rate=0.5)))
    kind = "constant"
    # The highest learning rate, reached at the end of the warm-up.
    rate = 0.5
    # Steps over which the rate rises from zero.
    warm_up = 0
    """
    return "\n".join(_table(settings, (), help)).strip()


def flatten(settings: Any, at: str = "") -> dict[str, Any]:
    """Give every setting under its dotted key.

    >>> from regard.config.train import Constant
    >>> flatten(Constant(rate=0.5), "train.schedule")
    {'train.schedule.rate': 0.5, 'train.schedule.warm_up': 0, 'train.schedule.kind': 'constant'}
    """
    flat: dict[str, Any] = {}
    for item in fields(settings):
        key, value = (f"{at}.{item.name}" if at else item.name), getattr(settings, item.name)
        flat |= flatten(value, key) if is_dataclass(value) else {key: value}
    return flat


def differences(before: Any, after: Any) -> list[str]:
    """List the settings that are not the same.

    >>> from regard.config.train import Constant
    >>> differences(Constant(rate=0.5), Constant(rate=1.0))
    ['rate was 0.5, now 1.0']
    """
    first, second = flatten(before), flatten(after)
    keys = [*first, *(key for key in second if key not in first)]
    words = {key: (_shown(first, key), _shown(second, key)) for key in keys}
    return [f"{key} was {was}, now {now}" for key, (was, now) in words.items() if was != now]


def to_table(settings: Any) -> dict[str, Any]:
    """Give settings as nested tables, without what is not set."""
    table = {}
    for item in fields(settings):
        value = getattr(settings, item.name)
        if value is not None:
            table[item.name] = to_table(value) if is_dataclass(value) else value
    return table


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


def _shown(flat: dict[str, Any], key: str) -> str:
    return "not a setting" if key not in flat else "not set" if flat[key] is None else _value(flat[key])


def _table(settings: Any, path: tuple[str, ...], with_help: bool) -> Iterator[str]:
    helps = field_help(type(settings)) if with_help else {}
    hints = typing.get_type_hints(type(settings))
    tables = []
    for item in sorted(fields(settings), key=lambda item: item.name != "kind"):
        value = getattr(settings, item.name)
        if is_dataclass(value):
            tables.append((item.name, value, hints[item.name]))
            continue
        if item.name in helps:
            yield from _comment(helps[item.name] + _choices(hints[item.name], helps[item.name]))
        # TOML has no word for "not set": the line stays a comment.
        yield f"# {item.name} = not set" if value is None else f"{item.name} = {_value(value)}"
    for name, value, hint in tables:
        yield ""
        if name in helps:
            yield from _comment(helps[name])
        kinds = [
            get_args(typing.get_type_hints(choice)["kind"])[0] for choice in get_args(hint) if is_dataclass(choice)
        ]
        if with_help and kinds:
            yield f"# Kinds: {', '.join(kinds)}."
        yield f"[{'.'.join([*path, name])}]"
        yield from _table(value, (*path, name), with_help)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 118, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def _choices(hint: Any, already: str) -> str:
    choices = [choice for item in (hint, *get_args(hint)) if get_origin(item) is Literal for choice in get_args(item)]
    if len(choices) < 2 or all(str(choice) in already for choice in choices):
        return ""
    return f" One of {', '.join(map(str, choices))}."


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case float():
            return repr(value)
        case _:
            return str(value)
