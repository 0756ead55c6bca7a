"""Parts of Transformer blocks computed together: in Triton's interpreter here, on a GPU where there is one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from regard import Padding, Sparsemax
from regard.config.model import TransformerSpec
from regard.inspection import record
from regard.layers import AdditiveAttention, ConditionalGRU, FeedForward, MultiHeadAttention, TransformerEncoderBlock
from regard.layers.fused import choose, operations
from regard.layers.fused.conditional_loop import can_run
from regard.layers.fused.projection import packed_bias, project
from regard.layers.fused.stack import serves_blocks, side_by_side
from regard.layers.memory import Memory
from regard.models import build_model

PROGRAM = Path(__file__).with_name("fused_interpreted.py")
HAS_TRITON = importlib.util.find_spec("triton") is not None


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
def test_in_the_interpreter_it_agrees_with_torch() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert (done.returncode, done.stdout) == (0, "agrees\n"), done.stderr[-3000:]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "check",
    [
        "compare_dropout",
        "compare_operations",
        "compare_models",
        "compare_steps",
        "compare_second_derivatives",
        "check_fallbacks",
        "compare_loop",
        "compare_loop_kernels",
    ],
)
def test_on_a_gpu_it_agrees_with_torch(check: str, cuda: torch.device) -> None:
    from unit.layers import fused_interpreted

    getattr(fused_interpreted, check)(cuda.type)


@pytest.mark.gpu
def test_a_captured_pass_drops_other_numbers_at_every_replay(cuda: torch.device) -> None:
    from regard.layers.fused.stack import encode

    block = TransformerEncoderBlock(MultiHeadAttention(64, 4), FeedForward(64, 128), dropout=0.5).to(cuda)
    states, norm = torch.randn(4, 8, 64, device=cuda), nn.LayerNorm(64, device=cuda)

    def step() -> torch.Tensor:
        output = encode([block], states, mask=None, norm=norm)
        output.sum().backward()
        return output.detach()

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()
    results = []
    for _ in range(2):
        graph.replay()
        results.append(result.clone())
    assert not torch.equal(*results)


class Adapted(nn.Module):
    """A linear map with an adapter beside it, which passes for a linear map by its parameters."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear, self.adapter = linear, nn.Linear(linear.in_features, linear.out_features, bias=False)
        self.weight, self.bias, self.in_features = linear.weight, linear.bias, linear.in_features
        self.out_features = linear.out_features

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.linear(states) + self.adapter(states)


def test_what_is_not_plain_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """By device, hooks, class, precision, and where no gradient is wanted."""
    states, linear = torch.randn(2, 3, 8), nn.Linear(8, 8)
    assert not choose.serves(states, [linear])
    monkeypatch.setattr(choose, "DEVICES", ("cpu",))
    monkeypatch.setattr(choose, "_HAS_TRITON", True)
    assert choose.serves(states, [linear])
    with torch.no_grad():
        assert not choose.serves(states, [linear])
    assert not choose.serves(states.double(), [linear.double()])
    assert not choose.serves(states, [linear])
    linear.float()
    assert not choose.serves(nn.Parameter(states), [linear])
    handle = linear.register_forward_hook(lambda *_: None)
    assert not choose.serves(states, [linear])
    handle.remove()

    class Own(nn.Linear):
        pass

    class OwnAttention(MultiHeadAttention):
        pass

    assert not choose.serves(states, [Own(8, 8)])
    norm = nn.LayerNorm(8)
    for attention, expected in ((MultiHeadAttention(8, 2), True), (OwnAttention(8, 2), False), (nn.Identity(), False)):
        block = TransformerEncoderBlock(attention, FeedForward(8, 16))
        assert serves_blocks([block], states, norm) is expected
    block = TransformerEncoderBlock(MultiHeadAttention(8, 2), FeedForward(8, 16))
    for place in ("attention.query", "attention.output", "feed_forward.expand", "feed_forward.contract"):
        plain = block.get_submodule(place)
        block.set_submodule(place, Adapted(plain))
        assert not serves_blocks([block], states, norm), place
        block.set_submodule(place, plain)
    others = (nn.LayerNorm(8, elementwise_affine=False), nn.LayerNorm((3, 8)), nn.Linear(8, 8), nn.Dropout(0.5))
    assert not any(serves_blocks([block], states, other) for other in others)
    assert serves_blocks([block], states, nn.Identity())
    assert torch.func.vmap(lambda x: torch.tensor(serves_blocks([block], x, norm)))(states[None]).tolist() == [False]


