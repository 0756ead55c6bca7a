"""Parameters of regard under the names that Joey NMT has for them: the same model in both."""

import re

import torch
from torch import Tensor

from regard.models.sequence.build import Model

#: What Joey NMT calls the parameters; the rules act one after the other.
RENAMED = (
    (r"^source\.table", "src_embed.lut"),
    (r"^target\.table", "trg_embed.lut"),
    (r"^output\.", "decoder.output_layer."),
    (r"^encoder\.recurrence", "encoder.rnn"),
    (r"^decoder\.begin\.state\.0", "decoder.bridge_layer"),
    (r"^decoder\.cell\.cells\.0\.(\w+)", r"decoder.rnn.\1_l0"),
    (r"^decoder\.cell\.join", "decoder.att_vector_layer"),
    (r"^decoder\.cell\.attention\.vector", "decoder.attention.energy_layer.weight"),
    (r"^decoder\.cell\.attention\.(query|key)", r"decoder.attention.\1_layer"),
    (r"^(encoder|decoder)\.(\d)", r"\1.layers.\2"),
    (r"^(.*\d\.\w*attention\.[a-z])(?:uery|ey|alue)\.", r"\1_layer."),
    (r"^(.*\d\.\w*attention\.output)\.", r"\1_layer."),
    (r"\.self_attention_residual\.norm", ".x_layer_norm"),
    (r"\.cross_attention_residual\.norm", ".dec_layer_norm"),
    (r"\.attention_residual\.norm", ".layer_norm"),
    (r"\.self_attention", ".trg_trg_att"),
    (r"\.cross_attention", ".src_trg_att"),
    (r"(\d)\.attention", r"\1.src_src_att"),
    (r"feed_forward_residual\.norm", "feed_forward.layer_norm"),
    (r"feed_forward\.expand", "feed_forward.pwff_layer.0"),
    (r"feed_forward\.contract", "feed_forward.pwff_layer.3"),
)


def as_joey(model: Model) -> dict[str, Tensor]:
    """Give the parameters as Joey NMT names and orders them."""
    found = {}
    for name, tensor in model.state_dict().items():
        for ours, theirs in RENAMED:
            name = re.sub(ours, theirs, name)
        found[name] = tensor.clone()
    for name in (
        "src_embed.lut.weight",
        "trg_embed.lut.weight",
        "decoder.output_layer.weight",
        "decoder.output_layer.bias",
    ):
        found[name][:2] = found[name][:2].flip(0)  # there, <unk> comes before <pad>
    if "decoder.att_vector_layer.weight" in found:
        join = found["decoder.att_vector_layer.weight"]
        size = join.size(0)
        found["decoder.att_vector_layer.weight"] = join.roll(size, dims=1)  # [state; context], not [context; state]
        found["decoder.att_vector_layer.bias"] = torch.zeros(size)
        found["decoder.attention.energy_layer.weight"] = found["decoder.attention.energy_layer.weight"][None]
    return found
