"""Mask-Align: no word sees itself, padding changes nothing, and both directions share their words."""

import pytest
import torch

from regard.config.align import MaskAlignSpec
from regard.errors import ArgumentError
from regard.layers import Attend
from regard.models.alignment.build import build_aligner

SOURCE, TARGET = 13, 11


def make(norm="post", **others):
    torch.manual_seed(4)
    small = {"size": 12, "num_heads": 3, "feed_forward_size": 20, "num_encoder_layers": 2, "num_decoder_layers": 3}
    spec = MaskAlignSpec(norm=norm, **small | others)
    return build_aligner(spec, source_vocabulary=SOURCE, target_vocabulary=TARGET).double().eval()


def example(batch=4, source=6, target=5):
    draw = torch.Generator().manual_seed(3)
    tokens = (
        torch.randint(4, size, (batch, length), generator=draw) for size, length in ((SOURCE, source), (TARGET, target))
    )
    return next(tokens), torch.tensor([6, 3, 5, 1][:batch]), next(tokens), torch.tensor([5, 2, 1, 4][:batch])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("layers", [1, 4])
def test_a_word_never_sees_itself(norm, layers):
    model = make(norm, num_decoder_layers=layers)
    source, source_lengths, target, target_lengths = example()
    before = model(source, source_lengths, target, target_lengths)
    for position in range(5):
        changed = target.clone()
        changed[:, position] = 4 + (target[:, position] - 3) % (TARGET - 4)
        assert (changed[:, position] != target[:, position]).all()
        after = model(source, source_lengths, changed, target_lengths)
        torch.testing.assert_close(
            after.to_target.features[:, position], before.to_target.features[:, position], rtol=0, atol=0
        )
        torch.testing.assert_close(
            after.to_target.weights[:, :, position], before.to_target.weights[:, :, position], rtol=0, atol=0
        )
        others = [other for other in range(5) if other != position]
        row = 0  # the only sentence that fills its row
        assert (after.to_target.features[row, others] != before.to_target.features[row, others]).any(-1).all()
    for position in range(6):
        changed = source.clone()
        changed[:, position] = 4 + (source[:, position] - 3) % (SOURCE - 4)
        after = model(changed, source_lengths, target, target_lengths).to_source.features[:, position]
        torch.testing.assert_close(after, before.to_source.features[:, position], rtol=0, atol=0)


def test_no_gradient_leads_from_a_prediction_to_its_own_word():
    model = make()
    source, source_lengths, target, target_lengths = example(batch=1)
    vectors = model.to_target.target(target).detach().requires_grad_()
    model.to_target.target.forward = lambda tokens, positions=None: vectors
    features = model.to_target.read(source, source_lengths, target, target_lengths).features
    for position in range(5):
        [gradient] = torch.autograd.grad(features[0, position].square().sum(), vectors, retain_graph=True)
        reached = gradient[0].abs().sum(-1) > 0
        assert reached.tolist() == [other != position for other in range(5)]


def test_padding_changes_nothing():
    model = make()
    source, source_lengths, target, target_lengths = example()
    whole = model(source, source_lengths, target, target_lengths)
    for row in range(4):
        here, there = int(source_lengths[row]), int(target_lengths[row])
        sides = source[row : row + 1, :here], torch.tensor([here]), target[row : row + 1, :there], torch.tensor([there])
        alone = model(*sides)
        torch.testing.assert_close(whole.to_target.features[row, :there], alone.to_target.features[0])
        torch.testing.assert_close(whole.to_target.weights[row, :, :there, : here + 1], alone.to_target.weights[0])
        torch.testing.assert_close(whole.to_source.weights[row, :, :here, : there + 1], alone.to_source.weights[0])
        assert not whole.to_target.weights[row, :, :, here + 1 :].any()


def test_weights_sum_to_one_with_nothing_and_a_word_alone_has_only_its_translation():
    model = make()
    read = model(*example())
    for side in read:
        torch.testing.assert_close(side.weights.sum(-1), torch.ones_like(side.weights[..., 0]))
        assert (side.weights[..., 0] > 0).all()
        assert side.features.isfinite().all()
    source, source_lengths, *_ = example(batch=1)
    alone = model(source, source_lengths, torch.tensor([[7]]), torch.tensor([1]))
    other = model(source, source_lengths, torch.tensor([[9]]), torch.tensor([1]))
    torch.testing.assert_close(alone.to_target.features, other.to_target.features, rtol=0, atol=0)


def test_the_source_is_attended_to_in_the_last_layer_alone():
    model, calls = make(), []

    def note(module, inputs, output):
        calls.append((inputs[0].size(-2), inputs[1].size(-2)))

    attending = [module for module in model.to_target.decoder.modules() if isinstance(module, Attend)]
    hooks = [module.register_forward_hook(note) for module in attending]
    source, source_lengths, target, target_lengths = example()
    model.to_target.read(source, source_lengths, target, target_lengths)
    for hook in hooks:
        hook.remove()
    assert calls == [(5, 5), (5, 5), (5, 5), (5, 7)]  # six source words and nothing


def test_both_directions_share_the_vectors_of_a_language():
    model = make()
    assert model.to_target.source is model.to_source.target
    assert model.to_target.target is model.to_source.source
    assert model.to_target.output.weight is model.to_target.target.table.weight
    assert model.to_source.output.weight is model.to_source.target.table.weight
    names = [name for name, _ in model.named_parameters() if "table" in name or name.endswith("output.weight")]
    assert sum(".table." in name for name in names) == 2


def test_nothing_has_a_key_and_a_value_that_are_learned():
    model = make()
    read = model(*example())
    (read.to_target.features.sum() + read.to_target.weights[..., 0].sum()).backward()
    assert model.to_target.null_key.grad.abs().sum() > 0
    assert model.to_target.null_value.grad.abs().sum() > 0


def test_dropout_acts_on_positions_and_words_in_training_alone():
    model = make(dropout=0.5)
    first, second = model(*example()), model(*example())
    torch.testing.assert_close(first.to_target.features, second.to_target.features, rtol=0, atol=0)
    model.train()
    assert not torch.equal(model(*example()).to_target.features, model(*example()).to_target.features)


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused():
    source, source_lengths, target, target_lengths = example()
    with pytest.raises(ArgumentError, match=r"`target` must have one row for each of the 4 rows of `source`; received"):
        make()(source, source_lengths, target[:3], target_lengths[:3])
    with pytest.raises(ArgumentError, match=r"`size` must be even, since positions are sines and cosines; received 9."):
        MaskAlignSpec(size=9, num_heads=3)
    with pytest.raises(ArgumentError, match=r"`num_heads` must divide `size`, 256; received 3."):
        MaskAlignSpec(num_heads=3)
