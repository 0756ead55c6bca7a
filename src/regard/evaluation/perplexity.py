"""Perplexity: how surprised a model is by the references."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Perplexity:
    """How surprising the references are, by three measures of their length, each with one end to a sentence.

    Per token depends on the tokenizer; per word and per character can be compared between tokenizers, as long as no
    token is unknown: a model need not spell what it may call `<unk>`.
    """

    per_token: float
    per_word: float
    bits_per_character: float
    tokens: int
    words: int
    characters: int
    unknown: int
    """Reference tokens that are not in the vocabulary."""


def perplexity(
    log_probabilities: Sequence[Sequence[float]], *, words: Sequence[int], characters: Sequence[int], unknown: int = 0
) -> Perplexity:
    r"""Measure surprise on references, given the log-probability of each token, `</s>` included.

    $$\exp\Big(-\frac{1}{N} \sum_i \log p(y_i \mid y_{<i}, x)\Big), \qquad
      -\frac{1}{C} \sum_i \log_2 p(y_i \mid y_{<i}, x)$$

    where $N$ counts tokens, or words, and $C$ characters; the end of a sentence counts as one of each.

    >>> found = perplexity([[math.log(0.5)] * 4], words=[2], characters=[7])
    >>> round(found.per_token, 3), round(found.per_word, 3), found.bits_per_character
    (2.0, 2.52, 0.5)
    """
    if not log_probabilities or not len(log_probabilities) == len(words) == len(characters):
        raise ArgumentError(
            "`words` and `characters` must have one entry for each sentence, at least one; received "
            f"{len(words)} and {len(characters)} for {len(log_probabilities)}."
        )
    sentences = len(log_probabilities)
    tokens = sum(map(len, log_probabilities))
    surprise = -math.fsum(value for sentence in log_probabilities for value in sentence)
    num_words, num_characters = sum(words) + sentences, sum(characters) + sentences
    return Perplexity(
        per_token=_exp(surprise / tokens),
        per_word=_exp(surprise / num_words),
        bits_per_character=surprise / num_characters / math.log(2),
        tokens=tokens,
        words=num_words,
        characters=num_characters,
        unknown=unknown,
    )


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
