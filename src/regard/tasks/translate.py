"""Plain text to plain text with a model and its tokenizers."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.data.batches import Batches, Examples
from regard.data.ragged import Ragged
from regard.data.special import END, START
from regard.data.tokenizer import TokenizerPair
from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.models.build import Model
from regard.models.protocol import GeneratingModel


@torch.no_grad()
def translate(
    model: Model,
    tokenizers: TokenizerPair,
    texts: Sequence[str],
    *,
    batch_tokens: int = 4096,
    device: torch.device | str = "cpu",
) -> list[str]:
    """Translate sentences greedily, those of like length together, and give them in their own order."""
    source = tokenizers.source.encode_batch(texts)
    nothing = Ragged.from_lists([[]] * len(texts))
    generating: GeneratingModel[Any, Any] = model
    found: dict[int, Hypothesis] = {}
    for batch in Batches(Examples(source=source, target=nothing), tokens=batch_tokens, shuffle=False):
        said = greedy(generating, batch.source.to(device), batch.source_lengths.to(device), start=START, end=END)
        found |= dict(zip(batch.indices.tolist(), said, strict=True))
    return [tokenizers.target.decode(found[number].tokens) for number in range(len(texts))]
