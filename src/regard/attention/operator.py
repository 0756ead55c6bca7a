"""The operator: one function for every kind of attention, composed from the files beside this one."""

from typing import Literal, TypedDict, Unpack, overload

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.checks import check_flag
from regard.attention.inputs import Inputs, read_inputs, refuse_unknown
from regard.attention.kernels import additive, chunked, direct, flex, reference, rows, sdpa
from regard.attention.kernels.choose import Backend, BackendReport, choose, refusals
from regard.attention.kernels.reference import Attended
from regard.attention.mask import Mask
from regard.attention.merge import Partial
from regard.attention.normalize import NormalizeFunction, Normalizer, Softmax
from regard.attention.observe import OBSERVERS, observe
from regard.attention.position import Position
from regard.attention.score import ScaledDot, Score, ScoreFunction
from regard.attention.tensors import name_of
from regard.errors import ArgumentError

_SCALED_DOT = ScaledDot()
_SOFTMAX = Softmax()


class Options(TypedDict, total=False):
    """What `attention` takes beside query, key and value; `explain_backend` takes the first eight."""

    score: Score | ScoreFunction
    mask: Mask | Tensor | None
    bias: Tensor | None
    position: Position | None
    normalize: Normalizer | NormalizeFunction
    dropout: float
    generator: torch.Generator | None
    grouped: bool
    backend: Backend | None


@overload
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    return_weights: Literal[False] = ...,
    return_log_normalizer: Literal[False] = ...,
    **options: Unpack[Options],
) -> Tensor: ...


@overload
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    return_weights: Literal[True],
    return_log_normalizer: bool = ...,
    **options: Unpack[Options],
) -> Attended: ...


@overload
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    return_weights: Literal[False] = ...,
    return_log_normalizer: Literal[True],
    **options: Unpack[Options],
) -> Partial: ...


@overload
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    return_weights: bool,
    return_log_normalizer: Literal[False] = ...,
    **options: Unpack[Options],
) -> Tensor | Attended: ...


def attention(
    query: Float[Tensor, "*batch query query_size"],
    key: Float[Tensor, "*keys key key_size"],
    value: Float[Tensor, "*values key_too value_size"] | None = None,
    *,
    score: Score | ScoreFunction = _SCALED_DOT,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    position: Position | None = None,
    normalize: Normalizer | NormalizeFunction = _SOFTMAX,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
    grouped: bool = False,
    return_weights: bool = False,
    return_log_normalizer: bool = False,
    backend: Backend | None = None,
    **unknown: object,
) -> Tensor | Attended | Partial:
    r"""Let every query attend to the keys and give a weighted sum of their values.

    $$\alpha_i = \text{normalize}(\text{score}(q_i, k_j) + b_{ij}), \qquad c_i = \sum_j \alpha_{ij} v_j$$

    `query` is (*batch, query, query width), `key` (*batch, key, key width), `value` (*batch, key, value width) and
    defaults to `key`. Leading axes broadcast; axis 0 is the batch where a mask speaks of one, and the third from the
    end the heads where a parameter speaks of them.

    - `mask`: boolean tensor or mask, True = may attend; `bias`: numbers added to the scores.
    - `dropout` acts whenever it is not zero: pass 0 outside training. Its randomness comes from `generator`.
    - `grouped`: key and value have fewer heads than query; query head h uses key-value head h // group.
    - `return_weights`: also give the weights before dropout and each row's log normalizer. The context is the same.
    - `return_log_normalizer`: give each row's log normalizer without the weights, which are then never held; `merge`
      joins what was attended over parts of the keys.
    - `backend`: None picks the fastest that is right; see `explain_backend`.

    A row with nothing to attend to gives zero context, zero weights and zero gradient. NaN or infinity in a key or
    value that nobody may attend to reaches neither output nor gradient.

    >>> query, key = torch.zeros(1, 2, 4), torch.arange(12.0).view(1, 3, 4)
    >>> attention(query, key)
    tensor([[[4., 5., 6., 7.], [4., 5., 6., 7.]]])
    >>> from regard import Causal
    >>> attention(query, key, mask=Causal(), return_weights=True).weights
    tensor([[[0.5000, 0.5000, 0.0000], [0.3333, 0.3333, 0.3333]]])
    """
    if unknown:
        refuse_unknown(unknown, (*Options.__annotations__, "return_weights", "return_log_normalizer"))
    if OBSERVERS:
        options = {"score": score, "mask": mask, "bias": bias, "position": position, "normalize": normalize}
        position = observe(query, key, value, {**options, "grouped": grouped})
    request = return_weights is not False or return_log_normalizer is not False or backend is not None
    plain = type(score) is ScaledDot and score.scale is None and type(normalize) is Softmax
    if plain and not request and bias is None and position is None and grouped is False and dropout == 0.0:
        context = direct.attend(query, key, key if value is None else value, mask)
        if context is not None:
            return context
    check_flag("return_weights", return_weights)
    check_flag("return_log_normalizer", return_log_normalizer)
    inputs = read_inputs(
        query,
        key,
        value,
        score=score,
        mask=mask,
        bias=bias,
        position=position,
        normalize=normalize,
        dropout=dropout,
        generator=generator,
        grouped=grouped,
    )
    if return_log_normalizer and type(normalize) is not Softmax:
        raise ArgumentError(
            f"`normalize` must be Softmax() for return_log_normalizer=True; received {name_of(normalize)}, whose "
            "weights are no exponentials divided by their sum."
        )
    match choose(inputs, backend):
        case "sdpa" | "flex" | "triton" as name:
            return _fused(inputs, name, weights=return_weights, log_normalizer=return_log_normalizer)
        case name:
            needs_normalizer = return_weights or return_log_normalizer
            attended = reference.attend(inputs, chunked=name == "chunked", normalizer=needs_normalizer)
            if return_weights or attended.log_normalizer is None:
                return attended if return_weights else attended.context
            return Partial(attended.context, attended.log_normalizer)


