"""Chapter 20: TF-IDF as static attention."""

import math
from collections import Counter

import torch
from torch import Tensor

from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import TfIdf, TokenWeights

_TEXTS = (
    ["a b", "a a c"],
    ["the cat sat", "the dog sat down", "a bird"],
    ["good film", "bad film", "good good book", "film about a book"],
)


def inverse_document_frequency(documents: list[list[str]], word: str) -> float:
    """Measure how rare a word is among documents.

    `log(N / n)`, where N is the number of documents and n the number of those in which the word occurs; 0 for a word
    that is in none.
    """
    return TfIdf.fit(documents)._rarity(word)


def _by_occurrences(documents: list[list[str]], word: str) -> float:
    count = sum(document.count(word) for document in documents)
    return math.log(len(documents) / count) if count else 0.0


def _inverse(documents: list[list[str]], word: str) -> float:
    count = sum(word in document for document in documents)
    return math.log(count / len(documents)) if count else 0.0


def _word_cases() -> list[Case]:
    words = ("a", "the", "sat", "film", "good", "zebra")
    return [{"documents": [text.split() for text in texts], "word": word} for texts in _TEXTS for word in words]


def static_weights(documents: list[list[str]], text: list[str]) -> Tensor:
    """Give TF-IDF as attention: the share of each position of a text, whoever asks.

    Each position's weight is the inverse document frequency (20.1) of its word, divided by the sum over the text. A
    word that occurs twice stands at two positions, so it gets `count · idf` in all. Where the sum is zero all weights
    are zero. The result is (words of the text,).
    """
    model = TfIdf.fit(documents)
    layer = TokenWeights.tf_idf(model)
    tokens = model.number(text)[None]
    weights: Tensor = layer(tokens, torch.ones(1, len(text), 1), return_weights=True).weights
    return weights[0]


def _counted_twice(documents: list[list[str]], text: list[str]) -> Tensor:
    weights = TfIdf.fit(documents).weigh(text)
    return weights / weights.sum() if weights.sum() > 0 else weights


def _softmaxed(documents: list[list[str]], text: list[str]) -> Tensor:
    return torch.softmax(torch.tensor([inverse_document_frequency(documents, word) for word in text]), 0)


def _text_cases() -> list[Case]:
    texts = ("c", "a b", "a c c", "the cat sat", "good good film", "a bird about")
    return [
        {"documents": [one.split() for one in documents], "text": text.split()}
        for documents in _TEXTS
        for text in texts
    ]


def smooth_weights(documents: list[list[str]], text: list[str]) -> dict[str, float]:
    """Give the TF-IDF of each different word of a text as scikit-learn computes it by default.

    `count · (log((1 + N) / (1 + n)) + 1)`, then all of them divided by the root of the sum of their squares. Words
    that are in no document are left out.
    """
    model = TfIdf.fit(documents, variant="scikit-learn")
    known = [word for word in text if word in model.vocabulary]
    return {str(word): float(weight) for word, weight in model.terms(known).items()}


def _unsmoothed(documents: list[list[str]], text: list[str]) -> dict[str, float]:
    model = TfIdf.fit(documents)
    counts = Counter(word for word in text if word in model.vocabulary)
    weights = {word: count * model._rarity(word) for word, count in counts.items()}
    length = math.sqrt(sum(one**2 for one in weights.values())) or 1.0
    return {word: one / length for word, one in weights.items()}


def _unnormalized(documents: list[list[str]], text: list[str]) -> dict[str, float]:
    total = len(documents)
    counts = Counter(word for word in text if any(word in one for one in documents))
    return {
        word: count * (math.log((1 + total) / (1 + sum(word in one for one in documents))) + 1)
        for word, count in counts.items()
    }


EXERCISES = (
    Exercise(
        number="20.1",
        title="How rare a word is",
        reference=inverse_document_frequency,
        cases=_word_cases,
        hints=("`word in document` is True or False, however often it occurs.",),
        mistakes=(
            Mistake(answer=_by_occurrences, reason="Count documents, not occurrences: twice in one text is one text."),
            Mistake(answer=_inverse, reason="The fraction is upside down: a rare word must weigh more."),
        ),
    ),
    Exercise(
        number="20.2",
        title="TF-IDF as attention",
        reference=static_weights,
        cases=_text_cases,
        hints=("One number for each position, then divide by the sum.",),
        mistakes=(
            Mistake(
                answer=_counted_twice,
                reason="Each of the two positions of a word has its count already: a word that comes twice weighs "
                "four times.",
            ),
            Mistake(
                answer=_softmaxed,
                reason="These are shares of the idf itself; its softmax gives common words weight too.",
            ),
        ),
    ),
    Exercise(
        number="20.3",
        title="scikit-learn's TF-IDF",
        reference=smooth_weights,
        cases=_text_cases,
        hints=("`collections.Counter(text)` counts.", "The last step makes the vector one long."),
        mistakes=(
            Mistake(answer=_unsmoothed, reason="That is log(N / n), which gives a word of every document 0."),
            Mistake(answer=_unnormalized, reason="The weights are not brought to length one."),
        ),
    ),
)
