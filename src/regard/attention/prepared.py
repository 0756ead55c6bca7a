"""What kernels need of a mask, made once for each shape of scores and kept with the mask.

All layers of a model use one mask for a batch, and a training step may be one graph of launches: what a mask is made
into is then made by the first of them. Only masks whose tensors alone decide keep anything; a tensor that is changed
in place is noticed. While a CUDA graph is captured, a mask made before keeps nothing, since its tensors may be filled
anew before the graph runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.kernels.blank import LARGE, blank_large
from regard.attention.kernels.transforms import traced
from regard.attention.mask import And, Causal, Documents, Harmless, Mask, Not, Padding, Window

#: The largest mask that is kept, in numbers: beyond it, attention takes far longer than making the mask.
MOST_NUMBERS = 1 << 22
#: For how many shapes one mask keeps what was made.
MOST_SHAPES = 4
#: Rows of a bias begin at multiples of so many numbers, as torch's kernels want them: else they would copy it.
ALIGNMENT = 16

Plan = TypeVar("Plan")
_FAKE = torch._C._TorchDispatchModeKey.FAKE


class Prepared:
    """One mask over scores of one shape, in the forms that kernels take, each made when it is first asked for."""

    def __init__(self, dense: Bool[Tensor, "... query key"], *, fills_rows: bool = False) -> None:
        self.dense = dense
        #: Known to leave every query some key.
        self.fills_rows = fills_rows
        self._biases: dict[torch.dtype, Tensor] = {}
        self._zeros: dict[torch.dtype, Tensor] = {}

    @cached_property
    def attending(self) -> Bool[Tensor, "... query"]:
        """Which queries may attend to anything."""
        return self.dense.any(-1)

    @cached_property
    def attended(self) -> Bool[Tensor, "... key"]:
        """Which keys anyone may attend to."""
        return self.dense.squeeze(-2) if self.dense.size(-2) == 1 else self.dense.any(-2)

    @cached_property
    def query_rows(self) -> Bool[Tensor, "... query 1"]:
        """Lay `attending` along the rows of the queries."""
        return self.attending.unsqueeze(-1)

    @cached_property
    def key_rows(self) -> Bool[Tensor, "... key 1"]:
        """Lay `attended` along the rows of the keys."""
        return self.attended.unsqueeze(-1)

    def bias(self, dtype: torch.dtype) -> Float[Tensor, "... query key"]:
        """Give the mask as numbers to add to the scores, made once."""
        if dtype not in self._biases:
            self._biases[dtype] = as_bias(self.dense, dtype)
        return self._biases[dtype]

    def blank(
        self, tensor: Float[Tensor, "*batch row size"], keep: Bool[Tensor, "... #row 1"]
    ) -> Float[Tensor, "*batch row size"]:
        """Zero the rows where `keep` is False, whatever they hold."""
        if tensor.numel() >= LARGE:
            return blank_large(tensor, keep)
        if tensor.dtype not in self._zeros:  # a number of Python's would be moved to the device every time
            self._zeros[tensor.dtype] = tensor.new_zeros(())
        return torch.where(keep, tensor, self._zeros[tensor.dtype])


def as_bias(mask: Bool[Tensor, "... query key"], dtype: torch.dtype) -> Float[Tensor, "... query key"]:
    """Give zeros, and −∞ where the mask forbids.

    Of a boolean mask torch's CUDA kernels make such a bias themselves, at every call; cuDNN's gives other numbers than
    zero in rows without a key.
    """
    *lead, keys = mask.shape
    wide = torch.zeros(*lead, -(-keys // ALIGNMENT) * ALIGNMENT, dtype=dtype, device=mask.device)
    return wide[..., :keys].masked_fill_(~mask, -torch.inf)


def prepare(mask: Mask, shape: tuple[int, ...], device: torch.device) -> Prepared:
    """Give what was made of the mask for scores of that shape, or make it, and keep it where that is safe."""
    known = prepare_known(mask, shape, device)
    return _make(mask, shape, device) if known is None else known


def prepare_known(mask: Mask, shape: tuple[int, ...], device: torch.device) -> Prepared | None:
    """Do so for a mask whose tensors alone decide, outside of what torch traces; None for any other."""
    key = _key(mask, shape, device)
    if key is None:
        return None
    store = _store(mask)
    kept: Prepared | None = store.get(key)
    if type(mask) is Harmless:  # a snapshot of its source, which may have been changed since
        same = kept is not None and kept.dense.data_ptr() == mask.tensor.data_ptr()
        return kept if same else _make(mask, shape, device)
    if kept is None:
        kept = _make(mask, shape, device)
        if type(kept.dense) is Tensor and kept.dense.numel() <= MOST_NUMBERS:
            _put(store, key, kept)
    return kept


def recall(mask: Mask, shape: tuple[int, ...], device: torch.device) -> Prepared | None:
    """Give what is kept with the mask for scores of that shape, if anything is and still holds."""
    store = _store(mask)
    key = _key(mask, shape, device) if store else None
    kept: Prepared | None = None if key is None else store.get(key)
    return kept


def keep(mask: Mask, shape: tuple[int, ...], device: torch.device, plan: Callable[..., Plan]) -> Plan:
    """Give `plan(mask, shape, device)`, made once and kept with the mask where that is safe."""
    key = None if type(mask) is Harmless else _key(mask, shape, device)
    if key is None:
        return plan(mask, shape, device)
    store, key = _store(mask), (plan, shape, *key)
    if key not in store:
        _put(store, key, plan(mask, shape, device))
    kept: Plan = store[key]
    return kept


def _store(mask: Mask) -> dict[tuple[object, ...], Any]:
    store: dict[tuple[object, ...], Any] = _holder(mask).__dict__.setdefault("prepared", {})
    return store


def _put(store: dict[tuple[object, ...], Any], key: tuple[object, ...], item: object) -> None:
    if len(store) >= MOST_SHAPES:
        store.clear()
    store[key] = item


def _make(mask: Mask, shape: tuple[int, ...], device: torch.device) -> Prepared:
    dense = mask.dense(shape, device)
    dense = dense if dense.ndim == len(shape) else dense[(None,) * (len(shape) - dense.ndim)]
    return Prepared(dense, fills_rows=_known_to_fill_rows(mask, device))


def _known_to_fill_rows(mask: Mask, device: torch.device) -> bool:
    """Return whether lengths that a CUDA device need not be asked for leave every query some key."""
    if type(mask) is not Padding or device.type != "cuda" or not mask.lengths.is_cpu or traced():
        return False
    return bool(mask.lengths.numel()) and int(mask.lengths.min()) > 0


def promises_finite(mask: Mask | None) -> bool:
    """Return whether a `Padding` inside the mask says that all a call is given is finite."""
    if type(mask) is And:
        return promises_finite(mask.left) or promises_finite(mask.right)
    return type(mask) is Padding and mask.finite


def fills_every_row(mask: Mask | None, shape: Sequence[int]) -> bool:
    """Return whether the mask is known to leave every query some key."""
    if type(mask) is not Causal or mask.positions is not None:
        return False
    return shape[-1] > 0 and (mask.align == "start" or shape[-2] <= shape[-1])


def as_finite(mask: Mask) -> Mask:
    """Give the mask with that promise, for a sequence that attends to itself and whose padding was zeroed.

    Only where every position but padding may attend to itself: else other keys that nobody attends to may hold NaN.
    The promising mask is kept with this one, so that it is one for all layers too.
    """
    if traced() or promises_finite(mask) or not _allows_itself(mask):
        return mask
    if "promising" not in vars(mask):
        twin: Mask
        if type(mask) is And:
            twin = And(as_finite(mask.left), as_finite(mask.right))
        elif type(mask) is Padding:
            twin = replace(mask, finite=True)
            object.__setattr__(twin, "captured", mask.captured)
        else:
            return mask
        object.__setattr__(mask, "promising", twin)
    return mask.__dict__["promising"]  # type: ignore[no-any-return]


def _allows_itself(mask: Mask) -> bool:
    if type(mask) is And:
        return _allows_itself(mask.left) and _allows_itself(mask.right)
    return type(mask) is Padding or (type(mask) in (Causal, Window) and mask.positions is None)  # type: ignore[attr-defined]


def _holder(mask: Mask) -> Mask:
    """Give the mask that what is made of this one is kept with."""
    return mask.source if type(mask) is Harmless and mask.source is not None else mask


def _key(mask: Mask, shape: Sequence[int], device: torch.device) -> tuple[object, ...] | None:
    """Give what must be the same for what was made to hold, or None where nothing may be kept."""
    if traced() or (torch._C._len_torch_dispatch_stack() and torch._C._get_dispatch_mode(_FAKE) is not None):
        return None
    holder = _holder(mask)
    versions = _versions(holder)
    if versions is None:
        return None
    if type(holder) is Padding:  # the same for any number of heads and queries
        shape = (shape[0], *[1] * (len(shape) - 2), shape[-1])
    stream = 0
    if device.type == "cuda" and not holder.captured:
        if torch.cuda.is_current_stream_capturing():
            return None
        stream = torch._C._cuda_getCurrentRawStream(device.index)
    return tuple(shape), device, versions, stream, torch.is_inference_mode_enabled()


def _versions(mask: Mask) -> tuple[object, ...] | None:
    """Give the versions of all tensors inside, or None where something else may decide or none are counted."""
    kind = type(mask)
    if kind is And:
        left, right = _versions(mask.left), _versions(mask.right)  # type: ignore[attr-defined]
        return None if left is None or right is None else (left, right)
    if kind is Not:
        return _versions(mask.inverse)  # type: ignore[attr-defined]
    tensors: tuple[Tensor | None, ...]
    if kind is Padding:
        lengths: Tensor = mask.lengths  # type: ignore[attr-defined]
        return None if type(lengths) is not Tensor or lengths.is_inference() else (lengths._version,)
    if kind is Causal or kind is Window:
        tensors = (mask.positions,)  # type: ignore[attr-defined]
    elif kind is Documents:
        tensors = (mask.ids, mask.key_ids)  # type: ignore[attr-defined]
    else:
        return None
    if any(each is not None and (type(each) is not Tensor or each.is_inference()) for each in tensors):
        return None
    return tuple(None if each is None else each._version for each in tensors)
