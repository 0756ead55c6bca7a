"""A Transformer as CTranslate2's specification: the same parameters, under its names and in its layout.

CTranslate2 has the scaled dot product, softmax, and positions that are added to embeddings. Anything else is refused
here, with the setting that is in the way.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.config.model import ModelSpec, SavedModel, TransformerSpec
from regard.errors import ArgumentError, MissingExtraError
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.position.learned import LearnedPositions
from regard.layers.position.sinusoidal import SinusoidalPositions
from regard.layers.transformer.feed_forward import FeedForward
from regard.layers.transformer.residual import Residual
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.transformer import TransformerModel

POSITIONS = 4096
"""Positions that are written out, of those that know no longest length."""
_ADDED = ("sinusoidal", "sinusoidal-halves", "learned", "none")


def require_ctranslate2() -> Any:
    """Import CTranslate2, or say how to install it."""
    try:
        import ctranslate2
        import ctranslate2.specs
    except ImportError as error:
        raise MissingExtraError(
            "This needs the package ctranslate2, which is not installed. Install it: pip install 'regard[ctranslate2]'."
        ) from error
    return ctranslate2


def check_fits(spec: ModelSpec) -> TransformerSpec:
    """Raise where CTranslate2 has no such model."""
    if not isinstance(spec, TransformerSpec):
        raise ArgumentError(
            f"`model` must be a Transformer for CTranslate2; received a model of the kind {spec.kind}. Use "
            '`to="onnx"`, which takes recurrent models too.'
        )
    wanted = {
        "position": (spec.position, _ADDED),
        "score": (spec.score, ("scaled-dot",)),
        "normalize": (spec.normalize, ("softmax",)),
    }
    for name, (value, known) in wanted.items():
        if value not in known:
            raise ArgumentError(
                f'`model.{name}` must be {" or ".join(known)} for CTranslate2; received "{value}". Use `to="onnx"`.'
            )
    return spec


def make_spec(model: TransformerModel, config: SavedModel) -> Any:
    """Fill CTranslate2's specification; vocabularies are still to be registered."""
    spec = check_fits(config.model)
    specs = require_ctranslate2().specs
    final = isinstance(model.decoder_norm, nn.LayerNorm)
    activation = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH", "swiglu": "SWISH"}[spec.activation]
    result = specs.TransformerSpec.from_config(
        (spec.num_encoder_layers, spec.num_decoder_layers),
        spec.num_heads,
        pre_norm=spec.norm == "pre" or final,  # which makes the final norms
        no_final_norm=not final,
        activation=getattr(specs.Activation, activation),
        alignment_layer=max(0, spec.num_decoder_layers - 2),  # that of `Reading`: the last but one, or the only one
        alignment_heads=1 if config.guided_head == 0 else spec.num_heads,  # the mean of so many, from the first on
        ffn_glu=spec.activation == "swiglu",
    )
    for side in (result.encoder, result.decoder):
        side.pre_norm = spec.norm == "pre"
    _set_embedding(result.encoder.embeddings[0], result.encoder, model.source)
    _set_embedding(result.decoder.embeddings, result.decoder, model.target)
    ours: Any
    for theirs, ours in zip(result.encoder.layer, model.encoder, strict=True):
        _set_attention(theirs.self_attention, ours.attention, ours.attention_residual, own=True)
        _set_feed_forward(theirs.ffn, ours.feed_forward, ours.feed_forward_residual)
    for theirs, ours in zip(result.decoder.layer, model.decoder, strict=True):
        _set_attention(theirs.self_attention, ours.self_attention, ours.self_attention_residual, own=True)
        _set_attention(theirs.attention, ours.cross_attention, ours.cross_attention_residual, own=False)
        _set_feed_forward(theirs.ffn, ours.feed_forward, ours.feed_forward_residual)
    if final:
        _set_norm(result.encoder.layer_norm, model.encoder_norm)
        _set_norm(result.decoder.layer_norm, model.decoder_norm)
    _set_linear(result.decoder.projection, [model.output.weight], [model.output.bias])
    return result


def write_spec(spec: Any, folder: Path, *, source: list[str], target: list[str], quantization: str) -> None:
    """Write model.bin, config.json and the vocabularies."""
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def _set_embedding(theirs: Any, side: Any, ours: TokenEmbedding) -> None:
    theirs.weight = _array(ours.table.weight)
    side.scale_embeddings = ours.scale is not None
    match ours.positions:
        case SinusoidalPositions() as waves:
            table = waves.table(POSITIONS, dtype=torch.float32)
        case LearnedPositions() as learned:
            table = learned.table
        case _:
            table = torch.zeros(POSITIONS, ours.table.embedding_dim)
    side.position_encodings.encodings = _array(table)


def _set_attention(theirs: Any, ours: MultiHeadAttention, residual: Residual, *, own: bool) -> None:
    maps = [ours.query, *(_of_all_heads(ours, linear) for linear in (ours.key, ours.value))]
    weights, biases = [item.weight for item in maps], [item.bias for item in maps]
    if own:
        _set_linear(theirs.linear[0], weights, biases)
    else:
        _set_linear(theirs.linear[0], weights[:1], biases[:1])
        _set_linear(theirs.linear[1], weights[1:], biases[1:])
    _set_linear(theirs.linear[-1], [ours.output.weight], [ours.output.bias])
    _set_norm(theirs.layer_norm, residual.norm)


def _of_all_heads(attention: MultiHeadAttention, linear: nn.Linear) -> nn.Linear:
    """Repeat the rows of key-value heads that several query heads share."""
    group = attention.num_heads // attention.num_key_value_heads
    if group == 1:
        return linear
    whole = nn.Linear(linear.in_features, linear.out_features * group, bias=linear.bias is not None)
    for name, parameter in linear.named_parameters():
        heads: Tensor = parameter.detach().unflatten(0, (-1, attention.head_size))
        getattr(whole, name).data = heads.repeat_interleave(group, dim=0).flatten(0, 1)
    return whole


def _set_feed_forward(theirs: Any, ours: FeedForward, residual: Residual) -> None:
    _set_linear(theirs.linear_0, [ours.expand.weight], [ours.expand.bias])
    if ours.gate is not None:
        _set_linear(theirs.linear_0_noact, [ours.gate.weight], [ours.gate.bias])
    _set_linear(theirs.linear_1, [ours.contract.weight], [ours.contract.bias])
    _set_norm(theirs.layer_norm, residual.norm)


def _set_linear(theirs: Any, weights: Sequence[Tensor], biases: Sequence[Tensor | None]) -> None:
    theirs.weight = np.concatenate([_array(weight) for weight in weights]) if len(weights) > 1 else _array(weights[0])
    known = [_array(bias) for bias in biases if bias is not None]
    if known:
        theirs.bias = np.concatenate(known)


def _set_norm(theirs: Any, ours: nn.Module) -> None:
    assert isinstance(ours, nn.LayerNorm)
    theirs.gamma, theirs.beta = _array(ours.weight), _array(ours.bias)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    # A copy: CTranslate2 quantizes in place.
    return tensor.detach().cpu().float().numpy().copy()
