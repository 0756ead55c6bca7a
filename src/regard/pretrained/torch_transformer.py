"""The state dictionary of a model around `nn.Transformer` as a model of ours that gives the same numbers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from regard import __version__
from regard.config.model import SavedModel, Tie, TransformerSpec
from regard.errors import DataError
from regard.models.folder import LoadedModel, check_finite, list_some, open_tensors, saved_tensors
from regard.models.sequence.build import build_model

_SIDES = ("query", "key", "value")
_PARTS = {
    "attention": "self_attn",
    "self_attention": "self_attn",
    "cross_attention": "multihead_attn",
    "feed_forward.expand": "linear1",
    "feed_forward.contract": "linear2",
    "attention_residual.norm": "norm1",
    "self_attention_residual.norm": "norm1",
    "cross_attention_residual.norm": "norm2",
}


@dataclass(frozen=True, kw_only=True)
class TorchNames:
    """What the parts of a state dictionary are called."""

    transformer: str = "transformer."
    """Before the names of `nn.Transformer`; empty for its own state dictionary."""
    source: str = "source.weight"
    """The embeddings of source tokens."""
    target: str = "target.weight"
    """The embeddings of target tokens."""
    output: str = "output.weight"
    """The matrix that gives the logits; the name of the embeddings where they are one."""
    output_bias: str | None = "output.bias"
    """Its bias; None without one."""


def read_torch_transformer(
    state: Mapping[str, Tensor] | str | Path,
    *,
    num_heads: int,
    names: TorchNames | None = None,
    norm: Literal["pre", "post"] = "post",
    activation: Literal["relu", "gelu"] = "relu",
    position: Literal["sinusoidal", "sinusoidal-halves", "none"] = "sinusoidal",
    scaled: bool = True,
) -> LoadedModel:
    """Give the model of a state dictionary, or of a safetensors file of one, and its settings for `save_model`.

    Sizes are read off the tensors; what they do not tell is asked for: the heads, `norm_first` as `norm`, the
    activation, which positions are added to the embeddings, and whether these are `scaled` by √size before, as in
    Vaswani et al. (2017), section 3.4. Tokens keep their numbers. Biases that are not there are zero.
    """
    if isinstance(state, str | Path):
        with open_tensors(Path(state)) as file:
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    reader = _Reader(dict(state), names or TorchNames(), scaled=scaled)
    spec = TransformerSpec(
        size=reader.size,
        num_encoder_layers=reader.count("encoder"),
        num_decoder_layers=reader.count("decoder"),
        num_heads=num_heads,
        feed_forward_size=reader.find("encoder.layers.0.linear1.weight").size(0),
        activation=activation,
        norm=norm,
        final_norm=f"{reader.names.transformer}decoder.norm.weight" in reader.state,
        position=position,
        tie=reader.tie(),
    )
    sizes = {"source_vocabulary": len(reader.source), "target_vocabulary": len(reader.target)}
    with torch.random.fork_rng():
        model = build_model(spec, **sizes)
    for name, tensor in saved_tensors(model).items():
        received = reader.parameter(name, tensor)
        if received.shape != tensor.shape:
            raise DataError(
                f"`state` must hold tensors that fit one another: {name} of ours has the shape {tuple(tensor.shape)}; "
                f"received {tuple(received.shape)}. Are `names` those of this model?"
            )
        tensor.data = received.detach().float().clone()
    check_finite(saved_tensors(model), Path("state"))
    return LoadedModel(model.eval(), SavedModel(version=__version__, model=spec, **sizes))


class _Reader:
    """Finds our parameters among torch's."""

    def __init__(self, state: dict[str, Tensor], names: TorchNames, *, scaled: bool) -> None:
        self.state, self.names = state, names
        self.source, self.target, self.output = (self._get(name) for name in (names.source, names.target, names.output))
        self.size = self.source.size(-1)
        self.factor = 1.0 if scaled else self.size**-0.5

    def _get(self, name: str) -> Tensor:
        if name not in self.state:
            raise DataError(
                f"`state` must hold {name}; received {list_some(sorted(self.state))}. Say what it is called: "
                "names=TorchNames(…)."
            )
        return self.state[name]

    def find(self, name: str) -> Tensor:
        """Give a tensor of `nn.Transformer`."""
        return self._get(self.names.transformer + name)

    def count(self, side: str) -> int:
        """Count the layers of a side."""
        pattern = re.compile(rf"{re.escape(self.names.transformer)}{side}\.layers\.(\d{{1,4}})\.linear1\.weight")
        numbers = [int(matched[1]) for name in self.state if (matched := pattern.fullmatch(name))]
        return max(numbers, default=0) + 1

    def tie(self) -> Tie:
        """Say which matrices are one."""
        joint = self.names.source == self.names.target
        same = self.names.output == self.names.target and self.factor == 1.0
        return "all" if joint and same else "embeddings" if joint else "output" if same else "none"

    def parameter(self, name: str, own: Tensor) -> Tensor:
        """Give the tensor for one of ours."""
        match name.split("."):
            case ["source", *_]:
                return self.source * self.factor
            case ["target", *_]:
                return self.target * self.factor
            case ["output", "weight"]:
                return self.output
            case ["output", "bias"]:
                return torch.zeros_like(own) if self.names.output_bias is None else self._get(self.names.output_bias)
            case [("encoder_norm" | "decoder_norm") as side, kind]:
                return self._with_bias(f"{side.removesuffix('_norm')}.norm", kind, own)
            case [side, number, part, ("query" | "key" | "value") as map_, kind]:
                whole = self._with_bias(f"{side}.layers.{number}.{_PARTS[part]}.in_proj", kind, own, joined="_")
                return whole if whole.shape == own.shape else whole.chunk(3)[_SIDES.index(map_)]
            case [side, number, part, "output", kind]:
                return self._with_bias(f"{side}.layers.{number}.{_PARTS[part]}.out_proj", kind, own)
            case [side, number, *parts, kind]:
                last = "norm2" if side == "encoder" else "norm3"
                return self._with_bias(f"{side}.layers.{number}.{_PARTS.get('.'.join(parts), last)}", kind, own)
        raise DataError(f"`state` must be that of a Transformer; {name} has no counterpart in nn.Transformer.")

    def _with_bias(self, name: str, kind: str, own: Tensor, *, joined: str = ".") -> Tensor:
        """Give a tensor by its name; a bias that is not there is zero."""
        whole = f"{name}{joined}{kind}"
        if kind == "bias" and self.names.transformer + whole not in self.state:
            return torch.zeros_like(own)
        return self.find(whole)
