"""Checks that settings share, with messages in the house form; None, where a field may be that, passes."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import ArgumentError, brief, near_miss

LAYERS = 256
"""Layers of a model, at most."""
SIZES = 1 << 20
"""The widest layer and the longest text, at most."""
MOST_PIXELS = 1 << 13
"""Height or width of a picture that a model reads, at most."""
MOST_LISTED = 4096
"""Numbers tried for those that divide another."""


def check_least(settings: object, least: int, *names: str) -> None:
    """Raise where one of these fields is below `least`."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value >= least:
            raise ArgumentError(f"`{name}` must be at least {least}; received {value}.")


def check_most(settings: object, most: int, *names: str) -> None:
    """Raise where one of these fields is above `most`: beyond it nothing is built or computed in any time."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value <= most:
            raise ArgumentError(f"`{name}` must be at most {most:,}; received {brief(value)}.")


def check_divides(name: str, number: int, of_name: str, of: int) -> None:
    """Raise where a number does not divide another, and list the first that do."""
    if of % number:
        divisors = ", ".join(str(other) for other in range(1, min(of, MOST_LISTED) + 1) if of % other == 0)
        raise ArgumentError(f"`{name}` must divide `{of_name}`, {of}; received {number}. Choose one of {divisors}.")


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
