"""Lay the settings of a run over one another: what suits the data, then the preset, the file, the command line."""

from collections.abc import Mapping
from typing import Any

from regard.config.defaults import DataSize, defaults_for
from regard.config.presets import named_model
from regard.config.read import merge, read_settings
from regard.config.schema import Config
from regard.config.show import to_table


def compose(chosen: Mapping[str, Any], size: DataSize, *, name: str = "") -> Config:
    """Give the settings of a run on data of this `size`: those `chosen`, and for the rest the preset `name`'s.

    Without a name the model is a Transformer as large as the data allows, unless one is chosen.

    >>> compose({"train": {"steps": 7}}, DataSize(pairs=1000, words=9000), name="bahdanau").train.steps
    7
    """
    named = name or _suited(chosen, size.pairs)
    below = to_table(named_model(named)) if named else {}
    read_settings(Config, {"model": below}, chosen)  # mistakes first
    tokenizer = read_settings(Config, defaults_for(size, chosen), {"tokenizer": chosen.get("tokenizer", {})}).tokenizer
    vocabulary = size.vocabulary if tokenizer.kind == "word" and size.vocabulary else tokenizer.vocabulary_size
    model = to_table(named_model(named, tokens=size.tokens, vocabulary=vocabulary)) if named else {}
    tables = merge({"model": model}, chosen)
    return read_settings(Config, defaults_for(size, tables), tables)


def _suited(chosen: Mapping[str, Any], pairs: int) -> str:
    """Name a model for so many pairs, unless another kind is chosen."""
    model = chosen.get("model", {})
    if isinstance(model, Mapping) and str(model.get("kind", "transformer")) != "transformer":
        return ""
    if pairs < 200_000:
        return "transformer-tiny"
    return "transformer-small" if pairs < 3_000_000 else "transformer-base"