def _fused(
    inputs: Inputs, name: Literal["sdpa", "flex", "triton"], *, weights: bool, log_normalizer: bool
) -> Tensor | Attended | Partial:
    """Run a fused kernel and compute beside it what it does not give: the context stays the kernel's."""
    needs_operands = weights or log_normalizer
    ready = reference.operands(inputs, mask=inputs.dense_mask()) if needs_operands else None
    match name:
        case "sdpa":
            ready = None if ready is None else reference.with_offset(inputs, ready)
            context = sdpa.attend(inputs, ready)
        case "flex":
            context = flex.attend(inputs, ready)
        case "triton":
            context = additive.attend(inputs, ready)
    if ready is None:
        return context
    if weights:
        return Attended(context, *reference.weigh(inputs, ready, chunked=chunked.pays(inputs)))
    return Partial(context, rows.log_normalizers(inputs, ready))


def explain_backend(
    query: Tensor,
    key: Tensor,
    value: Tensor | None = None,
    *,
    score: Score | ScoreFunction = _SCALED_DOT,
    mask: Mask | Tensor | None = None,
    bias: Tensor | None = None,
    position: Position | None = None,
    normalize: Normalizer | NormalizeFunction = _SOFTMAX,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
    grouped: bool = False,
    **unknown: object,
) -> BackendReport:
    """Return which backend `attention` would choose for these arguments, and why each other would refuse.

    >>> from regard import Additive
    >>> print(explain_backend(torch.zeros(2, 5, 4), torch.zeros(2, 5, 4), score=Additive(torch.ones(4))))
    reference  chosen
    sdpa       refused: Additive is not an inner product
    flex       refused: Additive is not an inner product
    chunked    possible
    triton     refused: it runs on CUDA alone
    """
    if unknown:
        refuse_unknown(unknown, [name for name in Options.__annotations__ if name != "backend"])
    inputs = read_inputs(
        query,
        key,
        value,
        score=score,
        mask=mask,
        bias=bias,
        position=position,
        normalize=normalize,
        dropout=dropout,
        generator=generator,
        grouped=grouped,
    )
    return BackendReport(chosen=choose(inputs, None), refusals=refusals(inputs))
