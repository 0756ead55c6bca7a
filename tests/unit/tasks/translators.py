"""Model folders with random parameters, small and quick to make, for those who translate."""

from dataclasses import replace
from functools import cache
from itertools import islice

import torch

from regard.config.model import TransformerSpec
from regard.data.builtin import stream
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.models.folder import save_model
from regard.models.sequence.build import build_model
from regard.tasks.translation.lines import LineTranslator, Tally
from regard.tasks.translation.presets import preset

RECURRENT = replace(preset("bahdanau"), embedding_size=8, hidden_size=8)
LOCATION = replace(preset("luong-location"), embedding_size=8, hidden_size=8)
LEARNED = TransformerSpec(
    size=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, feed_forward_size=8, position="learned",
    max_length=30,
)  # fmt: skip
BYTES = TokenizerConfig(kind="byte")
WORDS = TokenizerConfig(kind="word", min_frequency=2)


@cache
def pairs():
    return tuple(islice(stream("builtin:es-en", split="train"), 200))


@cache
def tokenizers(config):
    return train_tokenizers(pairs(), config)


def make_folder(folder, spec=RECURRENT, config=WORDS, *, seed=0, favor=None):
    """Write a model folder; the model likes to say the tokens `favor`."""
    sides = tokenizers(config)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        sizes = {"source_vocabulary": sides.source.size, "target_vocabulary": sides.target.size}
        model = build_model(spec, **sizes)
        for parameter in model.parameters():
            parameter.data.normal_(std=0.3)
    if favor is not None:
        model.output.bias.data[favor] += 20.0
    save_model(model, spec, folder, **sizes)
    sides.save(folder)
    return folder


class Upper(LineTranslator):
    """Translates into capitals, without a model."""

    def __init__(self):
        self.lines, self.tally = 0, Tally()

    def __call__(self, raw):
        self.lines += len(raw)
        return b"".join(one.content.upper() + b"\n" for one in raw)
