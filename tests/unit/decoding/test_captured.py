"""Search by captured steps: without a GPU all but the capture itself."""

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from catalogue.models import MODELS, Row, example
from regard.config.model import TransformerSpec
from regard.decoding import Ensemble, Hypothesis, Sampling, Search, captured, decode
from regard.decoding import slot as slot_file
from regard.decoding.captured import Captured
from regard.decoding.slot import STEPS
from regard.inspection import record
from regard.models import Model, build_model
from regard.studio.turns import cancelled
from unit.decoding.table import END as TABLE_END
from unit.decoding.table import LENGTHS, SOURCE, Table
from unit.decoding.table import START as TABLE_START
from unit.decoding.test_every_model import KINDS
from unit.layers.table_kernel import stand_in

START, END = 2, 3
#: Operators of a step of two blocks, by the width of the beam; views included.
LAUNCHES = {1: 218, 4: 247}
SEARCHES = [
    Search(beam=1, max_length=7),
    Search(beam=4, n_best=2, max_length=9),
    Search(beam=3, min_length=3, max_length=6, length_penalty=0.6),
]


def tokens(outputs: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[item.tokens for item in few] for few in outputs]


def run(model: Any, search: Search, source: Tensor, lengths: Tensor, device: str = "cpu") -> list[list[Hypothesis]]:
    return decode(model, source.to(device), lengths.to(device), search=search, start=START, end=END)


def small_transformer() -> Model:
    torch.manual_seed(3)
    sizes = {"size": 16, "num_encoder_layers": 1, "num_decoder_layers": 2, "num_heads": 2, "feed_forward_size": 16}
    return build_model(TransformerSpec(**sizes), source_vocabulary=30, target_vocabulary=30).eval()


def many_sources(batch: int, longest: int = 12) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(batch)
    lengths = torch.randint(2, longest + 1, (batch,), generator=generator)
    lengths[0] = longest
    return torch.randint(4, 30, (batch, longest), generator=generator), lengths


def check_same(model: Any, captured_model: Captured, search: Search, source: Tensor, lengths: Tensor) -> None:
    expected, received = run(model, search, source, lengths), run(captured_model, search, source, lengths)
    assert captured_model.reason is None
    assert tokens(received) == tokens(expected)
    for few, others in zip(received, expected, strict=True):
        for item, other in zip(few, others, strict=True):
            assert item.finished == other.finished
            assert item.score == pytest.approx(other.score, abs=1e-5)
            assert item.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-5)


@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.name)
def test_every_model_gives_the_outputs_of_the_eager_search(row: Row) -> None:
    model, (source, lengths, _) = row.build(), example()
    fast = Captured(model, longest_source=int(lengths.max()))
    for search in SEARCHES:
        check_same(model, fast, search, source, lengths)


def test_an_ensemble_too() -> None:
    rows = {row.name: row for row in MODELS}
    model, (source, lengths, _) = Ensemble([rows[name].build() for name in ("bahdanau", "transformer-tiny")]), example()
    check_same(model, Captured(model), SEARCHES[1], source, lengths)


