"""Frequencies of stretched rotary positions and buckets of distances, against the code of those who published them."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.t5.modeling_t5 import T5Attention

from regard import Causal, Dot, RelativeBuckets, Rotary, attention
from regard.attention.frequencies import (
    linear_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    rotary_frequencies,
    yarn_frequencies,
    yarn_magnitude,
)
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers import MultiHeadAttention, RelativeBucketBiases, RotaryPositions

SIZES = [8, 64, 128]


def theirs(kind: str, size: int, base: float, length: int, **scaling: Any) -> tuple[Tensor, float]:
    """Give transformers' inverse frequencies and attention factor."""
    config = LlamaConfig(
        hidden_size=size * 2,
        num_attention_heads=2,
        head_dim=size,
        max_position_embeddings=length,
        rope_parameters={"rope_type": kind, "rope_theta": base, **scaling},
    )
    frequencies, factor = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"))
    return frequencies.double(), factor


@pytest.mark.parametrize("size", SIZES)
def test_linear(size: int) -> None:
    truth, _ = theirs("linear", size, 10000.0, 2048, factor=4.0)
    torch.testing.assert_close(linear_frequencies(size, 4.0), truth, atol=0, rtol=1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("length", [512, 8192])
def test_llama3(size: int, length: int) -> None:
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    truth, _ = theirs("llama3", size, 500000.0, 131072, original_max_position_embeddings=length, **scaling)
    torch.testing.assert_close(llama3_frequencies(size, original_length=length), truth, atol=0, rtol=1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("factor", [2.0, 16.0, 40.0])
def test_yarn(size: int, factor: float) -> None:
    length = 4096
    truth, magnitude = theirs(
        "yarn", size, 10000.0, int(length * factor), factor=factor, original_max_position_embeddings=length
    )
    torch.testing.assert_close(yarn_frequencies(size, factor=factor, original_length=length), truth, atol=0, rtol=1e-6)
    assert yarn_magnitude(factor) == pytest.approx(magnitude)


def test_ntk_keeps_the_highest_and_divides_the_lowest() -> None:
    for size in SIZES:
        plain, stretched = rotary_frequencies(size), ntk_frequencies(size, 4.0)
        assert stretched[0] == plain[0] == 1
        torch.testing.assert_close(stretched[-1], plain[-1] / 4)
        assert (stretched <= plain).all()


@pytest.mark.parametrize("layout", ["pairs", "halves"])
def test_given_the_papers_frequencies_nothing_changes(layout: Any) -> None:
    query, key = torch.randn(2, 3, 9, 16), torch.randn(2, 3, 9, 16)
    plain = attention(query, key, position=Rotary(layout=layout))
    given = attention(query, key, position=Rotary(layout=layout, frequencies=rotary_frequencies(16)))
    torch.testing.assert_close(given, plain)
    partly = Rotary(layout=layout, size=6, frequencies=rotary_frequencies(6))
    torch.testing.assert_close(
        attention(query, key, position=partly), attention(query, key, position=Rotary(layout=layout, size=6))
    )


def test_a_magnitude_lengthens_what_is_turned() -> None:
    query, key = torch.randn(2, 9, 16), torch.randn(2, 9, 16)
    longer = attention(query, key, key, position=Rotary(magnitude=1.5))
    torch.testing.assert_close(longer, attention(query * 1.5, key * 1.5, key, position=Rotary()))


def test_a_cache_turns_keys_by_the_same_frequencies() -> None:
    frequencies = yarn_frequencies(4, factor=4.0, original_length=8)
    position = RotaryPositions(frequencies=frequencies, magnitude=1.2)
    layer, x = MultiHeadAttention(8, 2, position=position).eval(), torch.randn(2, 6, 8)
    whole = layer(x, mask=Causal())
    memory, steps = None, []
    with torch.no_grad():
        for index in range(6):
            new = layer.remember(x[:, index : index + 1], positions=torch.tensor([index]))
            memory = new.reserve(6) if memory is None else memory.append(new)
            steps.append(layer(x[:, index : index + 1], memory, query_positions=torch.tensor([index])))
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-5, rtol=1e-5)
    assert "position.frequencies" not in layer.state_dict()
    assert layer.double().position.frequencies.dtype == torch.float64


# Buckets


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (8, 20), (16, 512)])
def test_buckets_are_those_of_t5(both_ways: bool, buckets: int, furthest: int) -> None:
    distance = torch.arange(-700, 701)
    ours = RelativeBuckets(table=torch.zeros(buckets), max_distance=furthest, both_ways=both_ways).bucket(distance)
    truth = T5Attention._relative_position_bucket(
        distance, bidirectional=both_ways, num_buckets=buckets, max_distance=furthest
    )
    assert torch.equal(ours, truth)


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 9), (1, 9), (9, 3)])
def test_the_bias_of_each_pair(both_ways: bool, queries: int, keys: int) -> None:
    table = torch.randn(3, 8)
    position = RelativeBuckets(table=table, max_distance=12, both_ways=both_ways)
    query = torch.zeros(2, 3, queries, 4)
    found = position.bias(None, query, query, (2, 3, queries, keys))
    for i in range(queries):
        for j in range(keys):
            bucket = position.bucket(torch.tensor(j - (i + keys - queries)))
            assert torch.equal(found[:, i, j], table[:, bucket])
    places = torch.arange(queries) + keys - queries
    ragged = RelativeBuckets(table=table, max_distance=12, both_ways=both_ways, query_positions=places)
    assert torch.equal(ragged.bias(None, query, query, (2, 3, queries, keys)), found)


