"""What a translator is made of, read from its folder."""

from pathlib import Path
from typing import assert_never

import torch

from regard.config.model import ModelSpec, RecurrentSpec, StatisticalSpec, TransformerSpec
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import Untrained
from regard.models.folder import load_model
from regard.pretrained.marian import TranslatorParts, is_marian, read_marian
from regard.tasks.saved_model import check_vocabulary


def shares_vectors(spec: ModelSpec) -> bool:
    """Return whether source and target words have the same vectors."""
    match spec:
        case RecurrentSpec() | TransformerSpec():
            return spec.tie in ("embeddings", "all")
        case StatisticalSpec():
            return False
        case _:
            assert_never(spec)


def read_parts(folder: Path, device: torch.device) -> TranslatorParts:
    """Read what a translator is made of, whoever has written the folder."""
    if is_marian(folder):
        return read_marian(folder, device=device)
    model, config = load_model(folder, device=device)
    tokenizers = TokenizerPair.load(folder)
    check_vocabulary(folder, config.source_vocabulary, tokenizers.source)
    check_vocabulary(folder, config.target_vocabulary, tokenizers.target)
    return TranslatorParts(model, config, tokenizers, Untrained.load(folder, tokenizers))
