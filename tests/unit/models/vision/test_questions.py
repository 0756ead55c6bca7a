"""Words look at pictures: what the network gives, and where each word looked."""

import pytest
import torch

from regard.config.vision import QuestionSpec, ResidualSpec, VisionTransformerSpec
from regard.errors import ArgumentError
from regard.inspection import record
from regard.models.vision.build_questions import build_question_network

CNN = ResidualSpec(widths=(4, 6, 8), num_blocks=1)
VIT = VisionTransformerSpec(patch_size=4, size=8, num_layers=1, num_heads=2, feed_forward_size=8, dropout=0.0)
LENGTHS = torch.tensor([5, 2, 3])
OWNERS = torch.tensor([1, 0, 1])


def build(**settings):
    torch.manual_seed(3)
    sizes = {"size": 8, "num_heads": 2, "feed_forward_size": 8, "dropout": 0.0, "image": CNN}
    spec = QuestionSpec(**(sizes | settings))
    return build_question_network(spec, vocabulary_size=11, num_answers=4, image_size=16).eval()


def example():
    generator = torch.Generator().manual_seed(2)
    image = torch.rand(2, 3, 16, 16, generator=generator)
    return image, torch.randint(4, 11, (3, 5), generator=generator)


@pytest.mark.parametrize("settings", [{}, {"image": VIT}, {"reader": "transformer"}, {"attention": "mean"}])
def test_every_wiring_answers_and_shows_its_looks(settings):
    network = build(**settings)
    image, tokens = example()
    found = network(image, tokens, LENGTHS, OWNERS, weights=True)
    places = 1 if settings.get("attention") == "mean" else 16
    assert found.logits.shape == (3, 4)
    assert found.grid == ((1, 1) if places == 1 else (4, 4))
    assert found.weights.shape == (3, 2, 2, 5, places)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(3, 2, 2, 5))
    assert torch.equal(network(image, tokens, LENGTHS, OWNERS).logits, found.logits)
    assert network(image, tokens, LENGTHS, OWNERS).weights is None


@pytest.mark.parametrize("reader", ["gru", "transformer"])
def test_padding_changes_nothing(reader):
    network = build(reader=reader)
    image, tokens = example()
    whole = network(image, tokens, LENGTHS, OWNERS).logits
    alone = network(image[:1], tokens[1:2, :2], LENGTHS[1:2]).logits
    torch.testing.assert_close(whole[1:2], alone)
    changed = tokens.clone()
    changed[1, 2:] = 4
    torch.testing.assert_close(network(image, changed, LENGTHS, OWNERS).logits, whole)


def test_a_picture_is_read_once_for_all_its_questions():
    network = build()
    image, tokens = example()
    repeated = network(image[OWNERS], tokens, LENGTHS).logits
    torch.testing.assert_close(network(image, tokens, LENGTHS, OWNERS).logits, repeated)


def test_the_picture_matters_and_so_does_where_things_are():
    network = build()
    image, tokens = example()
    plain = network(image, tokens, LENGTHS, OWNERS).logits
    assert not torch.allclose(plain, network(1 - image, tokens, LENGTHS, OWNERS).logits)
    features = network.places(image).features
    blank = network.places(torch.full((1, 3, 16, 16), 0.5)).features[0]
    middle = blank.view(4, 4, -1)[1:3, 1:3].flatten(0, 1)  # the same picture at each, but for the borders
    assert not torch.allclose(middle[0], middle[1])
    assert features.shape == (2, 16, 8)


def test_attention_is_recorded_at_the_seam():
    network = build()
    image, tokens = example()
    with record(network) as trace:
        found = network(image, tokens, LENGTHS, OWNERS, weights=True)
    crossed = [call for call in trace.calls if call.layer == "blocks.0.cross_attention"]
    torch.testing.assert_close(crossed[0].weights, found.weights[:, 0])


def test_without_places_the_parameters_are_the_same():
    count = [sum(one.numel() for one in build(attention=name).parameters()) for name in ("positions", "mean")]
    assert count[0] == count[1]


def test_every_parameter_has_a_part_in_the_answers():
    network = build().train()
    image, tokens = example()
    network(image, tokens, LENGTHS, OWNERS).logits.square().sum().backward()
    unused = [name for name, one in network.named_parameters() if one.grad is None or not one.grad.any()]
    assert unused == []


def test_mistakes():
    network = build()
    image, tokens = example()
    with pytest.raises(ArgumentError, match=r"`tokens` must have shape \(rows, tokens\) with at least one token"):
        network(image, tokens[:, :0], LENGTHS, OWNERS)
    with pytest.raises(ArgumentError, match=r"`lengths` must be from 0 to the length of `source`, 5"):
        network(image, tokens, torch.tensor([6, 1, 1]), OWNERS)
    with pytest.raises(ArgumentError, match=r"`size` must be even and a multiple of `num_heads`, 8; received 10\."):
        QuestionSpec(size=10)