def test_a_layer_with_t5s_biases_is_t5s_attention() -> None:
    config = SimpleNamespace(
        is_decoder=False, relative_attention_num_buckets=8, relative_attention_max_distance=16, d_model=8, d_kv=6,
        num_heads=2, dropout_rate=0.0, _attn_implementation="eager",
    )  # fmt: skip
    peer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).eval()
    position = RelativeBucketBiases(2, num_buckets=8, max_distance=16)
    layer = MultiHeadAttention(8, 2, head_size=6, bias=False, score=Dot(), position=position)
    with torch.no_grad():
        for name, theirs in (("query", peer.q), ("key", peer.k), ("value", peer.v), ("output", peer.o)):
            getattr(layer, name).weight.copy_(theirs.weight)
        position.table.copy_(peer.relative_attention_bias.weight.T)
    x = torch.randn(2, 11, 8)
    torch.testing.assert_close(layer(x), peer(x, mask=None)[0], atol=1e-5, rtol=1e-5)


# Mistakes


@pytest.mark.parametrize(
    ("act", "kind", "message"),
    [
        (
            lambda: rotary_frequencies(3),
            ArgumentError,
            "`size` must be an even number of features, two or more; received 3.",
        ),
        (lambda: linear_frequencies(4, 0.0), ArgumentError, "`factor` must be positive; received 0.0."),
        (
            lambda: llama3_frequencies(4, low_factor=4.0, high_factor=4.0),
            ArgumentError,
            "`high_factor` must be above `low_factor`, 4.0; received 4.0.",
        ),
        (
            lambda: yarn_frequencies(4, factor=2.0, original_length=8.0),
            ArgumentTypeError,
            "`original_length` must be a whole number; received 8.0.",
        ),
        (
            lambda: RelativeBucketBiases(2, num_buckets=6),
            ArgumentError,
            "`num_buckets` must be a multiple of 4; received 6.",
        ),
        (
            lambda: RelativeBucketBiases(2, num_buckets=8, max_distance=2),
            ArgumentError,
            "`max_distance` must be above the 2 distances that have buckets of their own; received 2.",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_mistakes_are_named(act: Any, kind: type[Exception], message: str, unchecked: None) -> None:
    with pytest.raises(kind) as caught:
        act()
    assert str(caught.value) == message
