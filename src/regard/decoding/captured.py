"""Search by captured steps: on a GPU a whole step is one CUDA graph, and the host only reads now and then who is done.

Launching the kernels of a step one by one takes many times as long as running them. A CUDA graph launches them all at
once, but its shapes and addresses are fixed. So sentences and source positions are padded to few sizes, the cache has
a fixed capacity, and all that a step reads and writes lies in buffers that stay: see `Slot`. Without a GPU a "replay"
is the same work on the same buffers, launched one by one.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules import module as torch_module

from regard.attention.observe import OBSERVERS
from regard.decoding.beam import Beam, BeamStep, first_beam, output_limits
from regard.decoding.ensemble import Ensemble
from regard.decoding.history import History, Picks
from regard.decoding.ranking import best
from regard.decoding.rules import Rules
from regard.decoding.search import Search
from regard.decoding.slot import STEPS, Encoder, Running, Slot, reordered
from regard.decoding.tensor_tree import leaves, of_tensors, signature
from regard.decoding.word_choice import LogitStep
from regard.layers.fused.choose import unwatched
from regard.models.sequence.protocol import AnyModel, Stepped

FEW = 32
"""Sentences that are not worth a smaller batch: a step takes as long for half of them."""
MOST_ENCODERS = 32
"""Shapes of sources whose reading is kept captured."""
MOST_SLOTS = 64
"""Searches of other shapes or settings that are kept captured."""
MOST_BYTES = 2**33
"""Of the buffers that are kept; the ones used least recently go first."""


class Captured:
    """A model with the captured steps of its searches, kept from batch to batch; a `GeneratingModel` itself.

    `decode` runs them where it can. `reason` says why the last search ran step by step; None where it did not.
    `longest_source` is how many positions the model can read, where there is a limit: no source is padded beyond it.
    """

    def __init__(self, model: AnyModel, *, longest_source: int | None = None) -> None:
        self.model, self.longest_source = model, longest_source
        self.reason: str | None = None
        self.flag_reads = 0
        """How often the host has waited for the device."""
        self._slots: OrderedDict[Any, Slot] = OrderedDict()
        self._encoders: OrderedDict[torch.Size, Encoder] = OrderedDict()
        self._encodes_eagerly = _reads_word_by_word(model)
        self._pool: Any = None
        self._lock, self._weights = threading.Lock(), _addresses(model)
        self._failure: str | None = None

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None) -> Any:
        """Read the source."""
        return self.model.encode(source, lengths)

    def start(self, memory: Any, *, capacity: int | None = None) -> Any:
        """Give the state before any token."""
        return self.model.start(memory, capacity=capacity)

    def step(self, tokens: Int[Tensor, "rows new"], state: Any, memory: Any, *, weights: bool = False) -> Stepped[Any]:
        """Read the next tokens."""
        return self.model.step(tokens, state, memory, weights=weights)

    def serves(self, search: Search, *, weights: bool = False, prefix: Sequence[Sequence[int]] | None = None) -> bool:
        """Return whether these searches can run by captured steps; else `reason` says why not."""
        reasons = {
            "the outputs are drawn at random": search.sampling is not None,
            "`coverage_penalty` adds up the weights": search.coverage_penalty > 0,
            "`no_repeat_ngram` compares all tokens so far": search.no_repeat_ngram > 0,
            "weights are kept at every step": weights,
            "outputs must begin with a prefix": any(prefix or []),
            "a module of the model has a hook, or its calls are recorded": _watched(self.model),
            "the model is in training mode": any(item.training for item in _networks(self.model)),
        }
        self.reason = self._failure or next((reason for reason, applies in reasons.items() if applies), None)
        return self.reason is None

    @torch.inference_mode()
    def search(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"] | None,
        *,
        search: Search,
        start: int,
        end: int,
    ) -> History | None:
        """Search as `beam_search` does; None where the model cannot be captured, and `reason` says why.

        One thread at a time: the buffers are everybody's. Parameters that were moved make what was captured void.
        """
        with self._lock:
            weights = _addresses(self.model)
            if weights != self._weights:
                self._weights = weights
                self._slots.clear()
                self._encoders.clear()
            return self._search(source, lengths, search=search, start=start, end=end)

    def _search(
        self, source: Tensor, lengths: Tensor | None, *, search: Search, start: int, end: int
    ) -> History | None:
        batch, longest = source.shape
        lengths = torch.full((batch,), longest) if lengths is None else lengths.cpu()  # the host needs them too
        history = History(lengths.tolist(), end=end)
        limits = output_limits(search, lengths, [[]] * batch)
        most = int(limits.max())
        capacity = _capacity(min(longest + longest // 4 + STEPS, most))
        running = self._start(source, lengths, limits, search, start, end, capacity)
        if running is None:
            return None
        rules = Rules(search, end=end, prefix=[], device=source.device)
        kind = LogitStep if LogitStep.serves(self.model, search) else BeamStep
        take_step = kind(self.model, search, rules, _likeliest(search.beam), end=end)
        sentences = torch.arange(running.beam.total.size(0))
        while True:
            try:
                slot = self._slot((search, end), take_step, running)
            except RuntimeError as error:
                if isinstance(error, torch.cuda.OutOfMemoryError):
                    raise
                self._failure = self.reason = f"a step cannot be captured: {str(error).strip().splitlines()[0]}"
                return None
            slot.load(running)
            alive = self._run(slot, sentences, history, most)
            if not alive.any():
                return history
            stay = _staying(alive)
            sentences = sentences[stay]
            running = slot.select(stay.to(source.device), capacity=_capacity(len(history.steps) + STEPS))

    def _start(
        self, source: Tensor, lengths: Tensor, limits: Tensor, search: Search, start: int, end: int, capacity: int
    ) -> Running | None:
        """Read the source, padded to a size that comes often, and give the search before any token."""
        batch, longest = source.shape
        positions = min(_positions(longest), self.longest_source or _positions(longest))
        more, wider = _sentences(batch) - batch, positions - longest
        lengths, limits = (F.pad(item, (0, more), value=1).to(source.device) for item in (lengths, limits))
        memory = self._encode(F.pad(source, (0, wider, 0, more), value=end), lengths)
        state = self.model.start(memory, capacity=1)
        if not hasattr(state, "fixed"):
            self._failure = self.reason = f"{type(state).__name__} has no form of one shape for every length"
            return None
        beam = first_beam(search, lengths, limits, start=start)
        total = beam.total.to(_precision(memory)).expand(-1, search.beam).clone()
        total[:, 1:], total[batch:] = -torch.inf, -torch.inf  # the first hypothesis alone, and none of the padding
        rows = torch.arange(total.numel(), device=total.device)
        beam = beam._replace(
            step=torch.zeros((), dtype=torch.long, device=total.device),
            best_scores=beam.best_scores.to(total),
            total=total,
            pick=rows.view_as(total) % search.beam,
            tokens=beam.tokens.repeat_interleave(search.beam, 0),
            rows=None if search.beam == 1 else rows,
        )
        state = state.select(rows // search.beam).fixed(capacity)
        return Running(beam, reordered(state, beam.rows), of_tensors(memory))

    def _encode(self, source: Tensor, lengths: Tensor) -> Any:
        """Read the source by a captured pass, or as the model does where that cannot be captured."""
        if not source.is_cuda or self._encodes_eagerly:
            return self.model.encode(source, lengths)
        key = source.shape
        if key not in self._encoders:
            try:
                # in memory of its own, which a capture that fails may leave unusable
                self._encoders[key] = Encoder(self.model, source, lengths, torch.cuda.graph_pool_handle())
            except RuntimeError as error:
                if isinstance(error, torch.cuda.OutOfMemoryError):
                    raise
                self._encodes_eagerly = True
                return self.model.encode(source, lengths)
            if len(self._encoders) > MOST_ENCODERS:
                self._encoders.popitem(last=False)
        self._encoders.move_to_end(key)
        return self._encoders[key](source, lengths)

    def _slot(self, settings: Any, take_step: BeamStep, running: Running) -> Slot:
        """Give the slot of these shapes, captured now or before."""
        key = (settings, signature(running))
        if key not in self._slots:
            if self._pool is None and running.beam.total.is_cuda:
                self._pool = torch.cuda.graph_pool_handle()  # all steps take turns to work in it
            self._slots[key] = Slot(take_step, running, self._pool)
            while len(self._slots) > MOST_SLOTS or (len(self._slots) > 1 and self._bytes() > MOST_BYTES):
                self._slots.popitem(last=False)
        self._slots.move_to_end(key)
        return self._slots[key]

    def _bytes(self) -> int:
        return sum(slot.bytes for slot in self._slots.values())

    def _run(self, slot: Slot, sentences: Tensor, history: History, most: int) -> Tensor:
        """Take steps until all is done, half of the sentences are, or the capacity is full; mark those alive."""
        real = (sentences < len(history.lengths)).nonzero().squeeze(1)
        before = len(history.steps)
        while True:
            slot.replay(min(STEPS, most - before - slot.taken))
            self.flag_reads += 1
            alive = slot.alive()
            few = len(alive) > FEW and 2 * int(alive.sum()) <= len(alive)
            following = min(before + slot.taken + STEPS, most)
            if few or not alive.any() or following > slot.capacity:
                history.steps += slot.read(sentences, real)
                return alive
            if slot.full:
                history.steps += slot.read(sentences, real)
                before = len(history.steps)


def _networks(model: AnyModel) -> list[nn.Module]:
    members = model.models if isinstance(model, Ensemble) else (model,)
    return [member for member in members if isinstance(member, nn.Module)]


def _watched(model: AnyModel) -> bool:
    """Return whether somebody would see that modules are not called: what is captured runs no hooks."""
    if OBSERVERS or torch_module._has_any_global_hook():
        return True
    return any(not unwatched(part) for network in _networks(model) for part in network.modules())


def _addresses(model: AnyModel) -> tuple[int, ...]:
    """Say where the parameters lie, which captured work reads from there."""
    return tuple(item.data_ptr() for network in _networks(model) for item in network.parameters())


def _reads_word_by_word(model: AnyModel) -> bool:
    """Return whether a recurrent encoder asks the host how long its sources are, which no capture allows."""
    return any(isinstance(part, nn.RNNBase) for network in _networks(model) for part in network.modules())


def _likeliest(count: int) -> Callable[[Beam, Tensor, Tensor], Picks]:
    def choose(beam: Beam, base: Tensor, log_probabilities: Tensor) -> Picks:
        return best(base.to(log_probabilities), log_probabilities, count)

    return choose


def _staying(alive: Tensor) -> Tensor:
    """Give the sentences of the next, smaller batch: those alive, and as many others as fill it."""
    size, count = len(alive), int(alive.sum())
    while size > FEW and 2 * count <= size and size % 2 == 0:
        size //= 2
    return alive.int().argsort(descending=True, stable=True)[:size]


def _sentences(count: int) -> int:
    """Round up to 1, 2, 3, 4, 6, 8, 12, …"""
    power = 1 << max(0, count - 1).bit_length()
    return power if 4 * count > 3 * power or power < 4 else 3 * power // 4


def _positions(count: int) -> int:
    """Round up to a multiple of 8, or from 64 on of a quarter of the power of two above."""
    return -(-count // 8) * 8 if count <= 64 else _sentences(count)


def _capacity(count: int) -> int:
    """Round up to 16, 32, 64, …"""
    return max(16, 1 << (count - 1).bit_length())


def _precision(memory: Any) -> torch.dtype:
    """Give the precision that log-probabilities are added up in."""
    return torch.float64 if any(leaf.dtype == torch.float64 for leaf in leaves(memory)) else torch.float32
