r"""The path of one query through a layer and on to a word: the maps before and after attention, with their numbers.

$$q_i = x_i W_Q, \quad k_j = x_j W_K, \quad v_j = x_j W_V, \qquad o_i = [c_{i1}; \dots; c_{iH}] W_O, \qquad
y_i = x_i + o_i, \qquad p = \text{softmax}(W_U\, \text{norm}(y^L_i))$$

Nothing is known of a model but that its maps are linear layers and its norms are called norms: each is found by its
numbers, as the layer whose output the query is, or whose input the context is. So it works for models of
`transformers` too. The logit lens is the last equation at every layer (nostalgebraist 2020, "interpreting GPT").
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.inspection.trace.attention_layers import unwrapped
from regard.inspection.trace.computation import Computation

_NEAR = 1e-4


class Projection(NamedTuple):
    """A linear map that makes the features of one head, or takes them: `output = matrix @ input + bias`."""

    name: str
    matrix: Float[Tensor, "output input"]
    bias: Float[Tensor, " output"] | None
    inputs: Float[Tensor, "rows input"]
    """One row for a query, one for each key."""


class Lens(NamedTuple):
    """What the output layer makes of the state after one layer."""

    layer: str
    logits: Float[Tensor, " vocabulary"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Path:
    """What lies before and after the attention of one query of one head; None where a model has no such part."""

    query: Projection | None = None
    key: Projection | None = None
    value: Projection | None = None
    output: Projection | None = None
    """Of the features of this head alone, where several are joined; its input is the context."""
    mixed: Float[Tensor, " size"] | None = None
    """What all heads give together, after the output map."""
    before: Float[Tensor, " size"] | None = None
    """The residual stream that it is added to."""
    after: Float[Tensor, " size"] | None = None
    """The sum."""
    features: Float[Tensor, " features"] | None = None
    """What the output layer reads for this query."""
    logits: Float[Tensor, " vocabulary"] | None = None
    lens: tuple[Lens, ...] = ()
    """One for each block, the last of which predicts as the model does."""


@dataclass(eq=False)
class _Calls:
    """Inputs and outputs of one module: of all rows, or of one."""

    module: nn.Module
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    count: int = 0

    def add(self, before: Tensor, after: Tensor, row: int | None) -> None:
        before, after = (item.detach().reshape(-1, item.size(-1)) for item in (before, after))
        chosen = slice(None) if row is None else slice(max(row - self.count, 0), max(row - self.count + 1, 0))
        self.count += len(before)
        self.inputs.append(before[chosen].float().cpu())
        self.outputs.append(after[chosen].float().cpu())

    def rows(self) -> tuple[Tensor, Tensor]:
        return torch.cat(self.inputs), torch.cat(self.outputs)


def _is_linear(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def _is_norm(module: nn.Module) -> bool:
    return "norm" in type(module).__name__.lower() and not list(module.children())


@torch.no_grad()
def trace_path(
    model: nn.Module, run: Callable[[], Any], steps: Computation, *, query: int, readout: nn.Module | None = None
) -> Path:
    """Find the path of a query that was taken apart; `run` calls the model on the one text again.

    `readout` is the model's output layer, where the queries of this layer lead to a word each.
    """
    network = unwrapped(model)
    block = steps.layer.rpartition(".")[0]
    linear, norms, last = dict[str, _Calls](), dict[str, _Calls](), _Calls(network)
    with ExitStack() as stack:
        for name, module in network.named_modules():
            if readout is not None and module is readout:
                _watch(stack, module, last, row=query)
            elif _is_linear(module) and name.startswith(block):
                _watch(stack, module, linear.setdefault(name, _Calls(module)), row=None)
            elif _is_norm(module):
                _watch(stack, module, norms.setdefault(name, _Calls(module)), row=query)
        run()
    called = {name: calls for name, calls in linear.items() if calls.inputs}
    plain_query, plain_keys = steps.unturned or (steps.query, steps.keys)
    own = _made(called, plain_query[None], rows=slice(query, query + 1))
    output, mixed = _taken(called, steps.output, query)
    before = after = None
    if mixed is not None and own is not None:
        before, after = _residual(norms, own.inputs[0], mixed)
    features, logits = (item[0] if len(item) else None for item in last.rows()) if last.inputs else (None, None)
    return Path(
        query=own,
        key=_made(called, plain_keys, rows=slice(0, len(plain_keys))),
        value=_made(called, steps.values, rows=slice(0, len(steps.values))),
        output=output,
        mixed=mixed,
        before=before,
        after=after,
        features=features,
        logits=logits,
        lens=() if features is None or readout is None else tuple(_lens(norms, steps.layer, features, readout)),
    )


def _watch(stack: ExitStack, module: nn.Module, calls: _Calls, *, row: int | None) -> None:
    def keep(_: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if args and isinstance(args[0], Tensor) and isinstance(output, Tensor):
            calls.add(args[0], output, row)

    stack.callback(module.register_forward_hook(keep).remove)


def _weight(module: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Give matrix, (output, input), and bias of a linear map."""
    weight = getattr(module, "weight")  # noqa: B009 (of any such class)
    matrix = weight if isinstance(module, nn.Linear) else weight.mT
    bias = getattr(module, "bias", None)
    return matrix.detach().float().cpu(), None if bias is None else bias.detach().float().cpu()


