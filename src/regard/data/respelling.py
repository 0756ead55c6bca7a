"""Words typed without accents or capitals, read as the training data spells them: for every command, here alone.

A word is respelled where the model does not know it as typed, and knows one that differs in accents and case only.
A word that begins with a capital inside a sentence is taken for a name: it stays one, and only its accents change.
A text in capitals is read as a sentence, by a model of pieces that has to spell capitals letter by letter. A label,
such as "Sala de espera", is read without the capital, where its first word is one piece so and several with it.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from regard.data.corpora.pair import words
from regard.data.text.special import SPECIAL_TOKENS, UNKNOWN
from regard.data.text.tokenizer import SPACE, Tokenizer, unknown_words
from regard.data.text.word_spans import compose, word_spans

_ACCENTS = re.compile("[\u0300-\u036f]+")
_ENDS = frozenset(".!?…")
_LONGEST_LABEL = 4
"""Words of a label, at most; so short a sentence, without a mark at its end, is taken for one."""
_LONGEST_NAME = 4
"""Letters of a word that may be the abbreviation of a name: a text in capitals of such words is left as it is."""


def bare(text: str) -> str:
    """Leave out case and the accents on Latin, Greek and Cyrillic letters.

    >>> bare("Canadá"), bare("¿QUÉ?")
    ('canada', '¿que?')
    """
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))


class Respelled(NamedTuple):
    """A text as a model reads it, and which of its words were typed otherwise."""

    text: str
    words: Mapping[str, str]
    """For each word that was respelled, as typed, how it is read."""


def _compare(typed: str, read: str) -> Respelled:
    """Name the words that are read otherwise than typed."""
    sides = words(compose(typed)), words(compose(read))
    return Respelled(read, {one: other for one, other in zip(*sides, strict=True) if one != other})


def begin_as(typed: str, read: str, output: str, tokenizer: Tokenizer) -> str:
    """Begin the output with a capital where the text did, though it was read without, if the model outputs capitals.

    >>> from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
    >>> english = train_tokenizer(["A waiting room."], TokenizerConfig(kind="word", min_frequency=1))
    >>> begin_as("Sala de espera", "sala de espera", "waiting room", english)
    'Waiting room'
    """
    letter = _first_letter(output)
    if not (letter and _first_letter(typed).isupper() and _first_letter(read).islower()) or tokenizer.lowercases:
        return output
    return output.replace(letter, letter.upper(), 1)


def _first_letter(text: str) -> str:
    return next(filter(str.isalpha, text), "")


def _count_letters(word: str) -> int:
    return sum(letter.isalpha() for letter in word)


class Respeller:
    """Reads texts with the spelling of one side of the training data.

    `unused` are tokens of the vocabulary that this side of the training data does not have.

    >>> from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
    >>> spanish = train_tokenizer(["Soy de Canadá."] * 2, TokenizerConfig(kind="word"))
    >>> print(Respeller(spanish)(["soy de canada", "Soy de Peru"]))
    [Respelled(text='Soy de Canadá', words={'soy': 'Soy', 'canada': 'Canadá'}), Respelled(text='Soy de Peru', words={})]
    """

    def __init__(self, tokenizer: Tokenizer, *, unused: Iterable[int] = ()) -> None:
        self._tokenizer, self._unused = tokenizer, frozenset(unused)

    def __call__(self, texts: Sequence[str]) -> list[Respelled]:
        """Give each text as it is read."""
        typed, texts = texts, [self._as_label(text) for text in self._without_capitals(texts)]
        encoded = self._tokenizer.encode_batch(texts)
        strange = np.flatnonzero(np.isin(encoded.values, [UNKNOWN, *self._unused]))
        rows = set((np.searchsorted(encoded.offsets, strange, side="right") - 1).tolist())
        read = [self._read(text) if row in rows else Respelled(text, {}) for row, text in enumerate(texts)]
        return [
            one if text == plain else _compare(text, one.text)
            for text, plain, one in zip(typed, texts, read, strict=True)
        ]

    def _without_capitals(self, texts: Sequence[str]) -> list[str]:
        """Write texts in capitals as sentences, if the model has pieces of words."""
        result = list(texts)
        if self._tokenizer.kind not in ("bpe", "unigram"):
            return result
        for row, text in enumerate(texts):
            letters = [letter for letter in text if letter.isalpha()]
            if (
                letters
                and all(letter.isupper() for letter in letters)
                and max(map(_count_letters, words(text))) > _LONGEST_NAME
            ):
                result[row] = self._as_sentence(text)
        return result

    def _as_label(self, text: str) -> str:
        """Write the first word of a label in lower case, if it is one piece so, as common words are, and several else.

        A text with marks is no label, nor one of several words with capitals.
        """
        if self._tokenizer.kind not in ("bpe", "unigram") or len(text.split()) > _LONGEST_LABEL:
            return text
        plain = compose(text)
        parts = [plain[span.start : span.end] for span in word_spans(plain, "marks")]
        if not parts or not all(part[0].isalnum() for part in parts) or any(part[0].isupper() for part in parts[1:]):
            return text
        first = parts[0]
        if not first[0].isupper() or (len(first) > 1 and not first[1:].islower()):
            return text
        new, old = (len(self._tokenizer.encode(word).ids) for word in (first.lower(), first))
        return plain.replace(first, first.lower(), 1) if new == 1 < old else text

    def _as_sentence(self, text: str) -> str:
        """Write the words of a text in capitals that take fewer pieces so in lower case, but for the first letters."""
        plain = compose(text)
        parts, end, begins = list[str](), 0, True
        for span in word_spans(plain, "marks"):
            word = plain[span.start : span.end]
            lowered = word.lower()
            spelled = lowered.capitalize() if begins else lowered
            parts += [plain[end : span.start], spelled if self._is_shorter(spelled, word) else word]
            end, begins = span.end, word in _ENDS or (begins and not _count_letters(word))
        sentence = "".join([*parts, plain[end:]])
        return sentence if len(words(sentence)) == len(words(plain)) else text

    def _is_shorter(self, lowered: str, word: str) -> bool:
        new, old = (self._tokenizer.encode(one).ids for one in (lowered, word))
        return len(new) < len(old) or new.count(UNKNOWN) < old.count(UNKNOWN)

    def _read(self, text: str) -> Respelled:
        plain = compose(text)
        spans, names = word_spans(plain, "marks"), words(self._tokenizer.normalize(text))
        if len(spans) != len(names):  # white space that only tokenizers know
            return Respelled(text, {})
        unknown = set(unknown_words(self._tokenizer, text, unseen=self._unused))
        first = next((number for number, name in enumerate(names) if name[0].isalnum()), 0)
        changed, parts, end = dict[str, str](), list[str](), 0
        for number, (span, name) in enumerate(zip(spans, names, strict=True)):
            read = self._known_spelling(name, inside=number > first) if name in unknown else None
            if read is not None:
                changed[plain[span.start : span.end]] = read
                parts += [plain[end : span.start], read]
                end = span.end
        return Respelled("".join([*parts, plain[end:]]), changed) if changed else Respelled(text, {})

    def _known_spelling(self, word: str, *, inside: bool) -> str | None:
        """Give the most frequent known word that differs in accents and case only, the same accents before others."""
        options: Sequence[str] = self._spellings.get(bare(word), ())
        if inside and word[0].isupper() and not (word.isupper() and len(word) > 1):
            options = [option for option in options if option[0].isupper()]
        same = [option for option in options if option.casefold() == word.casefold()]
        return next(iter([*same, *options]), None)

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        """Give the known words by what is left of them without accents and case, the most frequent first."""
        tokenizer, result = self._tokenizer, defaultdict[str, list[str]](list)
        if tokenizer.kind not in ("word", "bpe", "unigram"):
            return {}
        apart = tokenizer.kind == "word"
        numbers = range(len(SPECIAL_TOKENS), tokenizer.size)
        for number, piece in zip(numbers, tokenizer.pieces(numbers), strict=True):
            word = piece.removeprefix(SPACE)
            whole = apart or piece.startswith(SPACE)  # a piece inside a word is no word
            if whole and word and number not in self._unused and number not in tokenizer.untrained:
                result[bare(word)].append(word)
        return dict(result)
