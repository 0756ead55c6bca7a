"""What a model's settings refuse, and what the builder makes of them."""

import re
from dataclasses import FrozenInstanceError, fields, replace
from typing import get_args

import pytest
import torch

from regard.config.attention import (
    AdditiveSpec,
    AttentionSpec,
    CosineSpec,
    DotSpec,
    FixedVectorSpec,
    GaussianSpec,
    LocalSpec,
    LuongSpec,
    MultiHeadSpec,
)
from regard.config.model import RecurrentSpec, SavedModel, TransformerSpec
from regard.config.read import read_settings
from regard.config.show import field_help, to_table
from regard.errors import ArgumentError
from regard.models import build_model, count_parameters
from regard.tasks.translation.presets import PRESETS, Scale, preset, suited_scale

INITIAL = FixedVectorSpec(context="initial")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RecurrentSpec(hidden_size=0), "`hidden_size` must be at least 1; received 0."),
        (lambda: RecurrentSpec(dropout=1.0), "`dropout` must be from 0 to below 1; received 1."),
        (lambda: RecurrentSpec(cell="gur"), '`cell` must be one of rnn, lstm, gru; received "gur". Did you mean gru?'),
        (lambda: AdditiveSpec(hidden_size=0), "`hidden_size` must be at least 1; received 0."),
        (
            lambda: AdditiveSpec(activation="identiti"),
            '`activation` must be one of tanh, identity; received "identiti". Did you mean identity?',
        ),
        (
            lambda: RecurrentSpec(attention=LuongSpec(score="scaled-dot"), encoder_size=100, wiring="current"),
            '`attention` "luong" compares vectors of equal width: `hidden_size` must be that of the memory, 200; '
            'received 256. Attention "bilinear" or "additive" takes unequal widths.',
        ),
        (lambda: GaussianSpec(bandwidth=-1.0), "`bandwidth` must be above 0; received -1."),
        (lambda: CosineSpec(temperature=0.0), "`temperature` must be above 0; received 0."),
        (lambda: LocalSpec(half_width=0.0), "`half_width` must be above 0; received 0."),
        (lambda: LuongSpec(score="dott"), "`score` must be one of dot, scaled-dot, general, concat, location"),
        (lambda: MultiHeadSpec(num_heads=0), "`num_heads` must be at least 1; received 0."),
        (
            lambda: FixedVectorSpec(context="always"),
            '`context` must be one of initial, every-step; received "always".',
        ),
        (
            lambda: RecurrentSpec(start="copy"),
            '`start` must be "map" where encoder and decoder differ in width or the source is read in both directions; '
            'received "copy" with direction "both" and widths 256 and 256.',
        ),
        (
            lambda: RecurrentSpec(attention=DotSpec(), encoder_size=100, output="linear"),
            '`attention` "dot" compares vectors of equal width: `hidden_size` must be that of the memory, 200; '
            'received 256. Attention "bilinear" or "additive" takes unequal widths.',
        ),
        (
            lambda: RecurrentSpec(attention=MultiHeadSpec(num_heads=3), hidden_size=4),
            "`num_heads` must divide `hidden_size`, 4; received 3. Choose one of 1, 2, 4.",
        ),
        (
            lambda: RecurrentSpec(attention=LuongSpec()),
            '`wiring` must be "current" for attention "luong", whose attentional vector is made of the state after the '
            'step; received "previous".',
        ),
        (
            lambda: RecurrentSpec(num_layers=2),
            '`num_layers` must be 1 for wiring "previous"; received 2.',
        ),
        (
            lambda: RecurrentSpec(input_feeding=True),
            '`input_feeding` must be false for wiring "previous", where every gate reads the context; received true.',
        ),
        (
            lambda: RecurrentSpec(attention=INITIAL, output="state", input_feeding=True),
            '`input_feeding` must be false for attention "fixed"; received true.',
        ),
        (
            lambda: RecurrentSpec(attention=INITIAL),
            '`output` must be state for attention "fixed" with context "initial"; received "maxout".',
        ),
        (
            lambda: RecurrentSpec(attention=FixedVectorSpec(), output="attentional"),
            '`output` must be maxout or linear or joined or state for attention "fixed"; received "attentional".',
        ),
        (
            lambda: RecurrentSpec(wiring="current", output="state"),
            '`output` must be maxout or linear or joined or attentional for wiring "current"; received "state".',
        ),
        (
            lambda: RecurrentSpec(wiring="current", input_feeding=True),
            '`output` must be attentional for input feeding; received "maxout".',
        ),
        (
            lambda: RecurrentSpec(wiring="current", attention=LocalSpec()),
            '`output` must be attentional for attention "local"; received "maxout".',
        ),
        (
            lambda: RecurrentSpec(tie="output", maxout_size=100),
            '`embedding_size` must be the width of what output "maxout" reads, 100, for tie "output"; received 256.',
        ),
        (
            lambda: TransformerSpec(size=10),
            "`num_heads` must divide `size`, 10; received 4. Choose one of 1, 2, 5, 10.",
        ),
        (
            lambda: TransformerSpec(num_key_value_heads=3),
            "`num_key_value_heads` must divide `num_heads`, 4; received 3. Choose one of 1, 2, 4.",
        ),
        (
            lambda: TransformerSpec(size=9, num_heads=3),
            '`size` must be even for position "sinusoidal"; received 9.',
        ),
        (
            lambda: TransformerSpec(size=12, num_heads=4, position="rotary"),
            '`size // num_heads` must be even for position "rotary"; received 3.',
        ),
        (
            lambda: TransformerSpec(position="relative", score="additive"),
            '`score` must be scaled-dot, dot or bilinear for position "relative"; received "additive".',
        ),
        (lambda: TransformerSpec(reach=-1), "`reach` must be at least 0; received -1."),
    ],
)
def test_what_does_not_go_together_is_refused(make, message) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        make()


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        RecurrentSpec().hidden_size = 3


