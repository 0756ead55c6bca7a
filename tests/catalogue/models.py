"""Every preset and every way to wire a model, small: adding one is adding a row.

`laws/test_models.py` runs over them.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.config.attention import (
    AdditiveSpec,
    BilinearSpec,
    CosineSpec,
    DotSpec,
    FixedVectorSpec,
    GaussianSpec,
    LocalSpec,
    LuongSpec,
    MultiHeadSpec,
)
from regard.config.model import ModelSpec, RecurrentSpec, TransformerSpec
from regard.models import Model, build_model
from regard.tasks.translation.presets import PRESETS, preset

SOURCE, TARGET = 13, 11
LENGTHS = torch.tensor([6, 3, 5, 1])


@dataclass(frozen=True, kw_only=True)
class Row:
    name: str
    spec: ModelSpec
    preset: bool = False

    def build(self, dtype: torch.dtype = torch.float64) -> Model:
        torch.manual_seed(5)
        joint = self.spec.tie in ("embeddings", "all")
        model = build_model(self.spec, source_vocabulary=TARGET if joint else SOURCE, target_vocabulary=TARGET)
        return model.to(dtype).eval()

    @property
    def attends(self) -> bool:
        return not (isinstance(self.spec, RecurrentSpec) and isinstance(self.spec.attention, FixedVectorSpec))

    @property
    def looks(self) -> tuple[int, int]:
        """Layers and heads that look at the source."""
        if isinstance(self.spec, TransformerSpec):
            return self.spec.num_decoder_layers, self.spec.num_heads
        return 1, self.spec.attention.num_heads if isinstance(self.spec.attention, MultiHeadSpec) else 1


def example(batch: int = 4, source: int = 6, target: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    return (
        torch.randint(0, TARGET, (batch, source), generator=generator),
        LENGTHS[:batch],
        torch.randint(0, TARGET, (batch, target), generator=generator),
    )


def small(spec: ModelSpec, **changes: Any) -> ModelSpec:
    """The same wiring in a size that tests like."""
    if isinstance(spec, RecurrentSpec):
        return replace(spec, **({"embedding_size": 6, "hidden_size": 8, "num_layers": 1, "dropout": 0.0} | changes))
    sizes = {"size": 8, "num_heads": 2, "feed_forward_size": 12, "num_encoder_layers": 2, "num_decoder_layers": 2}
    return replace(spec, **(sizes | {"dropout": 0.0} | changes))


def recurrent(name: str, **settings: Any) -> Row:
    return Row(name=name, spec=RecurrentSpec(**({"embedding_size": 6, "hidden_size": 8} | settings)))


def transformer(name: str, **settings: Any) -> Row:
    return Row(name=name, spec=small(TransformerSpec(**settings), num_encoder_layers=1, num_decoder_layers=1))


CURRENT: dict[str, Any] = {"wiring": "current", "output": "attentional"}
LUONG: dict[str, Any] = CURRENT | {"cell": "lstm", "input_feeding": True, "num_layers": 2}
INITIAL = FixedVectorSpec(context="initial")

MODELS = [
    *[Row(name=name, spec=small(preset(name)), preset=True) for name in PRESETS],
    *[
        recurrent(
            f"fixed initial {cell}", cell=cell, direction="forward", attention=INITIAL, output="state", start="copy"
        )
        for cell in ("rnn", "lstm", "gru")
    ],
    recurrent("fixed initial stacked", attention=INITIAL, output="state", num_layers=2, cell="lstm"),
    recurrent("fixed tied", attention=FixedVectorSpec(), output="state", embedding_size=8, tie="all"),
    recurrent("fixed joined", attention=FixedVectorSpec(), output="joined"),
    *[recurrent(f"previous {cell}", cell=cell, direction="forward") for cell in ("rnn", "lstm")],
    recurrent("previous lstm both", cell="lstm"),
    recurrent("previous copy", direction="backward", start="copy", output="state"),
    recurrent("previous dot", attention=DotSpec(), output="linear"),
    recurrent("previous bilinear", attention=BilinearSpec(), output="joined"),
    recurrent("previous attentional", attention=CosineSpec(), output="attentional", cell="lstm"),
    recurrent("previous multi-head", attention=MultiHeadSpec(num_heads=2)),
    recurrent("previous tied", tie="output", maxout_size=6),
    recurrent("previous as printed", initialize="bahdanau"),
    recurrent("previous sparsemax", normalize="sparsemax"),
    recurrent("previous sigmoid", normalize="sigmoid", tie="embeddings"),
    recurrent("previous linear", attention=AdditiveSpec(activation="identity")),
    *[recurrent(f"current {cell}", cell=cell, attention=AdditiveSpec(), **CURRENT) for cell in ("rnn", "lstm", "gru")],
    recurrent("current stacked", attention=LuongSpec(), num_layers=2, dropout_mask="shared", **CURRENT),
    recurrent("current cosine", attention=CosineSpec(), wiring="current", output="linear"),
    recurrent("current maxout", attention=MultiHeadSpec(num_heads=4), wiring="current", output="maxout"),
    recurrent("current local-m", attention=LocalSpec(alignment="monotonic", half_width=1.0), **CURRENT),
    *[recurrent(f"fed {cell}", **LUONG | {"cell": cell}, attention=LuongSpec(score="dot")) for cell in ("rnn", "gru")],
    recurrent("fed scaled dot", **LUONG, attention=LuongSpec(score="scaled-dot")),
    recurrent("fed lstm both", **LUONG, attention=LuongSpec(score="concat")),
    recurrent("fed gaussian", **LUONG, attention=GaussianSpec()),
    recurrent("fed multi-head", **LUONG, attention=MultiHeadSpec(num_heads=2)),
    recurrent("fed local-m", **LUONG, attention=LocalSpec(alignment="monotonic", half_width=2.0)),
    recurrent("fed tied", **LUONG | {"num_layers": 1}, attention=LuongSpec(), embedding_size=8, tie="all"),
    recurrent("fed entmax uniform", **LUONG, attention=LuongSpec(), normalize="entmax", initialize="uniform"),
    *[
        transformer(f"transformer {position}", position=position, max_length=9, reach=2)
        for position in ("learned", "rotary", "relative", "alibi", "none")
    ],
    *[
        transformer(f"transformer {score}", score=score, normalize=normalize)
        for score, normalize in [
            ("dot", "entmax"),
            ("additive", "softmax"),
            ("bilinear", "sparsemax"),
            ("gaussian", "softmax"),
            ("cosine", "softmax"),
        ]
    ],
    transformer("transformer post alibi additive", norm="post", position="alibi", score="additive"),
    transformer("transformer as Marian", activation="swish", norm="post", position="sinusoidal-halves"),
    transformer("transformer as torch", norm="post", final_norm=True),
    transformer("transformer swiglu grouped", activation="swiglu", num_key_value_heads=1),
    transformer("transformer tied", tie="all"),
    transformer("transformer untied", tie="none", activation="gelu"),
    transformer("transformer tied embeddings", tie="embeddings"),
    transformer("transformer sigmoid", normalize="sigmoid"),
]
