"""Models that know positions up to a longest one: whether the data fits is asked before training, not in its middle."""

from typing import NamedTuple

from regard.config.attention import LocalSpec, LuongSpec
from regard.config.model import NetworkSpec, TransformerSpec
from regard.data.text.tokenizer import TokenizerPair
from regard.errors import ArgumentError
from regard.tasks.translation.data import Corpus
from regard.tasks.translation.job import TranslationJob


class Bound(NamedTuple):
    """The longest sentence that a model can take, and the setting that says so."""

    key: str
    most: int
    target: bool
    """Whether targets are bounded too."""


def find_bound(spec: NetworkSpec) -> Bound | None:
    """Describe what bounds the sentences of a model, if anything does.

    >>> find_bound(TransformerSpec(position="learned", max_length=80))
    Bound(key='model.max_length', most=80, target=True)
    >>> find_bound(TransformerSpec())
    """
    if isinstance(spec, TransformerSpec):
        return Bound("model.max_length", spec.max_length, True) if spec.position == "learned" else None
    match spec.attention:
        case LuongSpec(score="location") | LocalSpec(score="location"):
            return Bound("model.attention.max_length", spec.attention.max_length, False)
    return None


def check_lengths(spec: NetworkSpec, job: TranslationJob, corpus: Corpus) -> None:
    """Raise where a sentence of the data is longer than the model can take."""
    bound = find_bound(spec)
    if bound is None:
        return
    source, target = job.longest() if not job.settings.bpe_dropout else _spelled(corpus)
    held_out = _longest_source(job.tokenizers, corpus)
    needed, why = max(source, held_out), "the tokens of the longest source, with its </s>"
    if bound.target and target > needed:
        needed, why = target, "the tokens of the longest target, with its </s>"
    # A translation may become twice as long as its source, and twenty tokens longer, before search gives up.
    if bound.target and 2 * held_out + 20 > needed:
        needed, why = 2 * held_out + 20, "twice the tokens of the longest source to translate, and twenty"
    if needed > bound.most:
        raise ArgumentError(
            f"`{bound.key}` must be at least {needed:,}, {why}; received {bound.most:,}. Set "
            f"{bound.key} = {needed}, or leave long sentences out by data.clean.max_words, fewer than 200."
        )


def _longest_source(tokenizers: TokenizerPair, corpus: Corpus) -> int:
    texts = [pair.source for pair in (*corpus.valid, *corpus.test)]
    return int(tokenizers.source.encode_batch(texts).lengths.max(initial=0)) + 1


def _spelled(corpus: Corpus) -> tuple[int, int]:
    """Give the longest sentences when all merges are dropped, which may happen to any: bytes, and a mark in front."""
    longest = [0, 0]
    for pair in corpus.train:
        longest = [
            max(most, len(text.encode()) + 2) for most, text in zip(longest, (pair.source, pair.target), strict=True)
        ]
    return longest[0], longest[1]
