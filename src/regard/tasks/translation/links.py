"""Word links as a matrix over tokens, for guided alignment."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.batches.pairs import Batch
from regard.data.corpora.pair import Link, Pair
from regard.data.text.tokenizer import TokenizerPair


def token_links(pairs: Iterable[Pair], tokenizers: TokenizerPair) -> list[tuple[Link, ...]]:
    """Link every token of a word to every token of the words it is linked to; possible links are left out.

    A target word with possible links alone keeps those.
    """
    result = []
    for pair in pairs:
        source, target = (
            _positions(tokenizers.source.encode(pair.source).words),
            _positions(tokenizers.target.encode(pair.target).words),
        )
        sure = {link.target for link in pair.links if link.sure}
        kept = [link for link in pair.links if link.sure or link.target not in sure]
        result.append(
            tuple(
                Link(here, there, link.sure)
                for link in kept
                for here in source.get(link.source, ())
                for there in target.get(link.target, ())
            )
        )
    return result


def gold_weights(batch: Batch) -> Float[Tensor, "batch target source"]:
    """Spread each target token's weight evenly over the source tokens it is linked to; rows without links are zero."""
    gold = torch.zeros(*batch.target_output.shape, batch.source.size(1))
    for row, links in enumerate(batch.links or ()):
        for link in links:
            gold[row, link.target, link.source] = 1.0
    gold = gold.to(batch.source.device)
    return gold / gold.sum(-1, keepdim=True).clamp_min(1.0)


def _positions(words: Sequence[int]) -> dict[int, list[int]]:
    positions: dict[int, list[int]] = {}
    for token, word in enumerate(words):
        positions.setdefault(word, []).append(token)
    return positions
