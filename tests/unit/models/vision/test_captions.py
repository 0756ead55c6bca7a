"""A captioner follows the decoder's protocol: every search serves it, and its weights survive."""

import pytest
import torch

from regard.config.vision import CaptionSpec, ResidualSpec
from regard.decoding import Search, decode, greedy
from regard.errors import ArgumentError
from regard.models.sequence.protocol import GeneratingModel
from regard.models.vision.build_captions import build_caption_model
from regard.models.vision.captions import as_source

START, END = 2, 3


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    image = ResidualSpec(widths=(4, 6, 8), num_blocks=1)
    spec = CaptionSpec(size=8, num_heads=2, feed_forward_size=8, image=image)
    return build_caption_model(spec, vocabulary_size=11, image_size=16).eval()


@pytest.fixture(scope="module")
def pixels():
    return torch.randint(0, 256, (2, 3, 16, 16), generator=torch.Generator().manual_seed(1)).to(torch.uint8)


def test_it_is_a_generating_model(model):
    assert isinstance(model, GeneratingModel)


def test_steps_say_what_whole_captions_say(model, pixels):
    target = torch.tensor([[START, 5, 6, 7], [START, 8, 4, 4]])
    whole = model(pixels.float() / 255, target).log_softmax(-1)
    memory = model.encode(as_source(pixels))
    state, found, looks = model.start(memory), [], []
    for place in range(4):
        log_probabilities, state, weights = model.step(target[:, place : place + 1], state, memory, weights=True)
        found.append(log_probabilities)
        looks.append(weights)
    torch.testing.assert_close(torch.cat(found, dim=1), whole, atol=1e-5, rtol=1e-5)
    read = model.read(pixels.float() / 255, target, weights=True)
    assert read.weights.shape == (2, 2, 2, 4, 16)
    torch.testing.assert_close(torch.cat(looks, dim=3), read.weights, atol=1e-5, rtol=1e-5)


def test_greedy_and_a_beam_of_one_agree_and_keep_a_map_for_each_word(model, pixels):
    source = as_source(pixels)
    plain = greedy(model, source, start=START, end=END, max_length=7, weights=True)
    for row, [best] in enumerate(
        decode(model, source, search=Search(beam=1, max_length=7), start=START, end=END, weights=True)
    ):
        assert best.tokens == plain[row].tokens
        assert best.weights.shape == (2, 2, len(best.tokens), 16)
        torch.testing.assert_close(best.weights.sum(-1), torch.ones(2, 2, len(best.tokens)))
        torch.testing.assert_close(best.weights, plain[row].weights)


def test_a_wider_beam_finds_no_less(model, pixels):
    source = as_source(pixels)
    settings = {"max_length": 5, "length_penalty": 0.0}
    narrow = decode(model, source, search=Search(beam=1, **settings), start=START, end=END)
    wide = decode(model, source, search=Search(beam=4, n_best=4, **settings), start=START, end=END, weights=True)
    for one, others in zip(narrow, wide, strict=True):
        assert others[0].score >= one[0].score - 1e-5
        assert len({other.tokens for other in others}) == 4


def test_the_size_of_pictures_is_checked(model):
    message = r"`source` must have a row of 3 × 16 × 16 = 768 bytes for each picture; received shape \(1, 48\)\."
    with pytest.raises(ArgumentError, match=message):
        model.encode(torch.zeros(1, 48, dtype=torch.int64))
    with pytest.raises(ArgumentError, match=r"`size` must be even and a multiple of `num_heads`, 8; received 10\."):
        CaptionSpec(size=10)
