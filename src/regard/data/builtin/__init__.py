"""Built-in corpora: grammars of our own that give sentence pairs with gold word alignments, any number of them.

`builtin:es-en`, Spanish to English: 889 Spanish and 502 English words; agreement in gender, number and person,
adjectives after nouns, clitic pronouns, dropped subjects, negation, questions, relative and coordinated clauses.
`builtin:hi-en`, transliterated Hindi to English: 378 Hindi and 192 English words; the verb last, postpositions, and
verbs that agree with the subject or the object. The words are those of the first 10,000 training pairs of seed 0,
without case and marks.

>>> pair = corpus("builtin:es-en", split="lectures")[1]
>>> print(pair.source, "→", pair.target)
¿Me puedes traer un tenedor? → Can you bring me a fork?
>>> print(*pair.links)
0?6 1-3 2-0 2?1 3-2 4-4 5-5 6-6

A link with `?` is possible, not sure: the Spanish verb tells the `you` that English has to say.

Splits: `train`, `valid` and `test` have 3 to 20 words, `long` has 21 to 60, `lectures` holds the sentences of the
lectures, which no other split contains. Splits never share a source or a target, whatever the seeds and sizes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import get_args

from regard.data.builtin import es_en, hi_en, sampling
from regard.data.builtin.sampling import SHORT, Grammar, Split
from regard.data.corpora.pair import Pair
from regard.errors import ArgumentError, DataError, near_miss

__all__ = ["CORPORA", "Split", "corpus", "stream"]

_GRAMMARS: dict[str, Grammar] = {grammar.name: grammar for grammar in (es_en.GRAMMAR, hi_en.GRAMMAR)}
CORPORA: tuple[str, ...] = tuple(_GRAMMARS)
"""The names of the built-in corpora."""

_SPLITS: tuple[str, ...] = get_args(Split)
_SHORTEST, _LONGEST = 3, 60


def stream(
    name: str, *, split: Split, seed: int = 0, min_words: int | None = None, max_words: int | None = None
) -> Iterator[Pair]:
    """Draw distinct pairs one by one, for as long as the grammar has new ones to give.

    The source has at least `min_words`, and neither side has more than `max_words`, marks not counted. All lengths are
    about equally frequent. The pairs are a function of the other arguments, on every machine.
    """
    grammar = _find(name)
    if split not in _SPLITS:
        raise ArgumentError(
            f"`split` must be one of {', '.join(_SPLITS)}; received {split!r}.{near_miss(str(split), _SPLITS)}"
        )
    low = min_words if min_words is not None else SHORT + 1 if split == "long" else _SHORTEST
    high = max_words if max_words is not None else _LONGEST if split == "long" else SHORT
    if not _SHORTEST <= low <= high <= _LONGEST:
        raise ArgumentError(
            f"`min_words` and `max_words` must be {_SHORTEST} to {_LONGEST}, the first not above the second; "
            f"received {low} and {high}. Leave them out for the usual lengths of split {split!r}."
        )
    return sampling.stream(grammar, split=split, seed=seed, min_words=low, max_words=high)


def corpus(
    name: str,
    *,
    split: Split,
    size: int | None = None,
    seed: int = 0,
    min_words: int | None = None,
    max_words: int | None = None,
) -> list[Pair]:
    """Draw `size` distinct pairs; the first ones stay the same when more are asked for. See `stream`.

    `size` may be left out for the split `lectures` alone, which has an end.

    >>> [pair.target for pair in corpus("builtin:hi-en", split="train", size=2, max_words=6)]
    ['Arjun gives two apples to you.', 'The teacher wants to go home.']
    """
    pairs = stream(name, split=split, seed=seed, min_words=min_words, max_words=max_words)
    if size is None and split == "lectures":
        return list(pairs)
    if size is None or size < 1:
        raise ArgumentError(f"`size` must be a number of pairs, at least 1; received {size}. Name one: size=20_000.")
    drawn = list(islice(pairs, size))
    if len(drawn) < size:
        raise DataError(
            f"`size` must be at most {len(drawn):,}, all that split {split!r} of {name} gives with these lengths and "
            f"seed {seed}; received {size:,}. Ask for fewer, or allow more lengths: max_words={_LONGEST}."
        )
    return drawn


def _find(name: str) -> Grammar:
    if name not in _GRAMMARS:
        raise ArgumentError(
            f"`name` must be a built-in corpus, {' or '.join(CORPORA)}; received {name!r}.{near_miss(name, CORPORA)}"
        )
    return _GRAMMARS[name]
