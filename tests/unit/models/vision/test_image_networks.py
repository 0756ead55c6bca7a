"""Networks for images: shapes, gates that are the layers', looks that are the attention's, sums that add up."""

import re

import pytest
import torch
from torch.nn import functional as F

from regard.config.vision import ResidualSpec, VisionTransformerSpec
from regard.errors import ArgumentError
from regard.inspection import record
from regard.models.sequence.build import count_parameters
from regard.models.vision.build import build_image_encoder
from regard.models.vision.features import Standardize, lay_out
from regard.models.vision.patch_transformer import VisionTransformer, rollout
from regard.models.vision.residual import ResidualBlock, ResidualNetwork
from regard.tasks.images.settings import IMAGE_ENCODERS

SMALL = {"widths": (4, 6), "num_blocks": 2, "reduction": 2}


def network(attention="both", **changes):
    return ResidualNetwork(**(SMALL | {"num_labels": 3, "attention": attention} | changes)).eval()


def transformer(**changes):
    sizes = {"patch_size": 4, "size": 8, "num_layers": 2, "num_heads": 2, "feed_forward_size": 12, "num_labels": 3}
    made = VisionTransformer((8, 12), **(sizes | changes)).eval()
    if made.output is not None:
        torch.nn.init.normal_(made.output.weight)  # it starts from zero
    return made


@pytest.mark.parametrize("name", IMAGE_ENCODERS)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_preset_gives_logits_and_features(name, channels):
    image = torch.rand(2, channels, 28, 28)
    model = build_image_encoder(IMAGE_ENCODERS[name], image_size=28, channels=channels, num_labels=5)
    assert model(image).shape == (2, 5)
    found = model.features(image)
    assert found.features.shape == (2, 49, model.size)
    assert found.grid == (7, 7)
    without = build_image_encoder(IMAGE_ENCODERS[name], image_size=(28, 28), channels=channels)
    assert without(image).shape == (2, without.size)