def test_biases_are_packed_with_zeros() -> None:
    maps = [nn.Linear(4, 2), nn.Linear(4, 3, bias=False)]
    joined = packed_bias(maps)
    assert joined is not None
    assert torch.equal(joined, torch.cat([maps[0].bias, torch.zeros(3)]))
    assert packed_bias(maps[1:]) is None
    states = torch.randn(1, 2, 4)
    for result, linear in zip(project(states, maps), maps, strict=True):
        assert torch.equal(result, linear(states))


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let parts be computed together on a CPU, as far as no kernel runs."""
    monkeypatch.setattr(choose, "DEVICES", ("cpu",))
    monkeypatch.setattr(choose, "_HAS_TRITON", True)


@pytest.mark.usefixtures("on_cpu")
def test_the_loop_is_for_layers_as_they_were_made() -> None:
    words, state = torch.randn(2, 3, 5), torch.randn(2, 8)
    attention, cell = AdditiveAttention(8, 6, 4), ConditionalGRU(5, 8, 6)
    memory = attention.remember(torch.randn(2, 7, 6), mask=Padding(torch.tensor([7, 3])))
    assert can_run(attention, cell, words, state, memory)
    for owner, name in ((attention, "query"), (cell, "gates"), (cell, "candidate"), (cell, "context")):
        plain = getattr(owner, name)
        for other in (nn.Linear(plain.in_features, plain.out_features), nn.Identity(), Adapted(plain)):
            setattr(owner, name, other)
            assert not can_run(attention, cell, words, state, memory), (name, other)
        setattr(owner, name, plain)
    assert can_run(attention, cell, words, state, memory)


@pytest.mark.usefixtures("on_cpu")
def test_a_step_of_no_rows_is_that_of_the_blocks() -> None:
    spec = TransformerSpec(size=8, num_encoder_layers=1, num_decoder_layers=1, num_heads=2, feed_forward_size=8)
    model = build_model(spec, source_vocabulary=9, target_vocabulary=9).eval()
    with torch.no_grad():
        memory = model.encode(torch.zeros(0, 3, dtype=torch.long))
        result = model.step(torch.zeros(0, 1, dtype=torch.long), model.start(memory), memory)
    assert result.log_probabilities.shape == (0, 1, 9)


def test_matrices_are_not_joined_in_decoding() -> None:
    linears, rows = [nn.Linear(6, 4), nn.Linear(6, 5)], torch.randn(3, 6)
    joined = side_by_side(rows, linears)
    with torch.no_grad(), torch.profiler.profile() as profile:
        torch.testing.assert_close(side_by_side(rows, linears), joined)
    assert "aten::cat" not in {event.key for event in profile.key_averages()}


def test_dropout_drops_its_share_of_every_row_and_column() -> None:
    draw = operations.Draw(torch.tensor([123456789 << 20]), 2, 0.25)
    factors = operations.factors(draw, torch.empty(400, 300))
    kept = (factors > 0).float()
    assert abs(float(kept.mean()) - 0.75) < 0.006
    assert float((kept.mean(0) - 0.75).abs().max()) < 0.11
    assert float((kept.mean(1) - 0.75).abs().max()) < 0.12
    torch.testing.assert_close(factors[factors > 0], torch.full_like(factors[factors > 0], 4 / 3))


class Other(ConditionalGRU):
    """A cell of somebody else's, who may compute anything."""


def decoder_parts() -> tuple[AdditiveAttention, ConditionalGRU, torch.Tensor, torch.Tensor, Memory]:
    attention, cell = AdditiveAttention(5, 6, 7), ConditionalGRU(4, 5, 6)
    memory = attention.remember(torch.randn(3, 8, 6), mask=Padding(torch.tensor([8, 2, 0])))
    return attention, cell, torch.randn(3, 9, 4), torch.randn(3, 5), memory


def test_bahdanaus_steps_run_together_where_nothing_is_unusual(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, cell, words, state, memory = decoder_parts()
    assert not can_run(attention, cell, words, state, memory)  # on a CPU
    monkeypatch.setattr(choose, "DEVICES", ("cpu",))
    monkeypatch.setattr(choose, "_HAS_TRITON", True)
    assert can_run(attention, cell, words, state, memory)
    assert not can_run(attention, cell, words[:, :1], state, memory)
    assert not can_run(attention, Other(4, 5, 6), words, state, memory)
    assert not can_run(attention, cell, words.repeat(2, 1, 1), state.repeat(2, 1), memory)  # hypotheses
    assert not can_run(attention, cell, words, state, memory._replace(padding=None))  # another mask than a length
    with torch.no_grad():
        assert not can_run(attention, cell, words, state, memory)
    for other in (AdditiveAttention(5, 6, 7, dropout=0.1), AdditiveAttention(5, 6, 7, normalize=Sparsemax())):
        assert not can_run(other, cell, words, state, memory)
    assert can_run(AdditiveAttention(5, 6, 7, dropout=0.1).eval(), cell, words, state, memory)
    with record(attention):
        assert not can_run(attention, cell, words, state, memory)
    handle = cell.gates.register_forward_hook(lambda *_: None)
    assert not can_run(attention, cell, words, state, memory)
    handle.remove()
    assert can_run(attention, cell, words, state, memory)
