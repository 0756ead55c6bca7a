"""Attention for sequence models, in one place.

Names are imported on first use, so that `import regard` and `regard --help` stay quick.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attention import (
        Additive as Additive,
    )
    from regard.attention import (
        Alibi as Alibi,
    )
    from regard.attention import (
        Attended as Attended,
    )
    from regard.attention import (
        Bilinear as Bilinear,
    )
    from regard.attention import (
        Causal as Causal,
    )
    from regard.attention import (
        Concat as Concat,
    )
    from regard.attention import (
        Cosine as Cosine,
    )
    from regard.attention import (
        Documents as Documents,
    )
    from regard.attention import (
        Dot as Dot,
    )
    from regard.attention import (
        Entmax as Entmax,
    )
    from regard.attention import (
        Gaussian as Gaussian,
    )
    from regard.attention import (
        GaussianWindow as GaussianWindow,
    )
    from regard.attention import (
        Hard as Hard,
    )
    from regard.attention import (
        Location as Location,
    )
    from regard.attention import (
        Mean as Mean,
    )
    from regard.attention import (
        Padding as Padding,
    )
    from regard.attention import (
        RelativeBias as RelativeBias,
    )
    from regard.attention import (
        Rotary as Rotary,
    )
    from regard.attention import (
        ScaledDot as ScaledDot,
    )
    from regard.attention import (
        Shaw as Shaw,
    )
    from regard.attention import (
        Sigmoid as Sigmoid,
    )
    from regard.attention import (
        Softmax as Softmax,
    )
    from regard.attention import (
        Sparsemax as Sparsemax,
    )
    from regard.attention import (
        Window as Window,
    )
    from regard.attention import (
        attention as attention,
    )
    from regard.attention import (
        explain_backend as explain_backend,
    )
    from regard.attention import (
        from_torch_mha as from_torch_mha,
    )
    from regard.attention import (
        lookup as lookup,
    )
    from regard.inspection.inspected import (
        inspect as inspect,
    )
    from regard.tasks.load import (
        load as load,
    )

__version__ = "0.1.0"

_HOMES = {
    "regard.attention": [
        "Additive",
        "Alibi",
        "Attended",
        "Bilinear",
        "Causal",
        "Concat",
        "Cosine",
        "Documents",
        "Dot",
        "Entmax",
        "Gaussian",
        "GaussianWindow",
        "Hard",
        "Location",
        "Mean",
        "Padding",
        "RelativeBias",
        "Rotary",
        "ScaledDot",
        "Shaw",
        "Sigmoid",
        "Softmax",
        "Sparsemax",
        "Window",
        "attention",
        "explain_backend",
        "from_torch_mha",
        "lookup",
    ],
    "regard.inspection.inspected": ["inspect"],
    "regard.tasks.load": ["load"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `regard.attention` the function, also after the folder of that name has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name == "attention" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
