import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import Call, Trace


def call(layer: str, step: int = 0, batch: int = 2, query: int = 3, key: int = 4) -> Call:
    weights = torch.full((batch, 2, query, key), 1 / key)
    return Call(layer=layer, step=step, scores=weights, weights=weights, value_norms=weights[..., 0, :], mask=None)


def some() -> Trace:
    return Trace([call("encoder.0"), call("decoder.0"), call("decoder.1"), call("decoder.0", 1, query=1)])


def test_is_a_sequence_of_calls() -> None:
    trace = some()
    assert len(trace) == 4
    assert [entry.layer for entry in trace] == ["encoder.0", "decoder.0", "decoder.1", "decoder.0"]
    assert trace[-1].step == 1
    assert len(trace[1:3]) == 2
    assert trace.layers == ["encoder.0", "decoder.0", "decoder.1"]


def test_finds_calls_by_name_and_pattern() -> None:
    trace = some()
    assert [entry.step for entry in trace["decoder.0"]] == [0, 1]
    assert len(trace["decoder.*"]) == 3
    assert len(trace["*"]) == 4
    with pytest.raises(ArgumentError, match=r'attention layer; received "decodr.0". Did you mean decoder.0\?'):
        trace["decodr.0"]


def test_shows_what_it_holds() -> None:
    assert repr(some()).splitlines() == [
        "Trace of 4 calls",
        "  encoder.0  1 call: 2 heads, 3 queries × 4 keys",
        "  decoder.0  2 calls: 2 heads, 1 query × 4 keys",
        "  decoder.1  1 call: 2 heads, 3 queries × 4 keys",
    ]
    assert repr(some()[3]) == "Call('decoder.0', step 1: 2 examples, 2 heads, 1 query × 4 keys)"
    assert repr(Trace()) == "Trace of 0 calls"


def test_labels_can_be_set_later() -> None:
    trace = some()
    trace["decoder.*"].label(key=["the", "cat", "sat"])
    trace["encoder.0"].label(query=[["a", "b"], ["c"]])
    assert trace[1].key_labels == ["the", "cat", "sat"]
    assert trace[0].key_labels is None
    assert trace[0].query_labels == [["a", "b"], ["c"]]


def test_labels_must_fit() -> None:
    with pytest.raises(ArgumentError, match="`query_labels` must name at most 3 positions; received 4"):
        call("x").label(query=["a", "b", "c", "d"])
    with pytest.raises(ArgumentError, match="one list for each of the 2 examples, or be one list for all; received 3"):
        call("x").label(key=[["a"], ["b"], ["c"]])
    with pytest.raises(ArgumentError, match=r"`key_labels` must be a list of words; received one string"):
        call("x").label(key="the cat")
