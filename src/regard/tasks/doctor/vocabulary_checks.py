"""How much of the held-out text a vocabulary covers: unknown tokens, characters spelled in bytes, pieces a word."""

from collections.abc import Sequence

from regard.data.corpora.pair import Pair, words
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer import BYTES, Tokenizer, TokenizerPair
from regard.tasks.doctor.check import Check, check


def check_vocabulary(tokenizers: TokenizerPair, pairs: Sequence[Pair]) -> list[Check]:
    """Check both sides on pairs that were held out."""
    source = _check_side("source", tokenizers.source, [pair.source for pair in pairs])
    return source + _check_side("target", tokenizers.target, [pair.target for pair in pairs])


def _check_side(side: str, tokenizer: Tokenizer, texts: Sequence[str]) -> list[Check]:
    encoded = tokenizer.encode_batch(texts)
    tokens, count = encoded.values, max(1, sum(len(words(text)) for text in texts))
    total = max(1, len(tokens))
    spelled = sum(piece in _SPELLED for piece in tokenizer.pieces(tokens.tolist()))
    checks = [
        check(
            f"unknown tokens, {side}",
            float((tokens == UNKNOWN).sum()) / total,
            most=0.02,
            problem=f"{{value}} of the tokens of the held-out {side} are unknown to the model, and read as <unk>.",
            advice=_advise_unknown(tokenizer),
        )
    ]
    if tokenizer.kind in ("bpe", "unigram", "character"):
        checks.append(
            check(
                f"characters spelled in bytes, {side}",
                spelled / total,
                most=0.05,
                problem=f"{{value}} of the tokens of the held-out {side} are single bytes: its characters do not occur "
                "in the training text.",
                advice="Train on text of the same script, or normalize both alike.",
            )
        )
    if tokenizer.kind in ("bpe", "unigram"):
        checks.append(
            check(
                f"pieces a word, {side}",
                len(tokens) / count,
                most=4.0,
                unit="number",
                problem=f"A word of the held-out {side} is divided into {{value}} pieces: the vocabulary was made for "
                "other text, or is too small.",
                advice="Train on text of the same language, or with a larger tokenizer.vocabulary_size (it is "
                f"{tokenizer.size:,}).",
            )
        )
    return checks


def _advise_unknown(tokenizer: Tokenizer) -> str:
    if tokenizer.kind == "word":
        return (
            'Divide words into pieces, tokenizer.kind = "bpe", which leaves none unknown; or keep more words: '
            f"tokenizer.vocabulary_size (it is {tokenizer.size:,}), tokenizer.min_frequency = 1."
        )
    return "Train on text of the same kind, or with tokenizer.byte_fallback = true, which spells unknown characters."


_SPELLED = frozenset(BYTES)
