"""One translation and its details, computed when asked for, so that plain text costs nothing more."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.data.corpora.pair import Link, words
from regard.data.respelling import Respelled
from regard.data.text.special import END, SPECIAL_TOKENS, UNKNOWN
from regard.data.text.tokenizer import BYTES, SPACE, Tokenizer, TokenizerPair
from regard.data.text.word_spans import Division, whitespace_words
from regard.data.text.words_of_tokens import spans_of, words_at
from regard.decoding.hypothesis import Hypothesis
from regard.inspection.readings.alignment import PLAIN, Reading, choose_weights, link_matrix, links_of, word_weights
from regard.tasks.token_labels import name_tokens

_BREAKS = str.maketrans("\t\n\r", "   ")
_BYTE = {name: bytes([number]) for number, name in enumerate(BYTES)}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Translation:
    """One output for one sentence."""

    source: str
    """The sentence, as it was given."""
    read: Respelled
    """The sentence as the model read it, word for word: `read.words` are those that were respelled."""
    text: str
    """The output, on one line."""
    hypothesis: Hypothesis
    """The same in token numbers, as search found it."""
    source_ids: NDArray[np.int32]
    """The source in token numbers, without `</s>`, as far as it was read."""
    tokenizers: TokenizerPair
    """Which names these numbers."""
    reading: Reading = PLAIN
    """Which weights links are read from."""
    cut: int = 0
    """Source tokens that were not read, since the sentence has more of them than the model takes."""
    with_marks: str | None = None
    """The output with the tags or placeholders of its source; None where none were to be carried along."""

    @property
    def score(self) -> float:
        """What search ranks by: the log-probability, divided by a power of the length."""
        return self.hypothesis.score

    @property
    def log_probability(self) -> float:
        """That of the whole output."""
        return self.hypothesis.log_probability

    @property
    def log_probabilities(self) -> tuple[float, ...]:
        """Of each target token, given those before it."""
        return self.hypothesis.log_probabilities

    @property
    def finished(self) -> bool:
        """False where the longest length came before `</s>`."""
        return self.hypothesis.finished

    @property
    def weights(self) -> Float[Tensor, "layers heads target source"] | None:
        """How much each target token attended to each source token when it was predicted, if asked for."""
        return self.hypothesis.weights

    @cached_property
    def source_tokens(self) -> tuple[str, ...]:
        """As the vocabulary spells them, unknown ones as ⟨written⟩, `</s>` last; none where nothing was there."""
        ids = [*self.source_ids.tolist(), END] if self.hypothesis.tokens else []
        return tuple(name_tokens(self.tokenizers.source, self.read.text, ids))

    @cached_property
    def target_tokens(self) -> tuple[str, ...]:
        """As the vocabulary spells them, `</s>` last where it was generated."""
        return tuple(self.tokenizers.target.pieces(self.hypothesis.tokens))

    @cached_property
    def source_words(self) -> tuple[int, ...]:
        """For each source token but `</s>`, the position of its word in `words(source)`."""
        return tuple(self.tokenizers.source.encode(self.read.text).words[: len(self.source_ids)])

    @cached_property
    def target_words(self) -> tuple[int, ...]:
        """For each target token but `</s>`, the position of its word in `words(text)`."""
        output = [token for token in self.hypothesis.tokens if token != END]
        return word_numbers(self.tokenizers.target, output, self.text)

    @cached_property
    def alignment_weights(self) -> Float[Tensor, "target source"] | None:
        """The weights an alignment is read from: of the only layer or the last but one, the head that was trained on
        links, or the mean over all.
        """
        return None if self.weights is None else choose_weights(self.weights, self.reading)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Link words, every mark a word of its own, as the built-in corpora's links have it; see `links_by`."""
        return self.links_by("marks")

    def links_by(self, division: Division) -> tuple[Link, ...]:
        """Link each word of the output to the source word of most weight; none where weights were not asked for.

        `division` says what a word is: "whitespace" as files of links and the command line count them, or "marks".
        """
        by_word = self.word_weights(division)
        return () if by_word is None else links_of(link_matrix(by_word))

    def word_weights(self, division: Division) -> Float[Tensor, "target source_and_end"] | None:
        """Give the weights of words that links are read from, `</s>` last; None where they were not asked for."""
        attended = self.weights
        if attended is None:
            return None
        if not self.finished:
            attended = torch.cat(
                [attended, torch.zeros_like(attended[..., :1, :])], dim=-2
            )  # a row for </s>, which is left out
        counts = len(words(self.tokenizers.source.normalize(self.read.text))), len(words(self.text))
        source, target = self.source_words, self.target_words
        if division == "whitespace":
            source, target = _by_space(source, self.read.text), _by_space(target, self.text)
            counts = len(self.read.text.split()), len(self.text.split())
        return choose_weights(word_weights(attended, source, target, num_words=counts), self.reading)

    def __repr__(self) -> str:
        return f"Translation({self.source!r} → {self.text!r}, score {self.score:.3f})"


def _by_space(numbers: Sequence[int], text: str) -> tuple[int, ...]:
    """Give the words between spaces that tokens are part of, from the words that marks divide."""
    runs = whitespace_words(text)
    return tuple(runs[min(number, len(runs) - 1)] for number in numbers) if runs else tuple(numbers)


def as_line(text: str) -> str:
    """Keep an output on its line: a model that spells in bytes may output a line feed or a tab."""
    return text.translate(_BREAKS)


def word_numbers(tokenizer: Tokenizer, ids: list[int], text: str) -> tuple[int, ...]:
    """Give for each token which of `words(text)` it is part of.

    A model may divide a word otherwise than its tokenizer would; then tokens are placed by the bytes they stand for.
    `<unk>` stands for whatever `text` has between its neighbors.
    """
    encoded = tokenizer.encode(text)
    if encoded.ids == ids:
        return tuple(encoded.words)
    if tokenizer.kind == "word":
        return _between_neighbors(tokenizer.pieces(ids), words(text))
    spelled = [_BYTE.get(piece) or piece.replace(SPACE, " ").encode() for piece in tokenizer.pieces(ids)]
    ends = list(accumulate(map(len, spelled)))
    whole = b"".join(spelled).decode("utf-8", errors="surrogateescape")  # one character for each byte that is none
    size = [len(letter.encode("utf-8", errors="surrogateescape")) for letter in whole]
    letter_of = np.repeat(np.arange(len(whole)), size)  # of each byte
    return tuple(words_at(letter_of[np.array(ends) - 1].tolist(), spans_of(whole, words(whole))))


def _between_neighbors(pieces: list[str], names: list[str]) -> tuple[int, ...]:
    """Number whole words, each `<unk>` taking the words up to the next piece that is known."""
    unknown = SPECIAL_TOKENS[UNKNOWN]
    numbers, position = [], 0
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        numbers.append(min(position, len(names) - 1))
        if piece == unknown and "".join(names[position : position + 3]) == unknown:
            position += 3
        elif piece == unknown and following in names[position + 1 :]:
            position = names.index(following, position + 1)
        else:
            position += 1
    return tuple(numbers)
