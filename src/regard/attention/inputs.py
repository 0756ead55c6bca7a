"""The arguments of a call, read once: every mistake is raised here, before any kernel runs.

No check reads the numbers in a tensor, so all of them hold under `torch.compile`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.checks import check_device, check_flag, check_numbers, check_tensor
from regard.attention.mask import And, Dense, Mask, Not, Or, as_mask
from regard.attention.normalize import NormalizeFunction, Normalizer
from regard.attention.position import Position
from regard.attention.prepared import Prepared, prepare, recall
from regard.attention.score import Score, ScoreFunction
from regard.attention.tensors import autocasts, broadcasts, kernel_dtype, name_of
from regard.errors import ArgumentError, ArgumentTypeError, nearest


@dataclass(slots=True, eq=False, kw_only=True)  # a frozen one takes 4 µs to make, as long as a small call's kernel
class Inputs:
    """The arguments of one call, checked. `shape` is that of the scores, (*batch, query, key)."""

    query: Tensor
    key: Tensor
    value: Tensor
    score: Score | ScoreFunction
    mask: Mask | None
    bias: Tensor | None
    position: Position | None
    normalize: Normalizer | NormalizeFunction
    dropout: float
    generator: torch.Generator | None
    grouped: bool
    shape: tuple[int, ...]

    @property
    def dtype(self) -> torch.dtype:
        """Give the precision of the context: that of the values, or under autocast its own."""
        return kernel_dtype(self.value)

    def dense_mask(self) -> Bool[Tensor, "..."] | None:
        """Give the mask as a tensor of as many axes as the scores, the position's window included; None allows all."""
        mask = None if self.mask is None else prepare(self.mask, self.shape, self.query.device).dense
        window = None if self.position is None else self.position.mask(self.shape, self.query.device)
        parts = [part for part in (mask, window) if part is not None]
        if not parts:
            return None
        if len(parts) == 1 and parts[0].ndim == len(self.shape):
            return parts[0]
        both = parts[0] if len(parts) == 1 else parts[0] & parts[1]
        return both[(None,) * (len(self.shape) - both.ndim)]

    def kept_mask(self, mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None) -> Prepared | None:
        """Give what is kept with the mask of the call, where `mask` is nothing but that."""
        if mask is None or self.mask is None:
            return None
        kept = recall(self.mask, self.shape, self.query.device)
        return kept if kept is not None and kept.dense is mask else None


def read_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor | None,
    *,
    score: Score | ScoreFunction,
    mask: Mask | Tensor | None,
    bias: Tensor | None,
    position: Position | None,
    normalize: Normalizer | NormalizeFunction,
    dropout: float,
    generator: torch.Generator | None,
    grouped: bool,
) -> Inputs:
    """Check the arguments of `attention` and put them in order."""
    value = key if value is None else value
    _check_tensors(query, key, value)
    shape = _score_shape(query, key, value, grouped)
    _check_kind("score", score, Score, "a score such as ScaledDot()")
    _check_kind("normalize", normalize, Normalizer, "a normalizer such as Softmax()")
    if isinstance(score, Score):
        score.check(query, key, shape)
    if isinstance(normalize, Normalizer):
        normalize.check(shape)
    else:
        _check_not_torch(normalize)
    if position is not None:
        if not isinstance(position, Position):
            raise ArgumentTypeError(
                f"`position` must be a position such as Rotary() or None; received {_describe(position)}."
            )
        position.check(score, query, key, value, shape)
    mask = None if mask is None else as_mask(mask)
    if mask is not None:
        _check_dense(mask, shape, query.device)
    if bias is not None:
        _check_bias(bias, shape, query.device)
    _check_dropout(dropout, generator)
    check_flag("grouped", grouped)
    return Inputs(
        query=query,
        key=key,
        value=value,
        score=score,
        mask=mask,
        bias=bias,
        position=position,
        normalize=normalize,
        dropout=dropout,
        generator=generator,
        grouped=grouped,
        shape=shape,
    )


#: What other libraries call it, and how it is written here.
ELSEWHERE = {
    "is_causal": 'mask=Causal(), which aligns the ends where lengths differ; as torch does: Causal(align="start")',
    "causal": "mask=Causal()",
    "attn_mask": "mask=… for booleans, True where a query may attend, or bias=… for numbers added to the scores",
    "attention_mask": "mask=…, True where a query may attend, or mask=Padding(lengths)",
    "key_padding_mask": "mask=Padding(lengths), or mask=from_torch_mha(key_padding_mask=…), which turns it around",
    "block_mask": "mask=…, such as Window(128, 0) & Causal(); empty blocks are found",
    "window_size": "mask=Window(left, right)",
    "scale": "score=ScaledDot(scale)",
    "softmax_scale": "score=ScaledDot(scale)",
    "score_mod": "score=ScoreMod(function)",
    "softcap": "score=Softcap(cap)",
    "alibi_slopes": "position=Alibi(slopes=…)",
    "attn_bias": "bias=…",
    "enable_gqa": "grouped=True",
    "dropout_p": "dropout=…",
    "p": "dropout=…",
    "need_weights": "return_weights=True",
    "output_attentions": "return_weights=True",
    "return_attention_scores": "return_weights=True",
    "return_lse": "return_log_normalizer=True",
}


def refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise for arguments that `attention` does not have, saying how what was meant is written here."""
    for name in names:
        hint = f"Write {ELSEWHERE[name]}." if name in ELSEWHERE else nearest(name, known)
        raise ArgumentTypeError(f"`attention` has no argument `{name}`. {hint}")


def _describe(thing: Any) -> str:
    if isinstance(thing, type):
        return f"the class {thing.__name__}. Write {thing.__name__}(…)"
    return type(thing).__name__


def _check_kind(name: str, thing: Any, kind: type, example: str) -> None:
    if isinstance(thing, type) or not (isinstance(thing, kind) or callable(thing)):
        raise ArgumentTypeError(f"`{name}` must be {example} or a function; received {_describe(thing)}.")


def _check_dropout(dropout: float, generator: torch.Generator | None) -> None:
    number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout!r}.")
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ArgumentTypeError(f"`generator` must be a torch.Generator or None; received {type(generator).__name__}.")


def _check_not_torch(normalize: Any) -> None:
    """Raise for torch's own softmax and the like, which would take the mask for an axis."""
    home = normalize.__module__ if hasattr(normalize, "__name__") else type(normalize).__module__
    if (home or "torch").partition(".")[0] == "torch":
        name = name_of(normalize)
        raise ArgumentTypeError(
            f"`normalize` must be a normalizer such as Softmax(), or a function (scores, mask) -> weights; received "
            f"torch's {name}, which takes no mask. Write normalize=lambda scores, mask: {name}(scores, …)."
        )


def _check_tensors(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        if tensor.ndim < 2:
            raise ArgumentError(
                f"`{name}` must have at least two axes, (length, width); received shape {tuple(tensor.shape)}."
                " One vector is a sequence of one: x[None, :]."
            )
        check_numbers(name, tensor)
    same_dtype = query.dtype == key.dtype == value.dtype
    if not same_dtype and not autocasts(query.device):
        raise ArgumentTypeError(
            f"`query`, `key` and `value` must have one dtype; received {query.dtype}, {key.dtype} and {value.dtype}."
        )
    if not query.device == key.device == value.device:
        raise ArgumentError(
            f"`query`, `key` and `value` must be on one device; received {query.device}, {key.device} and "
            f"{value.device}."
        )


def _score_shape(query: Tensor, key: Tensor, value: Tensor, grouped: bool) -> tuple[int, ...]:
    """Give (*batch, query, key), or raise where lengths or leading axes disagree."""
    if key.size(-2) != value.size(-2):
        raise ArgumentError(
            f"`key` and `value` must have the same length, one value per key; received {key.size(-2)} keys and "
            f"{value.size(-2)} values."
        )
    leads = [tuple(tensor.shape[:-2]) for tensor in (query, key, value)]
    if grouped:
        leads[1:] = [_ungrouped(leads[0], leads[1], "key"), _ungrouped(leads[0], leads[2], "value")]
    if leads[0] == leads[1] == leads[2]:
        return (*leads[0], query.size(-2), key.size(-2))
    try:
        lead = torch.broadcast_shapes(*leads)
    except RuntimeError:
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (query, key, value))
        heads = [shape[-1] if len(shape) else 1 for shape in leads]
        hint = ""
        if query.ndim > 3 and heads[1] and heads[1] == heads[2] and heads[0] % heads[1] == 0:
            hint = f" To share {heads[1]} key-value heads among {heads[0]} query heads, pass grouped=True."
        raise ArgumentError(
            f"the leading axes of `query`, `key` and `value` must agree or be 1; received shapes {shapes}.{hint}"
        ) from None
    return (*lead, query.size(-2), key.size(-2))


def _ungrouped(query_lead: tuple[int, ...], lead: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Give the leading axes as they are once each key-value head is repeated for its group of query heads."""
    if not query_lead or not lead or not lead[-1] or query_lead[-1] % lead[-1]:
        heads = (query_lead[-1] if query_lead else "no"), (lead[-1] if lead else "no")
        raise ArgumentError(
            f"with grouped=True, the heads of `query` must be a multiple of those of `{name}`; received "
            f"{heads[0]} and {heads[1]}. Shapes are (batch, heads, length, width)."
        )
    return (*lead[:-1], query_lead[-1])


def _check_dense(mask: Mask, shape: tuple[int, ...], device: torch.device) -> None:
    """Check every boolean tensor inside the mask."""
    match mask:
        case Dense():
            _check_broadcast("mask", mask.tensor, shape)
            check_device("mask", mask.tensor, device)
        case And() | Or():
            _check_dense(mask.left, shape, device)
            _check_dense(mask.right, shape, device)
        case Not():
            _check_dense(mask.inverse, shape, device)


def _check_bias(bias: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    check_tensor("bias", bias)
    if bias.dtype == torch.bool:
        raise ArgumentTypeError(
            "`bias` must hold numbers to add to the scores; received torch.bool. True where a query may attend goes "
            "into `mask`."
        )
    if not bias.dtype.is_floating_point:
        raise ArgumentTypeError(f"`bias` must hold floating-point numbers; received {bias.dtype}.")
    check_numbers("bias", bias)
    _check_broadcast("bias", bias, shape)
    check_device("bias", bias, device)


def _check_broadcast(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless the tensor has the scores' axes, or the last two alone; in between, axes could be confused."""
    result = tuple(tensor.shape)
    axes = {2: "(query, key)", 3: "(batch, query, key)", 4: "(batch, heads, query, key)"}
    if len(result) in (2, len(shape)):
        expected = shape[len(shape) - len(result) :]
        if broadcasts(result, expected):
            return
    hint = ""
    if len(shape) > 2 and result == (shape[0], shape[-1]):
        between = "None, " * (len(shape) - 2)
        hint = f" A padding mask needs a query axis: `{name}[:, {between}:]`."
    elif 2 < len(result) < len(shape):
        hint = f" Give it {len(shape)} axes, of size one where it does not vary, or the last two alone."
    raise ArgumentError(
        f"`{name}` must broadcast to {axes.get(len(shape), '(*batch, query, key)')} = {shape}; received {result}.{hint}"
    )
