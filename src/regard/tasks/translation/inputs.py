"""Checks of what a translator is given: texts, and what their translations must begin with."""

from collections.abc import Sequence

from regard.data.batches.ragged import Ragged
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer import Tokenizer
from regard.errors import ArgumentError, ArgumentTypeError


def check_texts(name: str, texts: Sequence[str]) -> None:
    """Raise unless they are a list of Unicode strings."""
    if isinstance(texts, str):
        raise ArgumentError(f'`{name}` must be a list of sentences; received one string. Write ["{texts[:20]}"].')
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"`{name}` must be strings; received {type(text).__name__} at index {index}.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"`{name}` must be Unicode; received half a surrogate pair at index {index}, character {error.start}. "
                'Replace it: text.encode("utf-8", "replace").decode().'
            ) from error


def encode_prefixes(prefixes: Sequence[str], tokenizer: Tokenizer, *, count: int, most: int | None) -> Ragged:
    """Give the tokens of what outputs must begin with, or raise where they cannot; `most` is the longest output."""
    check_texts("prefixes", prefixes)
    if len(prefixes) != count:
        raise ArgumentError(
            f"`prefixes` must have one entry for each of the {count} texts; received {len(prefixes)}. "
            'Give "" where any beginning will do.'
        )
    outcome = tokenizer.encode_batch(prefixes)
    for index, text in enumerate(prefixes):
        if UNKNOWN in outcome[index]:
            raise ArgumentError(
                f'`prefixes` must be text that the model can say; received "{text}" at index {index}, which has '
                "words outside its vocabulary. Use other words."
            )
        if most is not None and len(outcome[index]) >= most:
            raise ArgumentError(
                f"`prefixes` must have fewer tokens than the longest output, {most:,}; received "
                f"{len(outcome[index]):,} at index {index}. Shorten it."
            )
    return outcome
