"""Tokens of running text as people read them, wherever they are listed."""

import re

from regard.data.special import END, SPECIAL_TOKENS
from regard.data.tokenizer import SPACE


def spell(piece: str) -> str:
    """Show a token of the vocabulary: white space is made visible, and nothing is left that a terminal would obey.

    >>> [spell(piece) for piece in ("▁dog", " ", "</s>", "<0x65>", "<0x20>", "<0xC3>", "a\\tb")]
    ['␣dog', '␣', '⏎', 'e', '␣', '<0xC3>', 'a\\\\tb']
    """
    if piece == SPECIAL_TOKENS[END]:
        return "⏎"
    if (byte := re.fullmatch(r"<0x([0-7][0-9A-F])>", piece)) and chr(int(byte[1], 16)).isprintable():
        piece = chr(int(byte[1], 16))
    return "".join("␣" if one in f" {SPACE}" else one if one.isprintable() else repr(one)[1:-1] for one in piece)
