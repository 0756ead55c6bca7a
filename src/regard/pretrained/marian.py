"""A Marian folder of `transformers` (`MarianMTModel`, such as those of OPUS-MT) as a model of ours: the same numbers.

Read are config.json, model.safetensors, source.spm, target.spm and vocab.json; nothing of it is run, and `transformers`
is not needed. Tokens are numbered as ours are (`marian_tokenizers`): `<s>` is the token that Marian starts from, mostly
its `<pad>`. Neither that nor `<pad>` is ever output, as the folders' `bad_words_ids` ask.
"""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard import __version__
from regard.config.checks import LAYERS, SIZES
from regard.config.model import SavedModel, Tie, TransformerSpec
from regard.data.text.special import PAD, START
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import Untrained
from regard.errors import ArgumentError, DataError
from regard.files import Entry, read_json
from regard.layers.position.sinusoidal import sinusoids
from regard.models.folder import (
    CONFIG,
    PARAMETERS,
    check_finite,
    list_some,
    open_tensors,
    read_table,
    save_model,
    saved_tensors,
)
from regard.models.sequence.build import Model, TranslationModel, build_model
from regard.pretrained.marian_tokenizers import MarianIds, Side, pair_of, read_sides

NEVER = -1e9
"""The bias of tokens that are never output."""
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
_MOST_TOKENS = 1 << 20
_PARTS = {
    "attention": "self_attn",
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    "attention_residual.norm": "self_attn_layer_norm",
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
    "feed_forward.expand": "fc1",
    "feed_forward.contract": "fc2",
}
_MAPS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}


class TranslatorParts(NamedTuple):
    """All that a translator is made of."""

    model: TranslationModel
    config: SavedModel
    tokenizers: TokenizerPair
    untrained: Untrained

    def save(self, folder: Path) -> None:
        """Write it as a model folder of ours."""
        self.untrained.save(_made(folder))
        self.tokenizers.save(folder)
        save_model(
            self.model,
            self.config.model,
            folder,
            source_vocabulary=self.config.source_vocabulary,
            target_vocabulary=self.config.target_vocabulary,
        )


def is_marian(folder: str | Path) -> bool:
    """Say whether a folder holds a Marian model of `transformers`."""
    try:
        return read_table(folder).get("model_type") == "marian"
    except DataError:
        return False


def read_marian(folder: str | Path, *, device: torch.device | str = "cpu") -> TranslatorParts:
    """Read a Marian folder."""
    folder = Path(folder)
    settings = read_json(folder / CONFIG)
    spec, ids, sizes = _read_settings(settings)
    if not (folder / PARAMETERS).is_file():
        raise DataError(
            f"{folder} must hold {PARAMETERS}; received a folder without. Only safetensors are read: save the model "
            "once more by save_pretrained of transformers, or name a revision that has it."
        )
    source, target = read_sides(folder, ids, sizes)
    with open_tensors(folder / PARAMETERS) as file:
        tensors = _Tensors(file, folder / PARAMETERS, sizes, spec.size, scaled=settings["scale_embedding"].flag())
        spec = tensors.tied(spec)
        model = tensors.build(spec, source, target)
    check_finite(saved_tensors(model), folder / PARAMETERS)
    saved = SavedModel(
        version=__version__,
        model=spec,
        source_vocabulary=source.tokenizer.size,
        target_vocabulary=target.tokenizer.size,
    )
    return TranslatorParts(model.to(device).eval(), saved, *pair_of(source, target))


def marian_name(name: str) -> str:
    """Give the name that Marian has for a parameter of a block.

    >>> marian_name("decoder.1.cross_attention.query.weight")
    'model.decoder.layers.1.encoder_attn.q_proj.weight'
    """
    side, number, *parts, kind = name.split(".")
    theirs = f"{_PARTS[parts[0]]}.{_MAPS[parts[-1]]}" if parts[-1] in _MAPS else _PARTS[".".join(parts)]
    return f"model.{side}.layers.{number}.{theirs}.{kind}"


