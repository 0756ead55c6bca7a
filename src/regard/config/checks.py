"""Checks that settings share, with messages in the house form; None, where a field may be that, passes."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import ArgumentError, near_miss


def check_least(settings: object, least: int, *names: str) -> None:
    """Raise where one of these fields is below `least`."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value >= least:
            raise ArgumentError(f"`{name}` must be at least {least}; received {value}.")


def check_above(settings: object, bound: float, *names: str) -> None:
    """Raise where one of these fields is not above `bound`."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value > bound:
            raise ArgumentError(f"`{name}` must be above {bound:g}; received {value:g}.")


def check_shares(settings: object, *names: str) -> None:
    """Raise where one of these fields is not a probability below one."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise ArgumentError(f"`{name}` must be from 0 to below 1; received {value:g}.")


def check_choices(settings: Any) -> None:
    """Raise where a field is none of the choices its type names."""
    for name, hint in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if get_origin(hint) is Literal and value not in get_args(hint):
            known = [str(choice) for choice in get_args(hint)]
            raise ArgumentError(
                f'`{name}` must be one of {", ".join(known)}; received "{value}".{near_miss(str(value), known)}'
            )
