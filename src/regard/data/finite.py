"""Numbers that JSON can say."""

import math
from typing import Any


def finite(value: Any) -> Any:
    """Put null in place of NaN and infinity, which JSON has no word for, in whatever lists and tables hold them.

    >>> finite({"scores": [1.5, float("nan")], "name": "a"})
    {'scores': [1.5, None], 'name': 'a'}
    """
    match value:
        case dict():
            return {key: finite(one) for key, one in value.items()}
        case list() | tuple():
            return [finite(one) for one in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
