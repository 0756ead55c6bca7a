"""The tokenizers of a run: given, or learned from the pairs to train on."""

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.corpora.pair import Pair
from regard.data.corpora.streamed import Pairs, StreamedPairs
from regard.data.text.special import END, SPECIAL_TOKENS
from regard.data.text.tokenizer import Tokenizer, TokenizerPair
from regard.data.text.tokenizer_training import train_tokenizers
from regard.errors import ArgumentError, DataError
from regard.files import write_text
from regard.tasks.alignment.settings import AlignConfig
from regard.tasks.translation.data import Corpus
from regard.tasks.translation.settings import Config

_SAMPLE = 500_000
"""Pairs to learn a vocabulary from; of more, every second, third, … is taken."""

_COUNTED = 20_000
"""Pairs whose tokens are counted."""


def find_tokenizers(
    config: Config | AlignConfig, corpus: Corpus, *, kept: Path, start: Path | None = None
) -> TokenizerPair:
    """Read the tokenizers of the model folder `start`, or those that `data.tokenizer` names, or learn them.

    Those of a corpus that is not held in memory are kept in the file `kept`, so that a run goes on without delay.
    """
    if start is not None:
        return TokenizerPair.load(start)
    if config.data.tokenizer:
        return _read_named(config)
    train = corpus.train
    if not isinstance(train, StreamedPairs):
        return train_tokenizers(train, config.tokenizer)
    mark = f"{train.digest} {config.tokenizer}"
    try:
        noted = json.loads(kept.read_text(encoding="utf-8"))
        if noted["mark"] == mark:
            return TokenizerPair.from_json(noted["tokenizers"])
    except (OSError, ValueError, LookupError, TypeError):
        pass
    result = train_tokenizers(sample(train), config.tokenizer)
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_text(kept, json.dumps({"mark": mark, "tokenizers": result.to_json()}))
    return result


def sample(pairs: StreamedPairs, most: int = _SAMPLE) -> Iterable[Pair]:
    """Take every n-th pair, so that there are at most `most`."""
    return islice(pairs, 0, None, max(1, -(-len(pairs) // most)))


def count_tokens(
    pairs: Pairs, tokenizer: Tokenizer, *, side: Literal["source", "target"] = "target"
) -> Int[Tensor, " vocabulary"]:
    """Count how often each token, and the end, occurs in the targets, or the sources, of the first pairs."""
    texts = tokenizer.encode_batch(getattr(pair, side) for pair in islice(pairs, _COUNTED))
    counts = np.bincount(texts.values, minlength=tokenizer.size)
    counts[END] += len(texts)
    return torch.from_numpy(counts)


def _read_named(config: Config | AlignConfig) -> TokenizerPair:
    path = config.data.tokenizer
    try:
        with open(path, encoding="utf-8") as file:
            result = TokenizerPair.from_json(file.read())
    except OSError as error:
        raise DataError(
            f"`data.tokenizer` must be a tokenizer.json; {path} cannot be read ({error.strerror})."
        ) from error
    except (DataError, UnicodeDecodeError) as error:
        raise DataError(f"`data.tokenizer` must be a tokenizer.json; {path} is not: {error}") from error
    for side in (result.source, result.target):
        first = side.pieces(range(min(side.size, len(SPECIAL_TOKENS))))
        if first != list(SPECIAL_TOKENS):
            raise DataError(
                f"`data.tokenizer` must begin with the tokens {' '.join(SPECIAL_TOKENS)}; {path} begins with "
                f"{' '.join(first)}. Take one that regard trained."
            )
    if config.train.bpe_dropout and {result.source.kind, result.target.kind} != {"bpe"}:
        raise ArgumentError(f"`train.bpe_dropout` must be 0 for a tokenizer of kind {result.source.kind!r}.")
    return result
