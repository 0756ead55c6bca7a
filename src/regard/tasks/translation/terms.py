"""A glossary: translations that an output must have where its source has the term.

The model translates freely first. Where the words that are linked to a term are not its translation, the output is
searched for again: it must begin as it did up to these words, and go on with the term; the rest is free. Terms further
on follow in the same way, from left to right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from regard.data.corpora.pair import words
from regard.data.text.special import END, UNKNOWN
from regard.data.text.tokenizer import Tokenizer, TokenizerPair
from regard.decoding.search import Search
from regard.errors import ArgumentError, ArgumentTypeError, brief
from regard.tasks.translation.influence import influences
from regard.tasks.translation.inputs import check_texts
from regard.tasks.translation.markup.insertion import Links, Run
from regard.tasks.translation.result import Translation
from regard.tasks.translation.search_batches import Reach


@runtime_checkable
class Searching(Protocol):
    """What searches for translations: a `Translator`, or another engine with the same model."""

    tokenizers: TokenizerPair
    reach: Reach

    @property
    def why_step_by_step(self) -> str | None:
        """Why the last search on a GPU was not run by captured steps; None where it was, and elsewhere."""

    def search(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        *,
        prefixes: Sequence[str | Sequence[int]] | None = None,
        weights: bool = False,
        batch_tokens: int | None = ...,
    ) -> list[list[Translation]]:
        """Give the `n_best` outputs of each sentence, best first."""


class Match(NamedTuple):
    """A term in a source."""

    source: Run
    translation: str


class Glossary:
    """Terms and their translations. Terms are found word by word, in any case, the longest first."""

    def __init__(self, terms: Mapping[str, str]) -> None:
        self._terms: dict[str, list[tuple[list[str], str]]] = {}
        if not isinstance(terms, Mapping) or not all(isinstance(item, str) for pair in terms.items() for item in pair):
            raise ArgumentTypeError(
                "`terms` must be a dictionary of words and their translations, all strings; received "
                f'{brief(repr(terms))}. Write {{"libro": "book"}}.'
            )
        self.translations = list(terms.values())
        for term, translation in terms.items():
            divided = words(term.casefold())
            if not divided or not translation.strip():
                raise ArgumentError(
                    f'`terms` must be words and their translations; received "{brief(term)}" and '
                    f'"{brief(translation)}". Leave it out.'
                )
            self._terms.setdefault(divided[0], []).append((divided, translation))
        for known in self._terms.values():
            known.sort(key=lambda item: -len(item[0]))

    def check(self, tokenizer: Tokenizer) -> None:
        """Raise where a translation has words that the model cannot output."""
        encoded = tokenizer.encode_batch(self.translations)
        for index, translation in enumerate(self.translations):
            if UNKNOWN in encoded[index]:
                raise ArgumentError(
                    f'`terms` must be text that the model can output; received "{brief(translation)}", which has words '
                    "outside its vocabulary. Use other words, or leave it out."
                )

    def find(self, text: str) -> list[Match]:
        """Find the terms in a text, from left to right; none of them overlap.

        >>> Glossary({"el gato": "the tomcat", "gato": "cat"}).find("Veo el gato.")
        [Match(source=Run(start=1, end=3), translation='the tomcat')]
        """
        divided = words(text.casefold())
        matches, index = [], 0
        while index < len(divided):
            for term, translation in self._terms.get(divided[index], []):
                if divided[index : index + len(term)] == term:
                    matches.append(Match(Run(index, index + len(term)), translation))
                    index += len(term) - 1
                    break
            index += 1
        return matches


@dataclass
class _Forced:
    """What is left to do for one sentence."""

    left: list[Match]
    done: list[str] = field(default_factory=list)
    """Translations that were forced."""
    begun: int = 0
    """Words that the output begins with by force."""
    prefix: list[int] = field(default_factory=list)
    """Their tokens."""
    last: list[str] = field(default_factory=list)
    """The words of the term that was forced last."""
    following: list[int] = field(default_factory=list)
    """The token that came behind the words in its stead."""


def search_with_terms(
    translator: Searching,
    texts: Sequence[str],
    search: Search | None = None,
    *,
    terms: Glossary | Mapping[str, str] | None = None,
    prefixes: Sequence[str] | None = None,
    weights: bool = False,
    batch_tokens: int | None = None,
) -> list[list[Translation]]:
    """Search as `translator.search` does, for outputs that have the translation of each term of their source."""
    check_texts("texts", texts)
    glossary = Glossary(terms or {}) if not isinstance(terms, Glossary) else terms
    glossary.check(translator.tokenizers.target)
    waiting = {row: _Forced(left) for row, text in enumerate(texts) if (left := glossary.find(text))}
    weights = weights or bool(waiting)
    result = translator.search(texts, search, prefixes=prefixes, weights=weights, batch_tokens=batch_tokens)
    tokenizer = translator.tokenizers.target
    for row, forced in waiting.items():
        if prefixes is not None:
            forced.prefix = tokenizer.encode(prefixes[row]).ids
            forced.begun = len(words(tokenizer.normalize(prefixes[row])))
    while waiting:
        matrices = influences(translator, [result[row][0] for row in waiting])
        linked = zip(waiting.items(), matrices, strict=True)
        rows = [row for (row, forced), matrix in linked if _force_next(forced, result[row][0], matrix, tokenizer)]
        waiting = {row: waiting[row] for row in rows}
        begin = [waiting[row].prefix for row in rows]
        _check_lengths(translator, begin, search)
        some = [texts[row] for row in rows]
        again = translator.search(some, search, prefixes=begin, weights=True, batch_tokens=batch_tokens)
        for row, outputs in zip(rows, again, strict=True):
            result[row] = outputs
    return result


def _check_lengths(translator: Searching, prefixes: Sequence[Sequence[int]], search: Search | None) -> None:
    """Raise where an output would be longer with its terms than it may be."""
    limits = [translator.reach.target, None if search is None else search.max_length]
    most = min((item for item in limits if item is not None), default=None)
    longest = max(map(len, prefixes), default=0)
    if most is not None and longest >= most:
        raise ArgumentError(
            f"`terms` must fit into outputs of fewer than {most:,} tokens; received terms that end at token "
            f"{longest:,}. Leave out some, or allow for longer outputs: `max_length`."
        )


def _force_next(
    forced: _Forced, output: Translation, influence: Float[Tensor, "target source"] | None, tokenizer: Tokenizer
) -> bool:
    """Choose the next term that an output lacks, and how the output must begin; tell whether there is one."""
    if influence is None:
        return False
    links, target = Links(influence), words(output.text)
    begin = max(0, forced.begun - len(forced.last))
    if forced.following and list(target[begin : forced.begun]) != forced.last:  # pieces were put to its last word
        forced.prefix, forced.following = [*forced.prefix, *forced.following], []
        return True
    lacking = _lacking(forced, target, tokenizer)
    if not lacking:
        return False
    whole = Run(0, len(target))
    runs = [links.best_run(match.source, whole) or Run(whole.end, whole.end) for match in lacking]
    run, match = min(zip(runs, lacking, strict=True), key=lambda item: item[0])
    forced.left.remove(match)
    forced.done.append(match.translation)
    start = max(forced.begun, run.start)
    kept = max(len(forced.prefix), sum(number < start for number in output.target_words))
    rest = max(kept, sum(number < run.end for number in output.target_words))
    forced.prefix = [*output.hypothesis.tokens[:kept], *encode_term(match.translation, tokenizer, first=not kept)]
    forced.following = [token for token in output.hypothesis.tokens[rest : rest + 1] if token != END]
    forced.last = words(tokenizer.normalize(match.translation))
    forced.begun = start + len(forced.last)
    return True


def encode_term(term: str, tokenizer: Tokenizer, *, first: bool) -> list[int]:
    """Give the tokens of a term at the beginning of an output, or behind other words, with its space if that is one."""
    ids = tokenizer.encode(term).ids
    if first:
        return ids
    before = tokenizer.encode("a").ids
    return tokenizer.encode(f"a {term}").ids[len(before) :]


def _lacking(forced: _Forced, target: Sequence[str], tokenizer: Tokenizer) -> list[Match]:
    """Give the terms whose translations an output has too few of."""
    lacking, spare = [], dict[str, int]()
    for match in forced.left:
        term = match.translation
        if term not in spare:
            spare[term] = _count(target, words(tokenizer.normalize(term))) - forced.done.count(term)
        spare[term] -= 1
        if spare[term] < 0:
            lacking.append(match)
    return lacking


def _count(target: Sequence[str], term: Sequence[str]) -> int:
    return sum(list(target[index : index + len(term)]) == list(term) for index in range(len(target)))
