"""Chapter 1: counting words."""

import math
from collections import Counter
from itertools import pairwise

from regard.course.exercise import Case, Exercise, Mistake
from regard.evaluation.perplexity import perplexity

_WORDS = (
    "a b",
    "a b a",
    "a b a c",
    "the cat sat on the mat the cat ran",
    "to be or not to be that is the question whether it is nobler",
)


def bigram_probability(tokens: list[str], word: str, following: str) -> float:
    """Give how likely `following` comes after `word`, by counting.

    `p(b | a) = count(a b) / count(a ·)`, where `count(a ·)` counts the `a` that something follows. Where `word` is
    followed by nothing, the probability is 0.
    """
    followers = Counter(second for first, second in pairwise(tokens) if first == word)
    return followers[following] / followers.total() if followers else 0.0


def _of_all_pairs(tokens: list[str], word: str, following: str) -> float:
    pairs = Counter(pairwise(tokens))
    return pairs[word, following] / pairs.total()


def _of_every_word(tokens: list[str], word: str, following: str) -> float:
    return Counter(pairwise(tokens))[word, following] / max(tokens.count(word), 1)


def _bigram_cases() -> list[Case]:
    pairs = [("a", "b"), ("a", "c"), ("the", "cat"), ("mat", "the"), ("be", "or"), ("question", "is")]
    return [{"tokens": text.split(), "word": one, "following": two} for text in _WORDS for one, two in pairs]


def text_perplexity(log_probabilities: list[float]) -> float:
    """Give the perplexity of a text from the natural logarithm of each token's probability.

    `exp(−(1/N) Σ log p)`: the number of equally likely words that would surprise as much.
    """
    return perplexity([log_probabilities], words=[1], characters=[1]).per_token


def continuation_probability(tokens: list[str], word: str) -> float:
    """Give how likely `word` is as the continuation of something new: Kneser and Ney's count.

    The number of different words that `word` comes after, divided by the number of different pairs of neighbors. In
    "san francisco san francisco san francisco", *francisco* is frequent, but it comes after one word alone.
    """
    pairs = set(pairwise(tokens))
    return sum(second == word for _, second in pairs) / len(pairs) if pairs else 0.0


def _frequency(tokens: list[str], word: str) -> float:
    pairs = list(pairwise(tokens))
    return sum(second == word for _, second in pairs) / len(pairs) if pairs else 0.0


def _continuation_cases() -> list[Case]:
    texts = [*_WORDS, "san francisco san francisco", "a b a b a b c b"]
    return [{"tokens": text.split(), "word": word} for text in texts for word in ("b", "the", "francisco", "is")]


EXERCISES = (
    Exercise(
        number="1.1",
        title="The probability of a pair",
        reference=bigram_probability,
        cases=_bigram_cases,
        hints=(
            "`zip(tokens, tokens[1:])` gives the pairs of neighbors; keep those that begin with `word`.",
            "Of these, the share whose second word is `following`. The last token of the text begins no pair.",
        ),
        mistakes=(
            Mistake(
                answer=_of_all_pairs,
                reason="That is the share of all pairs, p(a, b); divide by those that begin with a.",
            ),
            Mistake(
                answer=_of_every_word,
                reason="The last word of the text is followed by nothing and must not be counted.",
            ),
        ),
    ),
    Exercise(
        number="1.2",
        title="Perplexity",
        reference=text_perplexity,
        cases=lambda: [
            {"log_probabilities": [math.log(p) for p in row]}
            for row in ([1.0], [0.5], [0.5, 0.5, 0.5], [0.9, 0.1], [0.2, 0.4, 0.1, 0.8, 0.05])
        ],
        hints=("It is the inverse of the geometric mean of the probabilities.", "`math.exp` of minus the mean."),
        mistakes=(
            Mistake(
                answer=lambda log_probabilities: math.exp(-sum(log_probabilities)),
                reason="That is one over the probability of the whole text; take the mean over its tokens.",
            ),
            Mistake(
                answer=lambda log_probabilities: 2 ** (-sum(log_probabilities) / len(log_probabilities)),
                reason="The logarithms are natural ones: the power must be of e, not of 2.",
            ),
        ),
    ),
    Exercise(
        number="1.3",
        title="What Kneser and Ney count",
        reference=continuation_probability,
        cases=_continuation_cases,
        hints=("A `set` of pairs holds each pair once.", "Count the pairs of the set that end in `word`."),
        mistakes=(
            Mistake(
                answer=_frequency, reason="That counts how often the word came, not after how many different words."
            ),
        ),
    ),
)
