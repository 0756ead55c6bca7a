"""What a model does with the words that stand for others: which words "it" and "their" attend to, computed."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.builtin.stories import PASSAGE, READINGS
from regard.data.corpora.pair import words as divide_words
from regard.data.text.special import END, UNKNOWN
from regard.data.text.words_of_tokens import spans_of, words_at
from regard.inspection.trace.trace import Trace
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel

PRONOUNS = frozenset({"it", "its", "they", "them", "their", "he", "him", "his", "she", "her"})
MAX_PRONOUNS = 8
TOP = 3
"""Words that are listed for each."""


class Divided(NamedTuple):
    """Words, and for each token the word that it is part of."""

    words: list[str]
    word_of: list[int]
    unknown: list[str]
    """Words outside the model's vocabulary: all of them are read as one token."""


class Pronouns(NamedTuple):
    """What the pronouns of a text attend to."""

    attention: list[dict[str, Any]]
    """For each the mean over all heads, what every head attends to most, and how its possible readings fare."""
    heads: int
    why: str = ""
    """Why there is nothing to list."""
    unknown: tuple[str, ...] = ()
    """Words that the model does not know."""


def pronoun_positions(divided: Divided) -> list[int]:
    """Find the first pronouns among the words."""
    return [index for index, word in enumerate(divided.words) if word.lower() in PRONOUNS][:MAX_PRONOUNS]


def attend_from_pronouns(thing: Classifier | LanguageModel, trace: Trace, divided: Divided) -> Pronouns:
    """List for each pronoun which words it attends to: the mean over all heads of all layers, and each head alone.

    Where the text is our passage, add the words that a reader may take it for, with the head that attends to each most:
    of many heads one will by chance.
    """
    attended = self_attention(trace, divided)
    if attended is None:
        return Pronouns([], 0, "In this model no word attends to others: words are only weighed.")
    names, weights = attended
    causal = isinstance(thing, LanguageModel)
    attention_weights = [
        _describe(index, divided.words, names, weights, causal=causal) for index in pronoun_positions(divided)
    ]
    return Pronouns(attention_weights, len(names), "", tuple(divided.unknown))


def self_attention(trace: Trace, divided: Divided) -> tuple[list[str], Float[Tensor, "heads words words"]] | None:
    """Give every head of every layer in which tokens attend to tokens, from words to words, with their names.

    Of a word in several tokens: sums over what is attended to, means over what attends.
    """
    count = len(divided.word_of)
    calls = [call for call in trace if call.weights.shape[-2:] == (count, count)]
    if not calls:
        return None
    parts = torch.zeros(len(divided.words), count)
    parts[torch.tensor(divided.word_of), torch.arange(count)] = 1.0
    means = parts / parts.sum(-1, keepdim=True).clamp_min(1)
    weights = torch.cat([call.weights[0].float().cpu() for call in calls])  # heads tokens tokens
    names = [f"{call.layer}, head {head + 1}" for call in calls for head in range(call.weights.size(1))]
    return names, means @ weights @ parts.mT


def divide(thing: Classifier | LanguageModel, text: str) -> Divided:
    """Give the words of a text and the word of each token that the model reads, `</s>` before a language model's."""
    if isinstance(thing, Classifier):
        encoded = thing.tokenizer.encode(text)
        word_of = list(encoded.words[: thing.max_length])
        return _divided(divide_words(thing.tokenizer.normalize(text)), word_of, encoded.ids)
    tokenizer = thing.tokenizer
    ids = tokenizer.encode(text)
    named = text.split() if tokenizer.kind == "space" else divide_words(text)
    if len(ids) == len(named):
        return _divided(["</s>", *named], list(range(len(ids) + 1)), [END, *ids])
    written = tokenizer.decode(ids)
    named = divide_words(written)
    last = [max(len(tokenizer.decode(ids[: number + 1])) - 1, 0) for number in range(len(ids))]
    word_of = words_at(last, spans_of(written, named))
    return _divided(["</s>", *named], [0, *(word + 1 for word in word_of)], [END, *ids])


def _divided(words: list[str], word_of: list[int], ids: list[int]) -> Divided:
    unknown = {words[word] for word, token in zip(word_of, ids, strict=False) if token == UNKNOWN}
    return Divided(words[: max(word_of, default=-1) + 1], word_of, sorted(unknown))


def _describe(
    index: int, words: list[str], names: list[str], weights: Float[Tensor, "heads words words"], *, causal: bool
) -> dict[str, Any]:
    row = weights[:, index].mean(0)
    visible = index + 1 if causal else len(words)
    best = row[:visible].topk(min(TOP, visible))
    highest = weights[:, index, :visible].max(-1)
    return {
        "word": words[index],
        "position": index,
        "number": index + (words[0] != "</s>"),
        "visible": visible,
        "uniform": 1 / visible,
        "top": [
            {"word": words[key], "position": key, "weight": weight}
            for key, weight in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ],
        "heads": [
            {"head": name, "word": words[key], "position": key, "weight": weight}
            for name, key, weight in zip(names, highest.indices.tolist(), highest.values.tolist(), strict=True)
        ],
        "readings": _readings(index, words, names, weights, visible),
    }


def _readings(index: int, words: list[str], names: list[str], weights: Tensor, visible: int) -> list[dict[str, Any]]:
    """List the words that a reader may take the pronoun for, where the text is our passage."""
    expected = [word.lower() for word in divide_words(PASSAGE)]
    first = len(words) - len(expected)
    if [word.lower() for word in words[first:]] != expected:
        return []
    row = weights[:, index].mean(0)
    readings = []
    for meant in READINGS.get(words[index].lower(), ()):
        key = first + expected.index(meant)
        most = int(weights[:, index, key].argmax())
        readings.append(
            {
                "word": words[key],
                "position": key,
                "weight": float(row[key]),
                "rank": 1 + int((row[:visible] > row[key]).sum()),
                "head": names[most],
                "head_weight": float(weights[most, index, key]),
            }
        )
    return readings