@pytest.mark.parametrize("kind", [RecurrentSpec, TransformerSpec, SavedModel, *get_args(AttentionSpec)])
def test_every_setting_has_its_help(kind) -> None:
    assert set(field_help(kind)) == {field.name for field in fields(kind)} - {"kind"}


@pytest.mark.parametrize("name", PRESETS)
def test_settings_are_read_back_as_they_were_written(name: str) -> None:
    saved = SavedModel(version="0", model=preset(name), source_vocabulary=5, target_vocabulary=6)
    assert read_settings(SavedModel, to_table(saved)) == saved


def test_an_unknown_key_is_named() -> None:
    table = to_table(SavedModel(version="0", model=preset("bahdanau"), source_vocabulary=5, target_vocabulary=6))
    table["model"]["attention"]["hiden_size"] = 3
    with pytest.raises(ArgumentError, match=r"model\.attention\.hiden_size: unknown key\. Did you mean hidden_size\?"):
        read_settings(SavedModel, table)


def test_widths_follow_the_wiring() -> None:
    assert RecurrentSpec().memory_size == 512
    assert RecurrentSpec(attention=DotSpec(), output="linear").encoder_width == 128
    assert RecurrentSpec(attention=LuongSpec(score="dot"), wiring="current", output="attentional").memory_size == 256
    assert RecurrentSpec(encoder_size=100).memory_size == 200
    assert RecurrentSpec(direction="backward").memory_size == 256


def test_presets_grow_with_the_data() -> None:
    sizes = [preset("bahdanau", tokens=tokens).hidden_size for tokens in (10**5, 10**7, 10**8)]
    assert sizes == [256, 512, 1000]
    assert preset("bahdanau", tokens=300_000, vocabulary=500).hidden_size == 128
    assert suited_scale(10**9, 30_000) == Scale(620, 1000, 4, 0.2)  # the papers' sizes
    luong = preset("luong-dot", tokens=10**9)
    assert (luong.num_layers, luong.hidden_size, luong.embedding_size, luong.initialize) == (4, 1000, 1000, "uniform")
    assert preset("bahdanau", tokens=10**9).maxout_size == 500
    assert preset("transformer-base", tokens=10**9) == TransformerSpec(
        size=512,
        num_encoder_layers=6,
        num_decoder_layers=6,
        num_heads=8,
        feed_forward_size=2048,
        norm="post",
        dropout=0.1,
    )


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ArgumentError, match=r'received "luong-genral"\. Did you mean luong-general\?'):
        preset("luong-genral")


def test_the_papers_transformer_has_the_papers_size() -> None:
    """Table 3 says 65 million, with a shared vocabulary of about 37,000."""
    spec = replace(preset("transformer-base"), tie="all")
    with torch.device("meta"):
        model = build_model(spec, source_vocabulary=37_000, target_vocabulary=37_000)
    assert count_parameters(model) == pytest.approx(63e6, rel=0.01)


@pytest.mark.parametrize("tie", ["none", "embeddings", "output", "all"])
def test_tied_matrices_are_one(tie: str) -> None:
    spec = TransformerSpec(size=8, feed_forward_size=8, tie=tie)
    model = build_model(spec, source_vocabulary=9, target_vocabulary=9)
    source, target, output = model.source.table.weight, model.target.table.weight, model.output.weight
    assert (source is target) == (tie in ("embeddings", "all"))
    assert (output is target) == (tie in ("output", "all"))
    assert output.std().item() == pytest.approx(8**-0.5, rel=0.4)


def test_two_vocabularies_cannot_be_tied() -> None:
    for tie in ("embeddings", "all"):
        message = f'received "{tie}" with 9 and 10 tokens. A joint tokenizer gives both sides one vocabulary.'
        with pytest.raises(ArgumentError, match=re.escape(message)):
            build_model(TransformerSpec(size=8, tie=tie), source_vocabulary=9, target_vocabulary=10)


def test_dropout_reaches_where_the_papers_have_it() -> None:
    spec = TransformerSpec(size=8, feed_forward_size=8, dropout=0.25, feed_forward_dropout=0.5, attention_dropout=0.125)
    model = build_model(spec, source_vocabulary=9, target_vocabulary=9)
    block = model.decoder[0]
    assert block.cross_attention_residual.dropout.p == 0.25
    assert block.feed_forward.dropout.p == 0.5
    assert block.self_attention.attend.dropout == 0.125
    assert model.source.dropout.p == 0.25
    spec = RecurrentSpec(dropout=0.25, dropout_mask="shared", word_dropout=0.5, attention_dropout=0.125)
    model = build_model(spec, source_vocabulary=9, target_vocabulary=9)
    assert (model.dropout.p, model.dropout.shared, model.source.word_dropout) == (0.25, True, 0.5)
    assert model.decoder.attention.attend.dropout == 0.125
    tokens = torch.zeros(2, 3, dtype=torch.long)
    assert not torch.equal(model(tokens, None, tokens), model(tokens, None, tokens))
    model.eval()
    assert torch.equal(model(tokens, None, tokens), model(tokens, None, tokens))