class _Tensors:
    """The tensors of model.safetensors, by our names and in our order of tokens."""

    def __init__(self, file: Any, path: Path, sizes: tuple[int, int], size: int, *, scaled: bool) -> None:
        self.file, self.path, self.sizes, self.size, self.scaled = file, path, sizes, size, scaled
        self.names = set(file.keys())
        shared = "model.shared.weight"
        separate = [f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")]
        self.joint = shared in self.names or separate[0] not in self.names
        self.source, self.target = (shared, shared) if self.joint else (separate[0], separate[1])
        self.output = "lm_head.weight" if "lm_head.weight" in self.names else self.target
        self._check_positions()

    def tied(self, spec: TransformerSpec) -> TransformerSpec:
        """Say which tables are one. Without `scale_embedding` ours are divided by the factor, so the output is not."""
        same_output = self.scaled and (
            self.output == self.target or torch.equal(self._read(self.output, 1), self._read(self.target, 1))
        )
        tie: dict[tuple[bool, bool], Tie] = {
            (True, True): "all",
            (True, False): "embeddings",
            (False, True): "output",
            (False, False): "none",
        }
        return TransformerSpec(**{**vars(spec), "tie": tie[self.joint, same_output]})

    @torch.no_grad()
    def build(self, spec: TransformerSpec, source: Side, target: Side) -> Model:
        """Build the model, after what it needs has been found in the file, and fill it."""
        sizes = {"source_vocabulary": len(source.rows), "target_vocabulary": len(target.rows)}
        with torch.random.fork_rng(), torch.device("meta"):
            planned = saved_tensors(build_model(spec, **sizes))
        for name, tensor in planned.items():
            if name.startswith(("encoder.", "decoder.")):
                self._check(marian_name(name), tuple(tensor.shape))
        with torch.random.fork_rng():
            model = build_model(spec, **sizes)
        for name, tensor in saved_tensors(model).items():
            tensor.data = self._find(name, source, target)
        return model

    def _find(self, name: str, source: Side, target: Side) -> Tensor:
        factor = 1.0 if self.scaled else self.size**-0.5
        match name:
            case "source.table.weight":
                return self._read(self.source, 0)[source.rows] * factor
            case "target.table.weight":
                return self._read(self.target, 1)[target.rows] * factor
            case "output.weight":
                return self._read(self.output, 1)[target.rows]
            case "output.bias":
                self._check("final_logits_bias", (1, self.sizes[1]))
                bias = self.file.get_tensor("final_logits_bias")[0].float()[target.rows]
                bias[[PAD, START, *target.outside]] = NEVER
                return bias  # type: ignore[no-any-return]
        return self.file.get_tensor(marian_name(name)).float().clone()  # type: ignore[no-any-return]

    def _read(self, name: str, side: int) -> Tensor:
        self._check(name, (self.sizes[side], self.size))
        return self.file.get_tensor(name).float()  # type: ignore[no-any-return]

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        if name not in self.names:
            raise DataError(f"{self.path} must hold {name}; received {list_some(sorted(self.names))}.")
        stored = self.file.get_slice(name)
        if tuple(stored.get_shape()) != shape or stored.get_dtype() not in ("F32", "F16", "BF16"):
            raise DataError(
                f"{self.path}: {name} must have the shape {shape} that {CONFIG} asks for, in F32, F16 or BF16; "
                f"received {tuple(stored.get_shape())} in {stored.get_dtype()}."
            )

    def _check_positions(self) -> None:
        """Raise where a file brings positions of its own that are not the sinusoids."""
        for name in (f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")):
            if name not in self.names:
                continue
            self._check(name, (self.file.get_slice(name).get_shape()[0], self.size))
            stored = self.file.get_tensor(name).float()
            waves = sinusoids(torch.arange(len(stored)), self.size, order="halves", dtype=torch.float32)
            if not torch.allclose(stored, waves, atol=1e-2):
                raise DataError(f"{self.path}: {name} must hold the sinusoids of Marian; received other positions.")


def _read_settings(settings: Entry) -> tuple[TransformerSpec, MarianIds, tuple[int, int]]:
    """Read what config.json says of the model, its special tokens, and the rows of its tables."""
    if settings["model_type"].text() != "marian":
        raise settings["model_type"].refuse('must be "marian"')
    size = settings["d_model"].whole(least=2, most=SIZES)
    rows = settings["vocab_size"].whole(least=4, most=_MOST_TOKENS)
    entry = settings.get("decoder_vocab_size")
    target_rows = rows if entry.value is None else entry.whole(least=4, most=_MOST_TOKENS)
    heads, hidden = (_same(settings, name) for name in ("attention_heads", "ffn_dim"))
    activation = settings["activation_function"]
    if activation.text() not in _ACTIVATIONS:
        raise activation.refuse(f"must be {', '.join(_ACTIVATIONS)}")
    try:
        spec = TransformerSpec(
            size=size,
            num_encoder_layers=settings["encoder_layers"].whole(least=1, most=LAYERS),
            num_decoder_layers=settings["decoder_layers"].whole(least=1, most=LAYERS),
            num_heads=heads,
            feed_forward_size=hidden,
            activation=_ACTIVATIONS[activation.text()],  # type: ignore[arg-type]
            norm="post",
            position="sinusoidal-halves",
        )
    except ArgumentError as error:
        raise DataError(f"{settings.path}: {error}") from error
    most = min(rows, target_rows) - 1
    ids = [settings[f"{name}_token_id"].whole(most=most) for name in ("pad", "eos", "decoder_start")]
    return spec, MarianIds(*ids), (rows, target_rows)


def _same(settings: Entry, name: str) -> int:
    """Read a number that encoder and decoder must share."""
    first, second = (settings[f"{side}_{name}"].whole(least=1, most=SIZES) for side in ("encoder", "decoder"))
    if first != second:
        raise settings[f"decoder_{name}"].refuse(f"must be that of the encoder, {first}")
    return first


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