def test_gates_cost_few_parameters():
    sizes = {name: count_parameters(build_image_encoder(spec, image_size=32)) for name, spec in IMAGE_ENCODERS.items()}
    assert sizes["resnet"] < sizes["resnet-spatial"] < sizes["resnet-channel"] < sizes["resnet-both"]
    assert sizes["resnet-both"] < 1.04 * sizes["resnet"]
    added = sizes["resnet-both"] - sizes["resnet"]
    assert added == sum(2 * 2 * width * width // 8 for width in (32, 64, 128)) + 6 * 2 * 49


@pytest.mark.parametrize(("attention", "places", "channels"), [("none", 0, 0), ("channel", 0, 4), ("both", 4, 4)])
def test_a_look_gives_every_gate_and_the_same_logits(attention, places, channels):
    model, image = network(attention), torch.rand(2, 3, 8, 8)
    looked = model.forward_with_weights(image)
    assert torch.equal(looked.logits, model(image))
    assert (len(looked.positions), len(looked.channels)) == (places, channels)
    if places:
        names = ["stage 1, block 1", "stage 1, block 2", "stage 2, block 1", "stage 2, block 2"]
        assert [one.name for one in looked.positions] == names
        assert [tuple(one.weights.shape) for one in looked.positions] == [(2, 8, 8)] * 2 + [(2, 4, 4)] * 2
        assert all(bool((one.weights > 0).all() and (one.weights < 1).all()) for one in looked.positions)
    if channels:
        assert [tuple(one.weights.shape) for one in looked.channels] == [(2, 4)] * 2 + [(2, 6)] * 2
        assert looked.channels[-1].maps.shape == (2, 6, 4, 4)


def test_a_block_is_the_paper_s_sum():
    block = ResidualBlock(3, 4, stride=2, attention="both", reduction=2).eval()
    maps = torch.randn(2, 3, 6, 6)
    inside = block.second_norm(block.second(F.relu(block.first_norm(block.first(maps)))))
    pooled = [inside.mean((2, 3)), inside.amax((2, 3))]
    gate = torch.sigmoid(sum(block.channel.excite(F.relu(block.channel.squeeze(one))) for one in pooled))
    inside = inside * gate[:, :, None, None]
    both = torch.stack([inside.mean(1), inside.amax(1)], 1)
    inside = inside * torch.sigmoid(block.spatial.convolution(both))
    torch.testing.assert_close(block(maps), F.relu(block.shortcut(maps) + inside))


def test_evidence_adds_up_to_the_logits():
    model, image = network("spatial"), torch.rand(2, 3, 8, 8)
    looked = model.forward_with_weights(image)
    torch.testing.assert_close(looked.evidence.sum((2, 3)) + model.output.bias, looked.logits)
    assert network(num_labels=0).forward_with_weights(image).evidence is None


def test_the_transformer_attends_through_the_seam():
    model, image = transformer(), torch.rand(2, 3, 8, 12)
    with record(model) as trace:
        logits = model(image)
    assert [tuple(call.weights.shape) for call in trace.calls] == [(2, 2, 7, 7)] * 2
    looked = model.forward_with_weights(image)
    torch.testing.assert_close(looked.logits, logits)
    assert [one.name for one in looked.positions] == ["block 1", "block 2", "rollout"]
    for one, call in zip(looked.positions, trace.calls, strict=False):
        torch.testing.assert_close(one.weights.flatten(1), call.weights.mean(1)[:, 0, 1:])
        assert one.limit == 8 / 6
    rolled = rollout([call.weights for call in trace.calls])
    torch.testing.assert_close(looked.positions[2].weights.flatten(1), rolled[:, 0, 1:])
    torch.testing.assert_close(rolled.sum(-1), torch.ones(2, 7))


def test_patches_know_where_they_are():
    model, image = transformer(), torch.rand(1, 3, 8, 12)
    swapped = torch.cat([image[..., 4:8], image[..., :4], image[..., 8:]], -1)
    assert not torch.allclose(model(image), model(swapped), atol=1e-4)
    torch.nn.init.zeros_(model.positions.table)
    torch.testing.assert_close(model(image), model(swapped), atol=1e-5, rtol=1e-5)


def test_all_labels_are_alike_at_first():
    model = VisionTransformer((8, 8), size=8, num_layers=1, num_heads=2, num_labels=3)
    assert model(torch.rand(2, 3, 8, 8)).abs().max() == 0


def test_colors_are_standardized_and_saved():
    standardize = Standardize(2)
    standardize.fit(mean=[0.2, 0.4], spread=[0.1, 0.0])
    assert set(standardize.state_dict()) == {"mean", "spread"}
    image = torch.tensor([0.3, 0.4]).view(1, 2, 1, 1)
    torch.testing.assert_close(standardize(image).flatten(), torch.tensor([1.0, 0.0]))
    with pytest.raises(ArgumentError, match=r"`mean` must have a number for each of 2 channels; received 1\."):
        standardize.fit(mean=[0.2], spread=[1.0, 1.0])
    with pytest.raises(
        ArgumentError, match=re.escape("`image` must have shape (batch, 2, height, width), with colors")
    ):
        standardize(torch.rand(1, 3, 2, 2))


def test_places_are_read_row_by_row():
    maps = torch.arange(12.0).view(1, 2, 2, 3)
    assert lay_out(maps).features[0, 4].tolist() == [4.0, 10.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: network("chanel"),
            'must be one of none, channel, spatial, both; received "chanel". Did you mean chan',
        ),
        (lambda: network(widths=()), "`widths` must name a width of at least 1 for each stage; received []."),
        (lambda: network(num_blocks=0), "`num_blocks` must be at least 1; received 0."),
        (
            lambda: transformer(patch_size=3),
            "`patch_size` must divide the height and the width of the images, 8 and 12; received 3. Choose another",
        ),
        (
            lambda: transformer()(torch.rand(1, 3, 8, 8)),
            "the network was made for, (8, 12); received (8, 8). Resize it",
        ),
        (lambda: rollout([]), "`weights` must hold those of at least one block; received none."),
        (lambda: ResidualSpec(widths=(0,)), "`widths` must name a width of at least 1 for each stage; received [0]."),
        (lambda: ResidualSpec(widths=(4,), attention="both"), "must be at most the least of `widths`, 4; received 8."),
        (lambda: ResidualSpec(attention="x"), "`attention` must be one of none, channel, spatial, both; received"),
        (lambda: VisionTransformerSpec(num_heads=3), "`size` must be a multiple of `num_heads`, 3; received 128."),
    ],
)
def test_mistakes_are_told(unchecked, make, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        make()
