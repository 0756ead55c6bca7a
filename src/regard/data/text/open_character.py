"""Tokens that are single bytes: which of them may follow, so that what is written stays UTF-8."""

import codecs
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from regard.data.text.text_tokenizer import TextTokenizer


class OpenCharacter:
    """Reads tokens one after the other, and knows whether a character is begun and not yet whole.

    >>> character = OpenCharacter(TextTokenizer("byte"), prompt=[0xC3 + 4])
    >>> character.begun
    b'\\xc3'
    >>> (character.allowed().nonzero()[0] - 4).tolist() == list(range(0x80, 0xC0))  # the rest of it, and nothing else
    True
    """

    def __init__(self, tokenizer: TextTokenizer, prompt: Iterable[int] = ()) -> None:
        self._bytes, self._producible = tokenizer.byte_values, tokenizer.producible
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token in prompt:
            self.read(token)

    @property
    def begun(self) -> bytes:
        """The bytes of a character that is not whole yet."""
        return self._decoder.getstate()[0]

    def read(self, token: int) -> None:
        """Take the next token."""
        value = int(self._bytes[token])
        if value < 0:
            self._decoder.reset()
        else:
            self._decoder.decode(bytes([value]))

    def allowed(self) -> NDArray[np.bool_]:
        """Return for each token whether it may follow: a byte where some character has it, nothing else within one."""
        return self._allowed(self.begun)

    def next_producible(self) -> NDArray[np.bool_]:
        """Return for each token whether a model may output it next: one of its training data that may follow.

        Where it has seen nothing that the character at hand goes on with, as a prompt may end in one of a script that
        the training text lacks, that character is given up, and what may begin one is producible.
        """
        result = self._producible & self.allowed()
        return result if result.any() else self._producible & self._allowed(b"")

    def _allowed(self, begun: bytes) -> NDArray[np.bool_]:
        return np.where(self._bytes < 0, not begun, _may_follow(begun)[self._bytes])


@cache
def _may_follow(begun: bytes) -> NDArray[np.bool_]:
    """Return for each byte whether some character of UTF-8 goes on so."""
    return np.array([_begins_character(begun + bytes([value])) for value in range(256)])


def _begins_character(start: bytes) -> bool:
    """Fill up with the lowest bytes that go on, or the highest: wherever any are allowed, one of these is."""
    return any(_is_character(start + fill * more) for fill in (b"\x80", b"\xbf") for more in range(5 - len(start)))


def _is_character(text: bytes) -> bool:
    try:
        return len(text.decode()) == 1
    except UnicodeDecodeError:
        return False
