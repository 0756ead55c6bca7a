"""What if a model looked elsewhere: one step of decoding with weights forced or words hidden, and what follows it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.text.special import END, START
from regard.inspection.trace.intervene import intervene
from regard.models.sequence.protocol import AnyModel
from regard.studio.attention import looking_at_source
from regard.studio.views.translate import MAX_OUTPUT
from regard.tasks.translation.model import Translator


@dataclass(frozen=True, kw_only=True)
class Meddling:
    """What is done to the looks at the source."""

    pinned: Mapping[int, float] = field(default_factory=dict)
    """For some source places the share of the row's weight that they get; the others share what is left."""
    hidden: tuple[int, ...] = ()
    """Source places that no layer and head may look at."""
    layers: tuple[str, ...] = ()
    """The layers whose weights are pinned."""
    head: int | None = None
    """Which head's weights are pinned; none for all."""
    onward: bool = False
    """At all later steps too, and not at the first one alone."""

    @contextmanager
    def at_work(self, translator: Translator, length: int) -> Iterator[None]:
        """Meddle while the context lasts; the source has `length` places."""
        pinned = {index: share for index, share in self.pinned.items() if index not in self.hidden}
        if not pinned and not self.hidden:
            yield
            return
        mask = torch.ones(1, length, dtype=torch.bool, device=translator.device)
        mask[0, list(self.hidden)] = False
        change = partial(pin, shares=pinned, hidden=self.hidden, head=self.head)
        model = translator.model
        with intervene(
            model,
            weights=dict.fromkeys(self.layers, change) if pinned else None,
            mask=dict.fromkeys(looking_at_source(model), mask) if self.hidden else None,
        ):
            yield


class Decoded(NamedTuple):
    """One step, and the translation it led to."""

    log_probabilities: Float[Tensor, " vocabulary"]
    """Of every token at the step."""
    weights: Float[Tensor, "layers heads source"] | None
    """As they were used at the step; none where the model does not attend."""
    tokens: list[int]
    """The prefix, and what the model says after it."""


def pin(
    own: Float[Tensor, "batch heads query key"],
    *,
    shares: Mapping[int, float],
    hidden: Sequence[int] = (),
    head: int | None = None,
) -> Float[Tensor, "batch heads query key"]:
    r"""Give some keys a share of each row's weight, and let the others keep their proportions in what is left.

    $$\alpha'_j = \begin{cases} r_j & j \in P \\ \alpha_j\,(1 - \sum_{k \in P} r_k) \,/ \sum_{k \notin P} \alpha_k
    & \text{else} \end{cases}$$

    times the sum that the row had, which is one for softmax. Shares that are more than all are divided by their sum.
    Where the other keys have no weight, they get equal ones, unless they are `hidden`.

    >>> pin(torch.tensor([[[[0.5, 0.3, 0.2]]]]), shares={0: 0.0})
    tensor([[[[0.0000, 0.6000, 0.4000]]]])
    """
    total = own.sum(-1, keepdim=True)
    indices = list(shares)
    received = own.new_tensor([shares[index] for index in indices])
    received = received / received.sum().clamp_min(1.0)
    free = own.new_ones(own.size(-1))
    free[indices] = 0.0
    others = own * free
    free[list(hidden)] = 0.0
    rest = others.sum(-1, keepdim=True)
    others = torch.where(rest > 0, others / rest.clamp_min(torch.finfo(own.dtype).tiny), free / free.sum().clamp_min(1))
    changed = others * (1 - received.sum())
    changed[..., indices] = received
    if not bool(free.any()) and bool(received.any()):  # nobody is left to share: the pinned have all
        changed[..., indices] = received / received.sum()
    changed = changed * total
    if head is None:
        return changed
    mixed = own.clone()
    mixed[:, head] = changed[:, head]
    return mixed


def decode(
    translator: Translator,
    source: Sequence[int],
    prefix: Sequence[int],
    meddling: Meddling | None = None,
    *,
    to_end: bool = True,
) -> Decoded:
    """Let the model hear the prefix undisturbed, meddle with the next step, and go on greedily, unless not `to_end`."""
    model: AnyModel = translator.model
    meddling = meddling or Meddling()
    longest = max_length(translator, len(source)) if to_end else 0
    with torch.inference_mode():
        memory, state = read_prefix(translator, source, prefix)
        last = torch.tensor([[START, *prefix][-1:]], device=translator.device)
        with meddling.at_work(translator, len(source)):
            log_probabilities, state, weights = model.step(last, state, memory, weights=True)
            first = log_probabilities[0, -1]
            begun = [*prefix, int(first.argmax())]
            output = _go_on(translator, begun, state, memory, longest) if meddling.onward else None
        output = _go_on(translator, begun, state, memory, longest) if output is None else output
    return Decoded(first.cpu(), None if weights is None else weights[0, :, :, -1].cpu(), output)


def read_prefix(translator: Translator, source: Sequence[int], prefix: Sequence[int]) -> tuple[Any, Any]:
    """Read the source and hear all but the last token of the prefix; give memory and state."""
    model: AnyModel = translator.model
    memory = model.encode(torch.tensor([list(source)], device=translator.device))
    state = model.start(memory)
    encoded = [START, *prefix][:-1]
    if encoded:
        _, state, _ = model.step(torch.tensor([encoded], device=translator.device), state, memory)
    return memory, state


def max_length(translator: Translator, length: int) -> int:
    """Say how many tokens are said at most of a source of that length."""
    return min(2 * length + 20, MAX_OUTPUT, translator.reach.target or MAX_OUTPUT)


def _go_on(translator: Translator, tokens: list[int], state: Any, memory: Any, longest: int) -> list[int]:
    """Say the likeliest token after those said, until the end."""
    model: AnyModel = translator.model
    tokens, device = list(tokens), translator.device
    while tokens[-1] != END and len(tokens) < longest:
        encoded = torch.tensor([tokens[-1:]], device=device)
        log_probabilities, state, _ = model.step(encoded, state, memory)
        tokens.append(int(log_probabilities[0, -1].argmax()))
    return tokens
