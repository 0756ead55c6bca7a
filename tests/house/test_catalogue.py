"""The catalogue is complete: a mechanism without a row is not tested."""

import importlib
import inspect

from catalogue.operator import LAYOUTS, MASKS, NORMALIZERS, POSITIONS, SCORES, Setting, position_row
from regard.attention.mask import And, Dense, Not, Or, as_mask


def offered(kind: str) -> set[type]:
    """Give the public classes of one kind."""
    folder = importlib.import_module("regard.attention")
    parent = getattr(folder, kind)
    things = [getattr(folder, name) for name in folder.__all__]
    return {thing for thing in things if inspect.isclass(thing) and issubclass(thing, parent) and thing is not parent}


def parts(mask: object) -> set[type]:
    """Give the kinds of mask inside an expression."""
    inner = [getattr(mask, name) for name in ("left", "right", "inverse") if hasattr(mask, name)]
    if isinstance(mask, (And, Or, Not)):
        return {type(mask)}.union(*(parts(part) for part in inner))
    return {type(mask)}


SETTING = Setting(LAYOUTS["heads"])


def test_every_score_has_a_row() -> None:
    assert offered("Score") <= {type(make(SETTING).score) for make in SCORES.values()}


def test_every_normalizer_has_a_row() -> None:
    assert offered("Normalizer") <= {type(row.normalizer) for row in NORMALIZERS.values()}


def test_every_position_has_a_row() -> None:
    assert offered("Position") <= {type(position_row(name, SETTING, 13).position) for name in POSITIONS}


def test_every_mask_has_a_row() -> None:
    made = [make(SETTING).mask for make in MASKS.values()]
    kinds = set().union(*(parts(as_mask(mask)) for mask in made if mask is not None))
    assert offered("Mask") <= kinds
    assert {And, Or, Not, Dense} <= kinds
