"""Tokens that are single bytes: which of them may follow, so that what is written stays UTF-8."""

import codecs
from functools import cache

import numpy as np
from numpy.typing import NDArray

from regard.data.text_tokenizer import TextTokenizer


class OpenCharacter:
    """Reads tokens one after the other, and knows whether a character is begun and not yet whole.

    >>> character = OpenCharacter(TextTokenizer("byte"))
    >>> character.read(0xC3 + 4)
    >>> character.begun
    b'\\xc3'
    >>> character.allowed().nonzero()[0][[0, -1]] - 4 == [0x80, 0xBF]  # the rest of it, and nothing else
    array([ True,  True])
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._bytes = tokenizer.byte_values()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

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
        """Say of each token whether it may follow: no byte may where no character has it, nothing else within one."""
        return np.where(self._bytes < 0, not self.begun, _may_follow(self.begun)[self._bytes])


@cache
def _may_follow(begun: bytes) -> NDArray[np.bool_]:
    """Say of each byte whether some character of UTF-8 goes on so."""
    return np.array([_begins_character(begun + bytes([value])) for value in range(256)])


def _begins_character(start: bytes) -> bool:
    """Fill up with the lowest bytes that go on, or the highest: wherever any are allowed, one of these is."""
    return any(_is_character(start + fill * more) for fill in (b"\x80", b"\xbf") for more in range(5 - len(start)))


def _is_character(text: bytes) -> bool:
    try:
        return len(text.decode()) == 1
    except UnicodeDecodeError:
        return False
