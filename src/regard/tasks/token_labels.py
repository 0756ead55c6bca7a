"""What tokens that were read are called wherever they are shown: those a vocabulary does not know, as written."""

from collections.abc import Sequence
from functools import partial

from regard.data.corpora.pair import words
from regard.data.text.special import SPECIAL_TOKENS, UNKNOWN
from regard.data.text.text_tokenizer import TextTokenizer
from regard.data.text.tokenizer import SPACE, Tokenizer


def name_tokens(tokenizer: Tokenizer | TextTokenizer, text: str, ids: Sequence[int]) -> list[str]:
    """Name the tokens of a text as the vocabulary has them, and unknown ones as the text has them, in ⟨ ⟩.

    `ids` are those that were read: fewer where the text was cut, more where `</s>` follows.

    >>> name_tokens(TextTokenizer("space", ["the", "dog"]), "the xyzzy dog", [4, 1, 5, 3])
    ['the', '⟨xyzzy⟩', 'dog', '</s>']
    """
    if isinstance(tokenizer, Tokenizer):
        names, find = tokenizer.pieces(ids), partial(_written, tokenizer)
    else:
        names, find = [tokenizer.piece(item) for item in ids], partial(_written_lines, tokenizer)
    written = find(text) if UNKNOWN in ids else []
    for index, word in enumerate(written[: len(ids)]):
        if ids[index] == UNKNOWN and word and word != SPECIAL_TOKENS[UNKNOWN]:
            names[index] = f"⟨{word}⟩"
    return names


def _written(tokenizer: Tokenizer, text: str) -> list[str]:
    """Give what each token stands for in a text; a piece that is a space alone, as its sign."""
    plain, space = tokenizer.normalize(text), SPACE if tokenizer.kind in ("bpe", "unigram", "character") else ""
    return [plain[start:end].strip() or space for start, end in tokenizer.backend.encode(plain).offsets]


def _written_lines(tokenizer: TextTokenizer, text: str) -> list[str]:
    """Give what each token of running text stands for, nothing for a line's end; other kinds have nothing unknown."""
    result: list[str] = []
    for line in text.split("\n"):
        kept = tokenizer.kept(line)
        match tokenizer.kind:
            case "space":
                parts = kept.split()
            case "character":
                parts = list(kept)
            case _:
                parts = words(kept)
        count = len(tokenizer.encode(line))
        result += [*(parts if len(parts) == count else [""] * count), ""]
    return result
