"""What lanes hand on: in parts, again after a batch that did not fit, and through a checkpoint."""

import pytest
import torch

from regard.errors import DataError
from regard.models.language.build import build_network
from regard.tasks.language.carried_states import CarriedStates
from unit.models.language.networks import SPECS

ALL = torch.arange(4)


def network(name, **changed):
    torch.manual_seed(1)
    return build_network(SPECS[name], vocabulary_size=11).eval()


def hear(model, states, number, lanes=ALL):
    tokens = torch.randint(4, 11, (4, 3), generator=torch.Generator().manual_seed(number))
    with torch.no_grad():
        heard = model(tokens[lanes], states.before(model, number, lanes))
    states.keep(number, int(lanes[0]), heard.state)
    return heard.features


@pytest.mark.parametrize("name", ["lstm", "gru-attention", "feed-forward"])
def test_a_checkpoint_holds_the_state_bit_for_bit(name):
    model, whole, saved, other = network(name), CarriedStates(4), CarriedStates(4), CarriedStates(4)
    for number in range(2):
        for states in (whole, saved):
            hear(model, states, number)
    tensors = {key: one.clone() for key, one in saved.tensors().items()}
    other.restore(tensors)
    assert other.tensors().keys() == tensors.keys()  # saved again before any batch, it is the same
    assert torch.equal(hear(model, whole, 2), hear(model, other, 2))
    assert torch.equal(hear(model, whole, 3), hear(model, other, 3))


def test_a_state_that_is_missing_is_an_error():
    model, states, other = network("lstm"), CarriedStates(4), CarriedStates(4)
    with pytest.raises(
        DataError, match=r"Batch 4 of an epoch must come after batch 3, .*; received it without. Was the"
    ):
        states.before(model, 4, ALL)
    hear(model, states, 0)
    other.restore(states.tensors())
    hear(model, other, 1)
    with pytest.raises(DataError, match=r"Batch 3 of an epoch must come after batch 2"):
        other.before(model, 3, ALL)
    hear(model, other, 0)  # an epoch begins from nothing


def test_batches_come_in_parts_and_again():
    model, whole, parts = network("lstm"), CarriedStates(4), CarriedStates(4, batches=2)
    expected = [hear(model, whole, number) for number in range(3)]
    for number in (0, 1, 2, 1, 2):  # the last two once more
        hear(model, parts, number)
    for first in (ALL[:2], ALL[2:]):
        assert torch.allclose(hear(model, parts, 1, first), expected[1][first], atol=1e-6)
    found = torch.cat([hear(model, parts, 2, one) for one in (ALL[:1], ALL[1:])])
    assert torch.allclose(found, expected[2], atol=1e-6)


def test_an_epoch_begins_from_nothing():
    model, states = network("lstm"), CarriedStates(4)
    first = hear(model, states, 0)
    hear(model, states, 1)
    assert torch.equal(hear(model, states, 0), first)
    assert int(states.tensors()["number"]) == 0  # the newest, though 1 came too
    assert CarriedStates(4).tensors() == {}


def test_a_state_of_another_model_is_an_error():
    states, other = CarriedStates(4), CarriedStates(4)
    hear(network("lstm"), states, 0)
    other.restore(states.tensors())
    with pytest.raises(DataError, match=r"carried state must have the shapes \[.*\]; received \[.*\]. Was it saved by"):
        other.before(network("feed-forward"), 1, ALL)
