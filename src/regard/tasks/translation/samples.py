"""A few sentences translated at each validation, with the attention weights of each word."""

from collections.abc import Sequence

import numpy as np
import torch

from regard.data.batches.pairs import Examples, make_batch
from regard.data.corpora.pair import Pair
from regard.data.text.special import END, START
from regard.data.text.tokenizer import TokenizerPair
from regard.decoding.forced import force
from regard.decoding.greedy import greedy
from regard.decoding.hypothesis import Hypothesis
from regard.inspection.readings.alignment import PLAIN, Reading, choose_weights
from regard.models.sequence.build import Model
from regard.training.watch import Sample, SampleWeights


@torch.no_grad()
def make_samples(
    model: Model,
    tokenizers: TokenizerPair,
    pairs: Sequence[Pair],
    *,
    reading: Reading = PLAIN,
    device: torch.device | str = "cpu",
) -> tuple[Sample, ...]:
    """Translate the sources of `pairs` greedily, keeping the attention; and that of the references, forced."""
    if not pairs:
        return ()
    source = tokenizers.source.encode_batch(pair.source for pair in pairs)
    target = tokenizers.target.encode_batch(pair.target for pair in pairs)
    batch = make_batch(Examples(source=source, target=target), np.arange(len(pairs))).to(device)
    result = greedy(model, batch.source, batch.source_lengths, start=START, end=END, weights=True)
    forced = force(
        model,
        batch.source,
        batch.source_lengths,
        batch.target_input,
        batch.target_output,
        batch.target_lengths,
        weights=True,
    )
    return tuple(
        Sample(
            pair.source,
            tokenizers.target.decode(item.tokens),
            pair.target,
            name_weights(tokenizers, [*source[number].tolist(), END], item),
            align_reference(tokenizers, [*source[number].tolist(), END], forced[number], reading),
        )
        for number, (pair, item) in enumerate(zip(pairs, result, strict=True))
    )


def name_weights(tokenizers: TokenizerPair, source: Sequence[int], hypothesis: Hypothesis) -> SampleWeights | None:
    """Name the tokens, and take the mean over the heads of the last layer."""
    layers = 1 if hypothesis.weights is None else hypothesis.weights.size(0)
    return align_reference(tokenizers, source, hypothesis, Reading(layer=layers - 1))


def align_reference(
    tokenizers: TokenizerPair, source: Sequence[int], hypothesis: Hypothesis, reading: Reading
) -> SampleWeights | None:
    """Name the tokens of a reference, and take the weights that alignments are read from."""
    if hypothesis.weights is None:
        return None
    weights = choose_weights(hypothesis.weights.float(), reading)
    return SampleWeights(
        tuple(tokenizers.source.pieces(source)),
        tuple(tokenizers.target.pieces(hypothesis.tokens)),
        tuple(tuple(round(weight, 3) for weight in row) for row in weights.tolist()),
    )
