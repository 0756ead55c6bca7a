"""Named models, in sizes that suit the data."""

from collections.abc import Callable
from typing import NamedTuple

from regard.config.attention import (
    AdditiveSpec,
    DotSpec,
    FixedVectorSpec,
    GaussianSpec,
    LocalSpec,
    LuongSpec,
)
from regard.config.model import ModelSpec, NetworkSpec, RecurrentSpec, StatisticalSpec, TransformerSpec
from regard.tasks.task import find_preset


class Scale(NamedTuple):
    """Sizes of a recurrent model, and how much to drop."""

    embedding_size: int
    hidden_size: int
    num_layers: int
    dropout: float


def suited_scale(tokens: int, vocabulary: int) -> Scale:
    """Choose sizes by the number of target tokens to train on and the size of the vocabulary.

    A closed vocabulary, as a grammar or a toy task has it, needs little; the last row is the papers'.

    >>> suited_scale(400_000, vocabulary=10_000).hidden_size
    256
    """
    if vocabulary < 2_000 and tokens < 2_000_000:
        return Scale(128, 128, 1, 0.1)
    if tokens < 3_000_000:
        return Scale(256, 256, 1, 0.3)
    if tokens < 30_000_000:
        return Scale(512, 512, 2, 0.2)
    return Scale(620, 1000, 4, 0.2)


def preset(name: str, *, tokens: int = 1_000_000, vocabulary: int = 10_000) -> NetworkSpec:
    """Give a named network for so many target tokens of training text and so many different ones.

    Recurrent presets grow with the data; a Transformer's size is in its name, and only its dropout follows the data.

    >>> preset("bahdanau", tokens=400_000).hidden_size
    256
    >>> preset("bahdano")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `preset` must be the name of a model; received "bahdano". Did you mean bahdanau?
    """
    return find_preset(name, PRESETS, of="a model")(tokens, vocabulary)


def named_model(name: str, *, tokens: int = 1_000_000, vocabulary: int = 10_000) -> ModelSpec:
    """Give any named translator: a network, or the one that counts.

    >>> named_model("statistical").kind
    'statistical'
    """
    if name in COUNTING:
        return COUNTING[name]
    find_preset(name, {**PRESETS, **COUNTING}, of="a model")  # the error names the one that counts too
    return preset(name, tokens=tokens, vocabulary=vocabulary)


def _fixed(tokens: int, vocabulary: int) -> RecurrentSpec:
    """One vector, fed at every step: Cho et al. (2014), the baseline of Bahdanau et al. (2015)."""
    embedding_size, hidden_size, _, dropout = suited_scale(tokens, vocabulary)
    return RecurrentSpec(
        cell="gru",
        direction="forward",
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        attention=FixedVectorSpec(context="every-step"),
        output="maxout",
        dropout=dropout,
    )


def _dot(tokens: int, vocabulary: int) -> RecurrentSpec:
    """The lecture's plain one: no attention parameters, output from [a; s]."""
    embedding_size, hidden_size, _, dropout = suited_scale(tokens, vocabulary)
    return RecurrentSpec(
        cell="gru",
        direction="both",
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        attention=DotSpec(),
        wiring="current",
        output="joined",
        dropout=dropout,
    )


def _bahdanau(tokens: int, vocabulary: int) -> RecurrentSpec:
    """RNNsearch of Bahdanau et al. (2015)."""
    embedding_size, hidden_size, _, dropout = suited_scale(tokens, vocabulary)
    return RecurrentSpec(
        cell="gru",
        direction="both",
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        attention=AdditiveSpec(),
        wiring="previous",
        output="maxout",
        maxout_size=500 if hidden_size == 1000 else None,
        dropout=dropout,
    )


def _gaussian(tokens: int, vocabulary: int) -> RecurrentSpec:
    """Kernel regression as attention: near memories count."""
    embedding_size, hidden_size, _, dropout = suited_scale(tokens, vocabulary)
    return RecurrentSpec(
        cell="gru",
        direction="both",
        embedding_size=embedding_size,
        hidden_size=hidden_size,
        attention=GaussianSpec(),
        wiring="current",
        output="attentional",
        dropout=dropout,
    )


def _luong(attention: LuongSpec | LocalSpec) -> Callable[[int, int], RecurrentSpec]:
    """The models of Luong et al. (2015): stacked LSTMs, reversed source, input feeding.

    Their first parameters, from U(−0.1, 0.1), suit 1,000 units; for fewer they are too small, and Glorot's are taken.
    """

    def make(tokens: int, vocabulary: int) -> RecurrentSpec:
        embedding_size, hidden_size, num_layers, dropout = suited_scale(tokens, vocabulary)
        return RecurrentSpec(
            cell="lstm",
            direction="backward",
            embedding_size=hidden_size if hidden_size == 1000 else embedding_size,
            hidden_size=hidden_size,
            num_layers=num_layers,
            attention=attention,
            wiring="current",
            input_feeding=True,
            start="copy",
            output="attentional",
            initialize="uniform" if hidden_size == 1000 else "glorot",
            dropout=dropout,
        )

    return make


def _transformer_tiny(tokens: int, vocabulary: int) -> TransformerSpec:
    """4 × 128, as Wu et al. (2021) have it for Multi30k."""
    small = vocabulary < 2_000
    return TransformerSpec(
        size=128,
        num_encoder_layers=4,
        num_decoder_layers=4,
        num_heads=4,
        feed_forward_size=256,
        dropout=0.1 if small else _transformer_dropout(tokens),
    )


def _transformer_small(tokens: int, vocabulary: int) -> TransformerSpec:
    """6 × 256, for some ten million words."""
    return TransformerSpec(
        size=256,
        num_encoder_layers=6,
        num_decoder_layers=6,
        num_heads=4,
        feed_forward_size=1024,
        dropout=_transformer_dropout(tokens),
    )


def _transformer_base(tokens: int, vocabulary: int) -> TransformerSpec:
    """6 × 512, post-norm: the base model of Vaswani et al. (2017), table 3."""
    return TransformerSpec(
        size=512,
        num_encoder_layers=6,
        num_decoder_layers=6,
        num_heads=8,
        feed_forward_size=2048,
        norm="post",
        dropout=_transformer_dropout(tokens),
    )


def _transformer_dropout(tokens: int) -> float:
    return 0.3 if tokens < 10_000_000 else 0.1


PRESETS: dict[str, Callable[[int, int], NetworkSpec]] = {
    "fixed": _fixed,
    "dot": _dot,
    "bahdanau": _bahdanau,
    "luong-dot": _luong(LuongSpec(score="dot")),
    "luong-scaled-dot": _luong(LuongSpec(score="scaled-dot")),
    "luong-general": _luong(LuongSpec(score="general")),
    "luong-concat": _luong(LuongSpec(score="concat")),
    "luong-location": _luong(LuongSpec(score="location")),
    "luong-local-m": _luong(LocalSpec(alignment="monotonic", score="general")),
    "luong-local-p": _luong(LocalSpec(alignment="predictive", score="general")),
    "gaussian": _gaussian,
    "transformer-tiny": _transformer_tiny,
    "transformer-small": _transformer_small,
    "transformer-base": _transformer_base,
}

COUNTING: dict[str, ModelSpec] = {"statistical": StatisticalSpec()}
"""Translators that are counted, not trained by gradients."""
