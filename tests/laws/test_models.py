"""What holds for every model of the catalogue."""

import copy
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest
import torch
from torch import Tensor

from catalogue.models import LENGTHS, MODELS, Row, example
from hardware import half_precision_lstm
from regard.config.attention import AttentionSpec
from regard.config.model import RecurrentSpec, TransformerSpec
from regard.decoding import greedy
from regard.errors import ArgumentError, ArgumentTypeError
from regard.inspection import attention_layers, record
from regard.models import Model
from regard.models.folder import load_model, save_model
from regard.tasks.translation.presets import PRESETS

every = pytest.mark.parametrize("row", MODELS, ids=lambda row: row.name)
attending = pytest.mark.parametrize("row", [row for row in MODELS if row.attends], ids=lambda row: row.name)
presets = pytest.mark.parametrize("row", [row for row in MODELS if row.preset], ids=lambda row: row.name)


def stepped(model: Model, source: Tensor, lengths: Tensor | None, parts: list[Tensor]) -> tuple[Tensor, Tensor | None]:
    """Hear a target part by part; give all log-probabilities and weights."""
    memory = model.encode(source, lengths)
    state, heard, looks = model.start(memory), [], []
    for part in parts:
        log_probabilities, state, weights = model.step(part, state, memory, weights=True)
        heard.append(log_probabilities)
        looks.append(weights)
    return torch.cat(heard, dim=1), None if looks[0] is None else torch.cat(looks, dim=-2)


def test_the_catalogue_has_every_preset_and_every_choice() -> None:
    assert {row.name for row in MODELS if row.preset} == set(PRESETS)
    for kind in (RecurrentSpec, TransformerSpec):
        specs = [row.spec for row in MODELS if isinstance(row.spec, kind)]
        for field in fields(kind):
            choices = get_args(get_type_hints(kind)[field.name])
            if choices and all(isinstance(choice, str) for choice in choices):
                assert {getattr(spec, field.name) for spec in specs} >= set(choices), field.name
    attended = {type(row.spec.attention) for row in MODELS if isinstance(row.spec, RecurrentSpec)}
    assert attended == set(get_args(AttentionSpec))


@every
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_the_training_pass_equals_steps(row: Row, dtype: torch.dtype, tolerance: float) -> None:
    model, (source, lengths, target) = row.build(dtype), example()
    logits, weights = model(source, lengths, target, weights=True)
    assert logits.dtype == dtype
    expected = logits.log_softmax(-1)
    found, looks = stepped(model, source, lengths, list(target.split([1, 2, 1, 1], dim=1)))
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)
    if row.attends:
        torch.testing.assert_close(looks, weights, rtol=0, atol=tolerance)
    else:
        assert looks is None
        assert weights is None