def _near(first: Tensor, second: Tensor) -> bool:
    scale = max(1.0, float(second.abs().max()) if second.numel() else 1.0)
    return first.shape == second.shape and bool((first - second).abs().max() <= _NEAR * scale)


def _offsets(width: int, size: int) -> Iterator[int]:
    """Give where the features of a head may begin among those of all."""
    return iter(range(0, width - size + 1, size)) if size and width % size == 0 else iter(())


def _made(called: dict[str, _Calls], wanted: Tensor, *, rows: slice) -> Projection | None:
    """Find the map that made some rows, and the part of it that belongs to this head."""
    wanted = wanted.float()
    size = wanted.size(-1)
    for name, calls in called.items():
        inputs, outputs = calls.rows()
        if len(outputs) < rows.stop:
            continue
        for start in _offsets(outputs.size(-1), size):
            if _near(outputs[rows, start : start + size], wanted):
                matrix, bias = _weight(calls.module)
                own = slice(start, start + size)
                return Projection(name, matrix[own], None if bias is None else bias[own], inputs[rows])
    return None


def _taken(called: dict[str, _Calls], context: Tensor, query: int) -> tuple[Projection | None, Tensor | None]:
    """Find the map that takes the contexts of all heads, the part of it for this head, and what it gave."""
    context, size = context.float(), context.size(-1)
    for name, calls in called.items():
        inputs, outputs = calls.rows()
        if len(inputs) <= query:
            continue
        for start in _offsets(inputs.size(-1), size):
            if _near(inputs[query, start : start + size], context):
                matrix, bias = _weight(calls.module)
                return Projection(name, matrix[:, start : start + size], bias, context[None]), outputs[query]
    return None, None


def _residual(norms: dict[str, _Calls], entered: Tensor, mixed: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Find the stream: what a norm made the input of (norm first), or that input itself, where the sum is normed."""
    rows = [calls.rows() for calls in norms.values() if calls.inputs]
    normed = [inputs[0] for inputs, _ in rows if len(inputs)]
    streams = [inputs[0] for inputs, outputs in rows if len(outputs) and _near(outputs[0], entered)]
    for stream in [*streams, entered]:
        if stream.shape == mixed.shape and any(_near(item, stream + mixed) for item in normed):
            return stream, stream + mixed
    return None, None


def _lens(norms: dict[str, _Calls], layer: str, features: Tensor, readout: nn.Module) -> Iterator[Lens]:
    """Apply the output layer to the stream after every block of the list that the layer is in."""
    parts = layer.split(".")
    number = next((index for index, part in enumerate(parts) if part.isdecimal()), None)
    if number is None:
        return
    listed = ".".join(parts[:number]) + "."
    blocks: dict[int, list[_Calls]] = {}
    for name, calls in norms.items():
        if name.startswith(listed) and calls.inputs and len(calls.rows()[0]):
            blocks.setdefault(int(name.removeprefix(listed).split(".")[0]), []).append(calls)
    outside = [calls for name, calls in norms.items() if not name.startswith(listed) and calls.inputs]
    final = next((calls for calls in outside if len(calls.rows()[1]) and _near(calls.rows()[1][0], features)), None)
    for block in sorted(blocks):
        if final is None:  # each block ends in a norm
            state = blocks[block][-1].rows()[1][0]
        else:
            following = blocks.get(block + 1)
            stream = (following[0] if following else final).rows()[0][0]
            state = final.module(stream.to(_device(final.module))).float()
        yield Lens(f"{listed}{block}", readout(state.to(_device(readout))).float().cpu())


def _device(module: nn.Module) -> torch.device:
    return next(module.parameters()).device
