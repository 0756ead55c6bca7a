"""Tokens of running text as people read them, wherever they are listed."""

import re

from regard.data.text.special import END, SPECIAL_TOKENS
from regard.data.text.text_tokenizer import TextKind
from regard.data.text.tokenizer import SPACE

_SIGNS = "␣⏎"


def spell(piece: str, *, kind: TextKind) -> str:
    """Show a token of a vocabulary of this kind, so that no two are shown alike.

    White space is made visible, and nothing is left that a terminal would obey. A byte is shown as its character only
    where all tokens are bytes; elsewhere there may be a token for that character, too.

    >>> [spell(piece, kind="byte") for piece in ("</s>", "<0x65>", "<0x20>", "<0x0A>", "<0xC3>")]
    ['⏎', 'e', '␣', '<0x0A>', '<0xC3>']
    >>> [spell(piece, kind="bpe") for piece in ("</s>", "▁dog", "<0x65>", "a\\tb", "⏎")]
    ['⏎', '␣dog', '<0x65>', 'a\\\\tb', '\\\\u23ce']
    """
    if piece == SPECIAL_TOKENS[END]:
        return "⏎"
    if kind == "byte" and (byte := re.fullmatch(r"<0x([0-7][0-9A-F])>", piece)):
        piece = item if (item := chr(int(byte[1], 16))).isprintable() else piece
    space = SPACE if kind in ("bpe", "unigram") else " "
    return "".join("␣" if item == space else _visible(item) for item in piece)


def _visible(one: str) -> str:
    """Write a character that cannot be seen, or that stands for something else here, by its number."""
    return one if one.isprintable() and one not in _SIGNS else ascii(one)[1:-1]