@every
def test_asking_for_weights_changes_nothing(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    assert torch.equal(model(source, lengths, target), model(source, lengths, target, weights=True).logits)
    memory = model.encode(source, lengths)
    plain = model.step(target, model.start(memory), memory)
    asked = model.step(target, model.start(memory), memory, weights=True)
    assert torch.equal(plain.log_probabilities, asked.log_probabilities)
    assert plain.weights is None


@attending
def test_weights_are_per_layer_and_head_and_leave_padding_out(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    weights = model(source, lengths, target, weights=True).weights
    assert weights.shape == (4, *row.looks, 5, 6)
    for sentence, length in enumerate(LENGTHS.tolist()):
        assert (weights[sentence, ..., length:] == 0).all()
        assert (weights[sentence] >= 0).all()
    if "local" not in row.name and row.spec.normalize != "sigmoid":
        torch.testing.assert_close(weights.sum(-1), torch.ones(4, *row.looks, 5, dtype=weights.dtype))


@every
def test_padding_and_batch_never_change_a_sentence(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    together = model(source, lengths, target, weights=True)
    noise = torch.where(torch.arange(6) < lengths[:, None], source, 7)
    torch.testing.assert_close(model(noise, lengths, target), together.logits, rtol=0, atol=1e-12)
    for sentence, length in enumerate(lengths.tolist()):
        one = slice(sentence, sentence + 1)
        alone = model(source[one, :length], None, target[one, :3], weights=True)
        torch.testing.assert_close(together.logits[one, :3], alone.logits, rtol=0, atol=1e-12)
        if alone.weights is not None:
            theirs = together.weights[one, :, :, :3, :length]
            torch.testing.assert_close(theirs, alone.weights, rtol=0, atol=1e-12)


@every
def test_the_future_is_not_seen(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    other = target.clone()
    other[:, 3:] = (other[:, 3:] + 1) % 11
    first, second = model(source, lengths, target), model(source, lengths, other)
    torch.testing.assert_close(first[:, :3], second[:, :3], rtol=0, atol=1e-12)
    assert not torch.equal(first[:, 3:], second[:, 3:])


@every
def test_gradients_reach_every_parameter(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    logits = model(source, lengths, target)
    (logits.log_softmax(-1) * torch.randn_like(logits)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if name.endswith("key.bias") or "as printed" in row.name:
            continue  # a key's bias adds the same to every score; v_a begins at zero, so that W_a and U_a wait for it
        if "linear" in row.name and name.endswith("attention.query.weight"):
            continue  # without the tanh, so does the query
        assert parameter.grad.abs().sum() > 0, name


@every
def test_state_and_memory_can_be_re_ordered(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    order = torch.tensor([2, 0, 3, 3, 1])
    memory = model.encode(source, lengths)
    state = model.step(target[:, :2], model.start(memory), memory).state
    expected = model.step(target[:, 2:4], state, memory, weights=True)
    moved, chosen = memory.select(order), state.select(order)
    assert (moved.rows, chosen.rows) == (5, 5)
    found = model.step(target[order, 2:4], chosen, moved, weights=True)
    torch.testing.assert_close(found.log_probabilities, expected.log_probabilities[order], rtol=0, atol=1e-12)
    if expected.weights is not None:
        torch.testing.assert_close(found.weights, expected.weights[order], rtol=0, atol=1e-12)


@every
def test_hypotheses_share_the_memory_of_their_sentence(row: Row) -> None:
    """Three hypotheses a sentence, re-ordered among themselves, are the same as three copies of the sentence."""
    model, (source, lengths, target) = row.build(), example()
    memory = model.encode(source, lengths)
    state = model.step(target[:, :1], model.start(memory), memory).state
    rows = torch.arange(4).repeat_interleave(3)
    several, repeated = state.select(rows), memory.select(rows)
    tokens = torch.arange(24).view(12, 2) % 11
    swap = torch.tensor([1, 0, 2, 4, 3, 5, 8, 7, 6, 9, 9, 10])
    for _ in range(2):
        shared = model.step(tokens, several, memory, weights=True)
        copied = model.step(tokens, several, repeated, weights=True)
        torch.testing.assert_close(shared.log_probabilities, copied.log_probabilities, rtol=0, atol=1e-12)
        if shared.weights is not None:
            torch.testing.assert_close(shared.weights, copied.weights, rtol=0, atol=1e-12)
        several = shared.state.select(swap)


@every
def test_nothing_is_kept_between_calls(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    before = copy.deepcopy(model.state_dict())
    first = model(source, lengths, target)
    model(source[:2], lengths[:2], target[:2])
    assert torch.equal(model(source, lengths, target), first)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@attending
def test_recording_sees_the_weights_both_ways(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    looking = [name for name in attention_layers(model) if "decoder" in name and "self_attention" not in name]
    assert len(looking) == row.looks[0]
    with record(model, layers=looking) as trace:
        logits, weights = model(source, lengths, target, weights=True)
    assert torch.equal(logits, model(source, lengths, target))
    with record(model, layers=looking) as stepping:
        stepped(model, source, lengths, list(target.split([1, 3, 1], dim=1)))
    for layer, name in enumerate(looking):
        for seen in (trace, stepping):
            recorded = torch.cat([call.weights for call in seen[name]], dim=-2)
            torch.testing.assert_close(recorded, weights[:, layer].detach(), rtol=0, atol=1e-12)


@every
def test_saved_and_loaded_it_is_the_same_bit_for_bit(row: Row, tmp_path) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        model, (source, lengths, target) = row.build(dtype), example()
        sizes = {"source_vocabulary": model.source.table.num_embeddings, "target_vocabulary": 11}
        save_model(model, row.spec, tmp_path / str(dtype), **sizes)
        torch.manual_seed(1)
        loaded, config = load_model(tmp_path / str(dtype))
        assert torch.equal(torch.rand(3), torch.rand(3, generator=torch.Generator().manual_seed(1)))
        assert config.model == row.spec
        assert not loaded.training
        theirs = dict(loaded.named_parameters())
        for name, parameter in model.named_parameters():
            assert torch.equal(theirs[name], parameter)
            assert theirs[name].dtype == dtype
        assert len(theirs) == len(list(model.parameters()))
        assert torch.equal(loaded(source, lengths, target), model(source, lengths, target))


@every
def test_half_precision_is_near(row: Row) -> None:
    (source, lengths, target), exact = example(), row.build(torch.float32)
    logits = exact(source, lengths, target)
    with half_precision_lstm(), torch.autocast("cpu", torch.bfloat16):
        mixed = exact(source, lengths, target)
    mixed.float().square().sum().backward()
    with half_precision_lstm():
        half = row.build(torch.bfloat16)(source, lengths, target)
    assert half.dtype == torch.bfloat16
    for found in (mixed, half):
        torch.testing.assert_close(found.float(), logits, rtol=0.1, atol=0.12)


@every
def test_greedy_is_what_the_training_pass_says(row: Row) -> None:
    model, (source, lengths, _) = row.build(), example()
    outputs = greedy(model, source, lengths, start=2, end=3, max_length=4, weights=True)
    for sentence, output in enumerate(outputs):
        said = torch.tensor([[2, *output.tokens]])
        length = int(lengths[sentence])
        logits, weights = model(source[sentence : sentence + 1, :length], None, said[:, :-1], weights=True)
        assert logits.argmax(-1).tolist() == [list(output.tokens)]
        expected = logits.log_softmax(-1).gather(-1, said[:, 1:, None]).flatten()
        torch.testing.assert_close(torch.tensor(output.log_probabilities, dtype=torch.float64), expected)
        if weights is not None:
            torch.testing.assert_close(output.weights, weights[0], rtol=0, atol=1e-12)
    plain = greedy(model, source, lengths, start=2, end=3, max_length=4)
    assert [one.tokens for one in plain] == [one.tokens for one in outputs]
    assert plain[0].weights is None


@presets
def test_an_empty_source_is_read_without_complaint(row: Row) -> None:
    model, (source, _, target) = row.build(), example()
    lengths = torch.tensor([6, 0, 5, 1])
    logits = model(source, lengths, target)
    assert logits.isfinite().all()
    logits.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.usefixtures("unchecked")
@presets
def test_bad_input_is_named(row: Row) -> None:
    model, (source, lengths, target) = row.build(), example()
    memory = model.encode(source, lengths)
    with pytest.raises(ArgumentError, match=r"`tokens` must be from 0 to 10; received numbers from 0 to 11\. Were"):
        model.step(torch.tensor([[0], [11], [3], [4]]), model.start(memory), memory)
    with pytest.raises(ArgumentError, match=r"`tokens` must have shape \(rows, tokens\) with at least one token; rec"):
        model.step(target[:, :0], model.start(memory), memory)
    with pytest.raises(
        ArgumentError, match=r"`target` must have one row for each of the 4 rows of `source`; received 3"
    ):
        model(source, lengths, target[:3])
    with pytest.raises(ArgumentError, match=r"`lengths` must be from 0 to .* 6; received numbers from 1 to 7\."):
        model(source, torch.tensor([7, 1, 2, 3]), target)
    with pytest.raises(ArgumentError, match=r"`lengths` must have one number per row, \(4,\); received \(3,\)\."):
        model(source, torch.tensor([6, 1, 2]), target)
    with pytest.raises(ArgumentTypeError, match=r"`lengths` must be a tensor of integers; received torch.float32\."):
        model(source, torch.ones(4), target)
    with pytest.raises(ArgumentTypeError, match=r"`tokens` must be a tensor of integers; received torch.float32\."):
        model(source.float(), lengths, target)


@pytest.mark.gpu
@presets
def test_on_a_gpu_it_is_the_same(row: Row) -> None:
    model, (source, lengths, target) = row.build(torch.float32), example()
    expected = model(source, lengths, target, weights=True)
    outputs = greedy(model, source, lengths, start=2, end=3, max_length=4)
    model = model.cuda()
    found = model(source.cuda(), lengths.cuda(), target.cuda(), weights=True)
    torch.testing.assert_close(found.logits.cpu(), expected.logits, rtol=2e-3, atol=2e-3)  # TF32 in cuDNN
    if expected.weights is not None:
        torch.testing.assert_close(found.weights.cpu(), expected.weights, rtol=2e-3, atol=2e-3)
    model.train()(source.cuda(), lengths.cuda(), target.cuda()).square().sum().backward()  # cuDNN trains in this mode
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    model.eval()
    assert len(greedy(model, source.cuda(), lengths.cuda(), start=2, end=3, max_length=4)) == len(outputs)
