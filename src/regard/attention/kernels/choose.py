"""Which backend computes a call, and why the others do not."""

from dataclasses import dataclass
from typing import Literal, get_args

from regard.attention.bias import Alibi
from regard.attention.inputs import Inputs
from regard.attention.kernels import additive, chunked, flex, sdpa
from regard.attention.kernels.transforms import transform_in_force
from regard.attention.mask import And, Documents, Mask, Or, Window
from regard.attention.score_function import ChangedScore
from regard.attention.similarity import Gaussian
from regard.errors import ArgumentError, BackendError, nearest

Backend = Literal["reference", "sdpa", "flex", "chunked", "triton"]


@dataclass(frozen=True, kw_only=True)
class BackendReport:
    """What `explain_backend` found: the choice, and each backend's reason to refuse (None where it could)."""

    chosen: Backend
    refusals: dict[Backend, str | None]

    def __str__(self) -> str:
        rows = []
        for name, reason in self.refusals.items():
            state = f"refused: {reason}" if reason else "chosen" if name == self.chosen else "possible"
            rows.append(f"{name:<10} {state}")
        return "\n".join(rows)


def refusals(inputs: Inputs) -> dict[Backend, str | None]:
    """Ask every backend whether it can compute this call."""
    transformed = transform_in_force()
    return {
        "reference": None,
        "sdpa": transformed or sdpa.refusal(inputs),
        "flex": transformed or flex.refusal(inputs),
        "chunked": transformed or chunked.refusal(inputs),
        "triton": transformed or additive.refusal(inputs),
    }


def choose(inputs: Inputs, backend: Backend | None) -> Backend:
    """Pick the fastest backend that is right, or the one asked for if it can."""
    if backend is None:
        return _fastest(inputs)
    if backend not in get_args(Backend):
        raise ArgumentError(
            f'`backend` must be None or one of {", ".join(get_args(Backend))}; received "{backend}". '
            + nearest(str(backend), get_args(Backend))
        )
    reason = refusals(inputs)[backend]
    if reason:
        raise BackendError(
            f'`backend` must be able to compute this call; received "{backend}", but {reason}. '
            "Leave it None to have one chosen, or see explain_backend(…)."
        )
    return backend


def _fastest(inputs: Inputs) -> Backend:
    if transform_in_force():
        return "reference"
    gaussian = isinstance(inputs.score, Gaussian)  # its inner form cancels where keys lie many bandwidths apart
    spares = _sparse(inputs.mask) or isinstance(inputs.score, ChangedScore) or isinstance(inputs.position, Alibi)
    if spares and flex.pays(inputs) and flex.refusal(inputs) is None and not gaussian:
        return "flex"
    if sdpa.refusal(inputs) is None and not gaussian:
        return "sdpa"
    return "chunked" if chunked.pays(inputs) else "reference"


def _sparse(mask: Mask | None) -> bool:
    """Return whether whole blocks of the mask are likely to be empty."""
    match mask:
        case Window() | Documents():
            return True
        case And():
            return _sparse(mask.left) or _sparse(mask.right)
        case Or():
            return _sparse(mask.left) and _sparse(mask.right)
    return False