def test_batches_shrink_and_the_capacity_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences that are done leave at half of the batch, and outputs longer than the first capacity go on."""
    monkeypatch.setattr(captured, "FEW", 2)
    model = small_transformer()
    with torch.no_grad():
        model.output.bias[END] += 1.5  # outputs of many lengths
    fast, (source, lengths) = Captured(model), many_sources(23)
    for search in (Search(beam=1), Search(beam=3, n_best=2), Search(beam=2, max_length=40, min_length=37)):
        check_same(model, fast, search, source, lengths)
    slots = fast._slots.values()
    assert {slot.running.beam.total.size(0) for slot in slots} > {24}, "fewer sentences"
    assert {slot.capacity for slot in slots} >= {32, 64}, "more capacity"


def test_a_batch_of_like_shapes_is_captured_once() -> None:
    model = small_transformer()
    fast, captures = Captured(model), []
    for batch in (5, 6, 6, 5):
        check_same(model, fast, Search(beam=2, max_length=8), *many_sources(batch))
        captures.append(len(fast._slots))
    assert captures == [1, 1, 1, 1]


def test_the_slots_used_least_recently_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "MOST_BYTES", 1)
    fast = Captured(small_transformer())
    for batch in (2, 9):
        run(fast, SEARCHES[0], *many_sources(batch))
    assert [slot.running.beam.total.size(0) for slot in fast._slots.values()] == [12]


@pytest.mark.parametrize("beam", [1, 4])
def test_the_host_reads_once_in_several_steps(beam: int) -> None:
    fast = Captured(small_transformer())
    outputs = run(fast, Search(beam=beam, max_length=21, min_length=20), *many_sources(6))
    assert max(len(item.tokens) for few in outputs for item in few) == 21
    assert fast.flag_reads == math.ceil(21 / STEPS)


@pytest.mark.parametrize("name", ["bahdanau", "transformer-tiny"])
def test_picks_are_read_before_there_are_more_than_a_slot_keeps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot_file, "MOST_STEPS", 2 * STEPS)
    (model,), (source, lengths, _) = [row.build() for row in MODELS if row.name == name], example()
    for search in (Search(beam=1, max_length=21, min_length=18), Search(beam=3, n_best=2, max_length=30)):
        check_same(model, Captured(model), search, source, lengths)


class _Reads(TorchDispatchMode):
    """Counts the operators that a GPU would be waited for, and all; and notes the most numbers that one has written."""

    def __init__(self) -> None:
        super().__init__()
        self.all, self.waiting, self.written = 0, 0, 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.all += 1
        self.waiting += str(func) in ("aten._local_scalar_dense.default", "aten.nonzero.default", "aten.equal.default")
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            written = args[3] if "index_copy_" in str(func) else result
            sizes = [item.numel() for item in pytree.tree_leaves(written) if isinstance(item, Tensor)]
            self.written = max(self.written, *sizes, 0)
        return result


def count_step(model: Any, search: Search) -> _Reads:
    """Count the operators of one captured step."""
    fast, (source, lengths) = Captured(model), many_sources(4)
    run(fast, search, source, lengths)
    (slot,) = fast._slots.values()
    with torch.inference_mode():
        slot._index.zero_()
        with _Reads() as reads:
            slot._step()
    return reads


@pytest.mark.parametrize("beam", [1, 4])
def test_a_step_asks_the_host_nothing_and_launches_no_more_than_it_did(beam: int) -> None:
    reads = count_step(small_transformer(), Search(beam=beam, max_length=8))
    assert reads.waiting == 0
    assert reads.all <= LAUNCHES[beam]


@pytest.mark.parametrize("beam", [1, 4])
def test_a_step_writes_nothing_as_large_as_a_cache(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = stand_in(monkeypatch)
    fast, (source, lengths) = Captured(small_transformer()), many_sources(8)
    expected = run(small_transformer(), Search(beam=beam, max_length=8), source, lengths)
    assert tokens(run(fast, Search(beam=beam, max_length=8), source, lengths)) == tokens(expected)
    (slot,) = fast._slots.values()
    assert bool(kernel.calls) == (beam > 1), "greedy search has no table"
    with torch.inference_mode():
        slot._index.zero_()
        with _Reads() as reads:
            slot._step()
    cache = slot.running.state.caches[0].key
    assert cache.size(1) == 16
    assert reads.written <= cache.numel() // 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sampling": Sampling()}, "drawn at random"),
        ({"coverage_penalty": 0.2}, "`coverage_penalty` adds up the weights"),
        ({"no_repeat_ngram": 2}, "`no_repeat_ngram` compares all tokens so far"),
    ],
)
def test_what_cannot_be_captured_runs_step_by_step_and_says_why(change: dict[str, Any], reason: str) -> None:
    model, search = small_transformer(), Search(max_length=6, **change)
    fast, (source, lengths) = Captured(model), many_sources(3)
    assert tokens(run(fast, search, source, lengths)) == tokens(run(model, search, source, lengths))
    assert reason in str(fast.reason)
    assert not fast.flag_reads


def test_weights_and_a_prefix_run_step_by_step() -> None:
    model = small_transformer()
    fast, (source, lengths) = Captured(model), many_sources(2)
    options = {"search": Search(beam=2, max_length=5), "start": START, "end": END}
    (first, *_), _ = decode(fast, source, lengths, weights=True, **options)
    assert first.weights is not None
    assert fast.reason == "weights are kept at every step"
    (begun, *_), _ = decode(fast, source, lengths, prefix=[[7, 8], []], **options)
    assert begun.tokens[:2] == (7, 8)
    assert fast.reason == "outputs must begin with a prefix"


def test_a_model_whose_state_has_no_fixed_shape_runs_step_by_step() -> None:
    options = {"search": Search(beam=2, max_length=5), "start": TABLE_START, "end": TABLE_END}
    fast = Captured(Table())
    assert tokens(decode(fast, SOURCE, LENGTHS, **options)) == tokens(decode(Table(), SOURCE, LENGTHS, **options))
    assert fast.reason == "Numbers has no form of one shape for every length"


def test_a_step_that_cannot_be_captured_runs_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(work: Callable[[], None], device: torch.device, pool: Any) -> Callable[[], None]:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    monkeypatch.setattr(slot_file, "capture", fail)
    model = small_transformer()
    fast, (source, lengths) = Captured(model), many_sources(3)
    for _ in range(2):
        assert tokens(run(fast, SEARCHES[1], source, lengths)) == tokens(run(model, SEARCHES[1], source, lengths))
        assert fast.reason == "a step cannot be captured: operation not permitted when stream is capturing"


def test_nothing_to_search_for() -> None:
    nothing = torch.zeros(0, 5, dtype=torch.long)
    assert run(Captured(small_transformer()), SEARCHES[0], nothing, torch.zeros(0, dtype=torch.long)) == []


@pytest.mark.gpu
@pytest.mark.parametrize("row", KINDS, ids=lambda row: row.name)
def test_on_a_gpu_captured_steps_give_the_outputs_of_the_eager_search(row: Row, cuda: torch.device) -> None:
    model, (source, lengths, _) = row.build(torch.float32).to(cuda), example()
    fast = Captured(model, longest_source=int(lengths.max()))
    for search in [*SEARCHES, *SEARCHES]:
        expected = run(model, search, source, lengths, "cuda")
        assert tokens(run(fast, search, source, lengths, "cuda")) == tokens(expected)
        assert fast.reason is None


def test_whoever_watches_the_model_sees_every_call() -> None:
    """A graph that is replayed runs no hooks: the search goes step by step, with the same outputs."""
    model, search = small_transformer(), Search(beam=2, max_length=5)
    fast, sources = Captured(model), many_sources(3)
    expected = tokens(run(fast, search, *sources))
    assert fast.reason is None
    with record(model) as trace:
        assert tokens(run(fast, search, *sources)) == expected
    assert fast.reason == "a module of the model has a hook, or its calls are recorded"
    assert len(trace) > 6
    assert tokens(run(fast, search, *sources)) == expected
    assert fast.reason is None
    with cancelled(model, threading.Event()):  # whose hooks see nothing of the model
        assert tokens(run(fast, search, *sources)) == expected
        assert fast.reason is None
    model.train()
    run(fast, search, *sources)
    assert fast.reason == "the model is in training mode"
