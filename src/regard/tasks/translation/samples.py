"""A few sentences translated at each validation, with where the model looked for each word."""

from collections.abc import Sequence

import numpy as np
import torch

from regard.data.batches.pairs import Examples, make_batch
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import Pair
from regard.data.text.special import END, START
from regard.data.text.tokenizer import TokenizerPair
from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.models.sequence.build import Model
from regard.training.watch import Looks, Sample


@torch.no_grad()
def make_samples(
    model: Model, tokenizers: TokenizerPair, pairs: Sequence[Pair], *, device: torch.device | str = "cpu"
) -> tuple[Sample, ...]:
    """Translate the sources of `pairs` greedily, keeping the attention."""
    if not pairs:
        return ()
    source = tokenizers.source.encode_batch(pair.source for pair in pairs)
    examples = Examples(source=source, target=Ragged.from_lists([[]] * len(pairs)))
    batch = make_batch(examples, np.arange(len(pairs))).to(device)
    result = greedy(model, batch.source, batch.source_lengths, start=START, end=END, weights=True)
    return tuple(
        Sample(
            pair.source,
            tokenizers.target.decode(item.tokens),
            pair.target,
            find_attention(tokenizers, [*source[number].tolist(), END], item),
        )
        for number, (pair, item) in enumerate(zip(pairs, result, strict=True))
    )


def find_attention(tokenizers: TokenizerPair, source: Sequence[int], result: Hypothesis) -> Looks | None:
    """Name the tokens, and take the mean over the heads of the last layer."""
    if result.weights is None:
        return None
    rows = result.weights[-1].float().mean(0).tolist()
    return Looks(
        tuple(tokenizers.source.pieces(source)),
        tuple(tokenizers.target.pieces(result.tokens)),
        tuple(tuple(round(weight, 3) for weight in row) for row in rows),
    )
